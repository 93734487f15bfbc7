#include "core/error.h"
#include "placement/fix_set.h"
#include "support/faulty_graphs.h"
#include "support/random_networks.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

using Choices = std::map<NodeId, std::set<Device>>;

/// The nodes at the ends of mismatched edges, and their possible devices.
Choices choicesOf(const Analysis& analysis) {
    Choices choices;
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.code != "device-mismatch") continue;
        const Device from = analysis.find(d.edge->from.node)->device;
        const Device to = analysis.find(d.node)->device;
        choices[d.edge->from.node].insert({from, to});
        choices[d.node].insert({from, to});
    }
    return choices;
}

/// The minimum over all assignments of these nodes.
double leastNs(const Graph& graph, const DeviceMap& devices, const Choices& choices) {
    std::vector<std::pair<NodeId, std::vector<Device>>> open;
    for (const auto& [node, set] : choices) open.push_back({node, {set.begin(), set.end()}});
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> at(open.size(), 0);
    for (;;) {
        Graph tried = graph;
        for (std::size_t i = 0; i < open.size(); ++i)
            tried = moved(tried, open[i].first, open[i].second[at[i]]);
        least = std::min(least, sumNs(withTos(tried, devices), devices));
        std::size_t i = 0;
        while (i < at.size() && ++at[i] == open[i].second.size()) at[i++] = 0;
        if (i == at.size()) return least;
    }
}

} // namespace

class TestFixSet : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void againstEverySetOfFixes_data() {
        QTest::addColumn<int>("gpus");
        QTest::newRow("cpu and one GPU") << 1;
        QTest::newRow("cpu and two GPUs") << 2;
    }
    void againstEverySetOfFixes() {
        QFETCH(int, gpus);
        const DeviceMap devices = simulatedMap(gpus);
        std::vector<std::string> names{"cpu", "cuda:0"};
        if (gpus == 2) names.push_back("cuda:1");
        std::mt19937_64 random(7);
        int mended = 0;
        int moves = 0;
        for (int round = 0; round < 60; ++round) {
            RandomNetwork network(random, 2 + static_cast<int>(random() % (gpus == 1 ? 6 : 3)), names);
            const Graph& graph = network.g.graph();
            const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
            const Choices choices = choicesOf(analysis);
            const FixSet set = minimalFixSet(graph, analysis, devices, nullptr);
            QCOMPARE(set.fixes.empty(), choices.empty());
            if (choices.empty()) continue;
            ++mended;
            QVERIFY(set.isExact);
            Graph clean = graph;
            clean.apply(set.delta);
            QVERIFY(!analyze(clean, devices, Policy::strict, nullptr).hasErrors());
            const double sum = sumNs(clean, devices);
            QVERIFY2(std::abs(sum - set.ns) < 1,
                     qPrintable(QStringLiteral("%1 is said, %2 it is").arg(set.ns).arg(sum)));
            const double least = leastNs(graph, devices, choices);
            QVERIFY2(std::abs(sum - least) < 1, qPrintable(QStringLiteral("%1, not %2").arg(sum).arg(least)));
            QVERIFY(set.insertingNs > set.ns - 1e-3);
            moves += static_cast<int>(std::count_if(set.fixes.begin(), set.fixes.end(), [](const Fix& fix) {
                return fix.kind == Fix::Kind::moveNode;
            }));
        }
        QVERIFY(mended > 20 && moves > 20);
    }

    /// The time claimed for the fixed graph is the sum of its plan's predicted steps.
    void claimedTimeIsThatOfThePlan_data() {
        QTest::addColumn<int>("gpus");
        QTest::newRow("cpu and one GPU") << 1;
        QTest::newRow("cpu and two GPUs") << 2;
        QTest::newRow("cpu and three GPUs") << 3;
    }
    void claimedTimeIsThatOfThePlan() {
        QFETCH(int, gpus);
        const DeviceMap devices = simulatedMap(gpus);
        std::vector<std::string> names{"cpu"};
        for (int gpu = 0; gpu < gpus; ++gpu) names.push_back("cuda:" + std::to_string(gpu));
        std::mt19937_64 random(23);
        int mended = 0;
        int merged = 0;
        for (int round = 0; round < 300; ++round) {
            const Graph graph = faultyGraph(random, names);
            const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
            const FixSet set = minimalFixSet(graph, analysis, devices, nullptr);
            Graph clean = graph;
            clean.apply(set.delta);
            const Analysis after = analyze(clean, devices, Policy::strict, nullptr);
            if (after.hasErrors())
                QFAIL(fmt::format("{}: {}", round, after.diagnostics.front().message).c_str());
            const double sum = sumNs(clean, devices);
            QVERIFY2(std::abs(sum - set.ns) < 1,
                     qPrintable(QStringLiteral("%1: %2 is said, %3 it is").arg(round).arg(set.ns).arg(sum)));
            QVERIFY(set.atLeastNs <= set.ns + 1);
            QCOMPARE(set.fixes.empty(), set.delta.empty());
            mended += !set.fixes.empty();
            merged += std::any_of(set.fixes.begin(), set.fixes.end(),
                                  [](const Fix& fix) { return fix.kind == Fix::Kind::removeNode; });
            // For a graph without errors, the time is the sum of all its steps.
            const FixSet none = minimalFixSet(clean, after, devices, nullptr);
            QVERIFY(none.fixes.empty() && none.isExact);
            QVERIFY(std::abs(none.ns - sum) < 1);
        }
        QVERIFY(mended > 200 && merged > 50);
    }

    /// Two To nodes of the same tensor are two copies, of which one is redundant.
    void oneToForATensorAndADevice() {
        GraphMaker g;
        const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{512, 512}}});
        const NodeId first = g.node("To", "first", "cuda:0", {}, {x});
        const NodeId second = g.node("To", "second", "cuda:0", {}, {x});
        const NodeId product = g.node("MatMul", "product", "cpu", {}, {first, second});
        g.node("Relu", "relu", "cuda:0", {}, {product});
        Graph graph = g.graph();
        const DeviceMap devices = simulatedMap();
        graph.apply(
            minimalFixSet(graph, analyze(graph, devices, Policy::strict, nullptr), devices, nullptr).delta);
        const auto copies = std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                          [](const Node& node) { return node.op == "To"; });
        QCOMPARE(copies, 1);
        QVERIFY(!analyze(graph, devices, Policy::strict, nullptr).hasErrors());
    }

    /// Only an edge changed, and the list of fixes was empty.
    void anExistingCopyIsRead() {
        GraphMaker g;
        const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{512, 512}}});
        g.node("Probe", "stays", "cpu", {}, {x});
        const NodeId copy = g.node("To", "copy", "cuda:0", {}, {x});
        g.node("MatMul", "product", "cuda:0", {}, {copy, copy});
        const NodeId relu = g.node("Relu", "relu", "cuda:0", {}, {x});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const FixSet set = minimalFixSet(g.graph(), analysis, devices, nullptr);
        QCOMPARE(set.fixes.size(), std::size_t{1});
        QCOMPARE(set.fixes[0].title, std::string("read copy instead of x in relu"));
        QVERIFY(set.fixes[0].price.isKnown && set.fixes[0].price.bytes == 0);
        Graph graph = g.graph();
        graph.apply(set.delta);
        QVERIFY(graph.sourceOf({relu, 0}) == PortRef({copy, 0}));
        // The fix alone has the same effect.
        Graph mended = g.graph();
        mended.apply(combineFixes(mended, analysis, devices, set.fixes, "fix"));
        QVERIFY(mended.sourceOf({relu, 0}) == PortRef({copy, 0}));
    }

    void aLongAlternatingChain() {
        GraphMaker g;
        NodeId at = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{8, 8}}});
        for (int i = 0; i < 3000; ++i)
            at = g.node("Relu", "n" + std::to_string(i), i % 2 ? "cpu" : "cuda:0", {}, {at});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const FixSet set = minimalFixSet(g.graph(), analysis, devices, nullptr);
        QVERIFY(set.isExact);
        Graph clean = g.graph();
        clean.apply(set.delta);
        QVERIFY(!analyze(clean, devices, Policy::strict, nullptr).hasErrors());
        QVERIFY_EXCEPTION_THROWN(minimalFixSet(g.graph(), analysis, devices, nullptr, [] { return true; }),
                                 Error);
    }

    /// Tries all 4,096 assignments; each is analysed, fixed and compiled.
    void twelveNodesThatMayMove() {
        const DeviceMap devices = simulatedMap(1);
        const std::vector<std::string> names{"cpu", "cuda:0"};
        std::mt19937_64 random(12);
        int tried = 0;
        int better = 0; // than one To per edge
        while (tried < 3) {
            RandomNetwork network(random, 11, names);
            const Graph& graph = network.g.graph();
            const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
            const Choices choices = choicesOf(analysis);
            if (choices.size() != 12) continue;
            ++tried;
            const FixSet set = minimalFixSet(graph, analysis, devices, nullptr);
            QVERIFY(set.isExact);
            const double least = leastNs(graph, devices, choices);
            QVERIFY2(std::abs(set.ns - least) < 1,
                     qPrintable(QStringLiteral("%1, not %2").arg(set.ns).arg(least)));
            better += set.ns < set.insertingNs - 1;
        }
        QVERIFY(better > 0); // otherwise inserting To nodes was always optimal
    }

    void pinnedNodesStay() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", std::vector<std::int64_t>{64, 64}}});
        g.node("Relu", "relu", "cuda:0", {}, {x});
        Graph graph = g.graph();
        const DeviceMap devices = simulatedMap();
        const auto kinds = [&] {
            std::set<Fix::Kind> out;
            for (const Fix& fix :
                 minimalFixSet(graph, analyze(graph, devices, Policy::strict, nullptr), devices, nullptr)
                     .fixes)
                out.insert(fix.kind);
            return out;
        };
        QVERIFY(kinds() == std::set<Fix::Kind>{Fix::Kind::moveNode}); // x can be created there
        DeltaBuilder builder(graph, "pin");
        for (Node node : graph.nodes()) {
            node.pinned = true;
            builder.change(node);
        }
        graph.apply(builder.take());
        QVERIFY(kinds() == std::set<Fix::Kind>{Fix::Kind::insertTo});
    }
};

TWB_TEST_MAIN(TestFixSet)
#include "test_fix_set.moc"
