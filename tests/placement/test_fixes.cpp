#include "graph/card_size.h"
#include "placement/causes.h"
#include "placement/fixes.h"
#include "support/faulty_graphs.h"
#include "support/fix_effects.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

} // namespace

class TestFixes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Every fix of a graph removes its problem, adds no other, and is not cheaper than those listed before
    /// it.
    void everyOfferedFixMends_data() {
        QTest::addColumn<int>("gpus");
        QTest::newRow("cpu and one GPU") << 1;
        QTest::newRow("cpu and two GPUs") << 2;
        QTest::newRow("cpu and three GPUs") << 3;
    }
    void everyOfferedFixMends() {
        QFETCH(int, gpus);
        const DeviceMap devices = simulatedMap(gpus);
        std::vector<std::string> names{"cpu"};
        for (int gpu = 0; gpu < gpus; ++gpu) names.push_back("cuda:" + std::to_string(gpu));
        std::mt19937_64 random(17);
        std::size_t applied = 0;
        for (int round = 0; round < 150; ++round) {
            const Graph graph = faultyGraph(random, names);
            const QString bad = badFix(graph, devices, applied);
            QVERIFY2(bad.isEmpty(), qPrintable(QStringLiteral("graph %1: %2").arg(round).arg(bad)));
        }
        QVERIFY(applied > 1000);
    }

    /// A shape that the host reads costs nothing to create there, so this fix comes first.
    void aShapeOnAGpuIsCreatedOnTheHost() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cuda:0", {{"shape", Ints{4, 4}}});
        const NodeId shape =
            g.node("Constant", "shape", "cuda:0", {{"value", Ints{2, 8}}, {"dtype", std::string("i64")}});
        g.node("Reshape", "reshape", "cuda:0", {}, {x, shape});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        QCOMPARE(analysis.errorCount(), std::size_t{1});
        const Diagnostic& d = analysis.diagnostics.front();
        QCOMPARE(d.fixes.front().title, std::string("create shape on cpu"));
        QVERIFY(d.fixes.front().price.isKnown);
        QCOMPARE(d.fixes.front().price.ns, 0.0);
        const auto causes = causesOf(g.graph(), analysis, devices);
        QCOMPARE(causes.front().remedies.front().price.ns, 0.0);
        QCOMPARE(causes.front().remedies.front().fixes.front().kind, Fix::Kind::moveNode);
    }

    /// For a layer on a GPU whose parameters are on the host, creating them on the GPU is free.
    void parametersAreCreatedWhereTheLayerIs() {
        GraphMaker g;
        NodeId at = g.node("Zeros", "x", "cuda:0", {{"shape", Ints{8, 8}}});
        for (int i = 0; i < 5; ++i) {
            const std::string n = std::to_string(i);
            const NodeId weight = g.node("RandomNormal", "w" + n, "cpu", {{"shape", Ints{8, 8}}});
            const NodeId bias = g.node("RandomNormal", "b" + n, "cpu", {{"shape", Ints{8}}});
            at = g.node("Gemm", "fc" + n, "cuda:0", {}, {at, weight, bias});
        }
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const auto causes = causesOf(g.graph(), analysis, devices);
        QCOMPARE(causes.size(), std::size_t{1});
        const Remedy& first = causes.front().remedies.front();
        QCOMPARE(first.title, std::string("create the 10 parameters on cuda:0"));
        QCOMPARE(first.price.ns, 0.0);
        Graph mended = g.graph();
        mended.apply(combineFixes(mended, analysis, devices, first.fixes, first.title));
        QVERIFY(analyze(mended, devices, Policy::strict, nullptr).diagnostics.empty());
    }

    /// A tensor copied from the host is read from its original there instead of being copied back.
    void whatIsThereAlreadyIsRead() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{8}}});
        const NodeId copy = g.node("To", "copy", "cuda:0", {}, {x});
        const NodeId relu = g.node("Relu", "relu", "cpu", {}, {copy});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const Fix& first = analysis.diagnostics.front().fixes.front();
        QCOMPARE(first.title, std::string("read x instead of copy in relu"));
        QCOMPARE(first.price.ns, 0.0);
        Graph mended = g.graph();
        mended.apply(combineFixes(mended, analysis, devices, {first}, first.title));
        QVERIFY(mended.sourceOf({relu, 0}) == PortRef({x, 0}));
        QVERIFY(!mended.find(copy)); // without consumers
    }

    /// x is on cuda:1; through its copies on cpu and cuda:0 it came back as a second one.
    void aMovedToIsNotTheWayBack() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cuda:1", {{"shape", Ints{8}}});
        const NodeId there = g.node("To", "there", "cpu", {}, {x});
        g.node("Relu", "other", "cpu", {}, {there});
        const NodeId copy = g.node("To", "copy", "cuda:0", {}, {there});
        const NodeId out = g.node("Probe", "out", "cuda:1", {}, {copy});
        const DeviceMap devices = simulatedMap(2);
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const Fix move = moveFix(g.graph(), copy, Device::cuda(1));
        Graph mended = g.graph();
        mended.apply(combineFixes(mended, analysis, devices, {move}, move.title));
        QVERIFY(mended.sourceOf({out, 0}) == PortRef({x, 0}));
        QVERIFY(!mended.find(copy));
        QVERIFY(analyze(mended, devices, Policy::strict, nullptr).diagnostics.empty());
    }

    /// A To is placed to the right of its producer and to the left of its consumers, and covers no other
    /// card.
    void aToStandsBetweenItsEnds_data() {
        QTest::addColumn<double>("source");
        QTest::addColumn<double>("reader");
        QTest::newRow("far apart") << 40.0 << 900.0;
        QTest::newRow("neighbours") << 40.0 << 290.0;
        QTest::newRow("one column") << 300.0 << 300.0;
    }
    void aToStandsBetweenItsEnds() {
        QFETCH(double, source);
        QFETCH(double, reader);
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{8}}});
        const NodeId y = g.node("Relu", "y", "cuda:0", {}, {x});
        const NodeId z = g.node("Relu", "z", "cuda:0", {}, {y});
        Graph graph = g.graph();
        DeltaBuilder builder(graph, "place");
        for (const auto& [id, left] : {std::pair(x, source), {y, reader}, {z, reader + 250}}) {
            Node node = *graph.find(id);
            node.position = {left, 40};
            builder.change(node);
        }
        graph.apply(builder.take());
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        for (const Fix& fix : analysis.diagnostics.front().fixes) {
            if (fix.kind != Fix::Kind::insertTo) continue;
            Graph mended = graph;
            mended.apply(combineFixes(graph, analysis, devices, {fix}, fix.title));
            const NodeId to = mended.sourceOf({y, 0})->node;
            QCOMPARE(mended.find(to)->op, std::string("To"));
            const auto left = [&](NodeId id) { return mended.find(id)->position.x; };
            const double width = card::maxWidth;
            QVERIFY(left(to) >= left(x) + width);
            QVERIFY(left(y) >= left(to) + width);
            QCOMPARE(left(z) - left(y), 250.0); // the cards to its right move along
            QCOMPARE(left(x), source);
        }
    }
};

TWB_TEST_MAIN(TestFixes)
#include "test_fixes.moc"
