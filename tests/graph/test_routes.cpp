#include "core/error.h"
#include "graph/arrange.h"
#include "graph/routes.h"
#include "placement/fixes.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

/// a on cpu -> b on cuda:0 -> c on cuda:0, side by side; the wire into b has three dots on two lanes.
struct Led {
    GraphMaker maker;
    Graph graph;
    NodeId a, b, c;
    LaneId cpu, cuda;
    std::vector<Dot> dots;

    Led() {
        a = maker.node("Zeros", "a", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
        b = maker.node("Relu", "b", "cuda:0", {}, {a});
        c = maker.node("Relu", "c", "cuda:0", {}, {b});
        graph = maker.graph();
        cpu = maker.lane("cpu");
        cuda = maker.lane("cuda:0");
        dots = {{cpu, {300, 40}}, {cuda, {400, 40}}, {cuda, {900, 40}}};
        DeltaBuilder builder(graph, "make");
        moveTo(builder, a, {0, 0});
        moveTo(builder, b, {1200, 0});
        moveTo(builder, c, {1600, 0});
        builder.setDots(into(b), dots);
        graph.apply(builder.take());
    }
    static void moveTo(DeltaBuilder& builder, NodeId id, Position at) {
        Node node = *builder.graph().find(id);
        node.position = at;
        builder.change(node);
    }
    static PortRef into(NodeId node) { return {node, 0}; }
    Edge first() const { return {{a, 0}, into(b)}; }
};

Delta routeChange(std::optional<Route> before, std::optional<Route> after) {
    Delta delta;
    delta.routes.push_back({std::move(before), std::move(after)});
    return delta;
}

} // namespace

class TestRoutes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dotsAreRemovedAndRestoredWithTheirWire() {
        const Led led;
        const auto check = [&](auto edit) {
            Graph graph = led.graph;
            DeltaBuilder builder(graph, "edit");
            edit(builder);
            const Delta delta = builder.take();
            graph.apply(delta);
            QVERIFY(graph.routes().empty());
            graph.apply(delta.inverse());
            QVERIFY(graph == led.graph);
        };
        check([&](DeltaBuilder& builder) { builder.disconnect(led.first()); });
        check([&](DeltaBuilder& builder) { builder.removeNode(led.a); });
        check([&](DeltaBuilder& builder) { builder.removeNode(led.b); });
        check([&](DeltaBuilder& builder) { builder.connect({{led.c, 0}, Led::into(led.b)}); });
        check([&](DeltaBuilder& builder) { builder.setDots(Led::into(led.b), {}); });
    }

    void thereAndBackIsNothing() {
        const Led led;
        DeltaBuilder builder(led.graph, "there and back");
        builder.disconnect(led.first());
        builder.connect(led.first());
        QVERIFY(builder.graph().dots(Led::into(led.b)).empty());
        builder.setDots(Led::into(led.b), led.dots);
        builder.setDots(Led::into(led.c), led.dots);
        builder.setDots(Led::into(led.c), {});
        QVERIFY(builder.take().empty());
    }

    void equalGraphsHaveEqualDots() {
        const Led led;
        Graph other = led.graph;
        DeltaBuilder builder(other, "move");
        std::vector<Dot> dots = led.dots;
        dots[1].position.x += 8;
        builder.setDots(Led::into(led.b), dots);
        other.apply(builder.take());
        QVERIFY(!(other == led.graph));
    }

    void refusesWhatBreaksAnInvariant_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("says");
        QTest::newRow("no such wire") << 0 << QStringLiteral("there is no such wire");
        QTest::newRow("a wire without its dots") << 1 << QStringLiteral("cannot be removed without its dots");
        QTest::newRow("a way with no dots") << 2 << QStringLiteral("has a route without dots");
        QTest::newRow("too many") << 3
                                  << QStringLiteral(
                                         "would have 101 dots (bends), but a wire may have at most 100");
        QTest::newRow("stale") << 4 << QStringLiteral("differ from the state that this change expects");
        QTest::newRow("there already")
            << 5 << QStringLiteral("differ from the state that this change expects");
        QTest::newRow("lane that is none") << 6 << QStringLiteral("is on lane 99, which does not exist");
        QTest::newRow("another wire") << 7 << QStringLiteral("may not move them to another wire");
        QTest::newRow("nothing") << 8 << QStringLiteral("is empty");
        QTest::newRow("a lane with dots removed") << 9 << QStringLiteral("which does not exist");
    }

    void refusesWhatBreaksAnInvariant() {
        QFETCH(int, which);
        QFETCH(QString, says);
        Led led;
        const PortRef intoB = Led::into(led.b);
        const PortRef intoC = Led::into(led.c);
        const Route now = *led.graph.routes().find(intoB);
        const LaneId empty = [&] {
            DeltaBuilder builder(led.graph, "lane");
            const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 9, 0});
            builder.setDots(intoC, {{lane, {0, 0}}});
            led.graph.apply(builder.take());
            return lane;
        }();
        Delta delta;
        Route other = now;
        switch (which) {
        case 0:
            delta = routeChange(std::nullopt, Route{{led.a, 0}, led.dots});
            break;
        case 1:
            delta.edgesRemoved.push_back(led.first());
            break;
        case 2:
            delta = routeChange(now, Route{intoB, {}});
            break;
        case 3:
            delta = routeChange(now, Route{intoB, std::vector<Dot>(kMostDots + 1, led.dots[0])});
            break;
        case 4:
            other.dots.pop_back();
            delta = routeChange(other, now);
            break;
        case 5:
            delta = routeChange(std::nullopt, now);
            break;
        case 6:
            other.dots[0].lane = LaneId(99);
            delta = routeChange(now, other);
            break;
        case 7:
            other.id = intoC;
            delta = routeChange(now, other);
            break;
        case 8:
            delta = routeChange(std::nullopt, std::nullopt);
            break;
        case 9:
            delta.lanes.push_back({*led.graph.find(empty), std::nullopt});
            break;
        }
        const Graph before = led.graph;
        try {
            led.graph.apply(delta);
            QFAIL("it was taken");
        } catch (const Error& error) {
            QVERIFY2(QString::fromUtf8(error.what()).contains(says), error.what());
        }
        QVERIFY(led.graph == before);
    }

    void aCopyKeepsTheDotsBetweenItsNodes() {
        const Led led;
        QVERIFY(copyOf(led.graph, {led.b, led.c}).routes.empty());
        const Fragment fragment = copyOf(led.graph, {led.a, led.b});
        QCOMPARE(fragment.routes.size(), std::size_t(1));
        Graph graph = led.graph;
        std::vector<NodeId> added;
        DeltaBuilder builder(graph, "paste");
        paste(builder, fragment, {10, 20}, led.cpu, &added);
        graph.apply(builder.take());
        const std::vector<Dot>& dots = graph.dots(Led::into(added[1]));
        QCOMPARE(dots.size(), led.dots.size());
        for (std::size_t i = 0; i < dots.size(); ++i) {
            QVERIFY(dots[i].lane == led.dots[i].lane);
            QCOMPARE(dots[i].position.x, led.dots[i].position.x + 10);
            QCOMPARE(dots[i].position.y, led.dots[i].position.y + 20);
        }
        // In another graph they go to the lanes of the same devices, even if no copied node is on such a
        // lane.
        GraphMaker elsewhere;
        elsewhere.node("Zeros", "z", "cuda:0");
        Graph other = elsewhere.graph();
        DeltaBuilder there(other, "paste");
        paste(there, fragment, {}, elsewhere.lane("cuda:0"), &added);
        other.apply(there.take());
        for (const Dot& dot : other.dots(Led::into(added.back())))
            QVERIFY(dot.lane == elsewhere.lane("cuda:0"));
    }

    void insertedNodeDividesTheDots_data() {
        QTest::addColumn<bool>("onCpu");
        QTest::addColumn<double>("x");
        QTest::addColumn<int>("before");
        QTest::newRow("first of all") << true << 150.0 << 0;
        QTest::newRow("where the lanes meet") << true << 330.0 << 1;
        QTest::newRow("in the second lane, at its left") << false << 250.0 << 1;
        QTest::newRow("between the two of a lane") << false << 600.0 << 2;
        QTest::newRow("last") << false << 1000.0 << 3;
    }

    void insertedNodeDividesTheDots() {
        QFETCH(bool, onCpu);
        QFETCH(double, x);
        QFETCH(int, before);
        const Led led;
        Graph graph = led.graph;
        DeltaBuilder builder(graph, "put");
        Node node;
        node.op = "Relu";
        node.lane = onCpu ? led.cpu : led.cuda;
        node.position = {x - 112, 3}; // its centre is at x
        const NodeId put = builder.addNode(node);
        putInto(builder, led.first(), {put, 0}, {put, 0});
        graph.apply(builder.take());
        QVERIFY(graph.sourceOf(Led::into(led.b)) == PortRef(put, 0));
        std::vector<Dot> all = graph.dots({put, 0});
        QCOMPARE(int(all.size()), before);
        const std::vector<Dot>& after = graph.dots(Led::into(led.b));
        all.insert(all.end(), after.begin(), after.end());
        QVERIFY(all == led.dots);
    }

    void aToOnTheWireLeavesTheDotsOnTheirSides() {
        const Led led;
        Fix fix;
        fix.kind = Fix::Kind::insertTo;
        fix.edge = led.first();
        fix.device = Device::cuda(0);
        Graph graph = led.graph;
        graph.apply(toDelta(graph, fix));
        const NodeId to = graph.sourceOf(Led::into(led.b))->node;
        QCOMPARE(graph.find(to)->op, std::string("To"));
        std::vector<Dot> all = graph.dots({to, 0});
        QVERIFY(!all.empty());
        QVERIFY(all.front().lane == led.cpu);
        const std::vector<Dot>& after = graph.dots(Led::into(led.b));
        all.insert(all.end(), after.begin(), after.end());
        QVERIFY(all == led.dots);
        // If a To already provides the tensor, the dots on the wire to it are removed.
        DeltaBuilder builder(graph, "one more");
        Node reader;
        reader.op = "Relu";
        reader.lane = led.cuda;
        reader.position = {1200, 400};
        const NodeId second = builder.addNode(reader);
        builder.connect({{led.a, 0}, {second, 0}});
        builder.setDots({second, 0}, led.dots);
        graph.apply(builder.take());
        fix.edge = {{led.a, 0}, {second, 0}};
        graph.apply(toDelta(graph, fix));
        QVERIFY(graph.sourceOf({second, 0}) == PortRef(to, 0));
        const std::vector<Dot>& kept = graph.dots({second, 0});
        QVERIFY(kept.size() < led.dots.size());
        QVERIFY(std::equal(kept.rbegin(), kept.rend(), led.dots.rbegin()));
    }

    void dotsGoAlongToAnotherLane() {
        const Led led;
        Graph graph = led.graph;
        graph.apply(moveToDevice(graph, {led.b}, Device::cpu()));
        QVERIFY(graph.dots(Led::into(led.b)) == led.dots); // one end of the wire did not move
        graph = led.graph;
        graph.apply(moveToDevice(graph, {led.a, led.b, led.c}, Device::cpu()));
        for (const Dot& dot : graph.dots(Led::into(led.b))) QVERIFY(dot.lane == led.cpu);
        QCOMPARE(graph.dots(Led::into(led.b)).size(), led.dots.size());
    }

    void arrangedWiresAreStraight() {
        const Led led;
        Graph graph = led.graph;
        const Delta one = arrange(graph, {led.b, led.c}, {}).delta;
        QVERIFY(one.routes.empty());
        const Delta both = arrange(graph, {led.a, led.b}, {}).delta;
        graph.apply(both);
        QVERIFY(graph.routes().empty());
        graph.apply(both.inverse());
        QVERIFY(graph == led.graph);
    }

    void dotsDoNotAffectTheRules() {
        const Led led;
        Graph graph = led.graph;
        const DeviceMap devices = simulatedMap();
        Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        DeltaBuilder builder(graph, "dots");
        builder.setDots(Led::into(led.b), {});
        builder.setDots(Led::into(led.c), led.dots);
        const Delta delta = builder.take();
        graph.apply(delta);
        QVERIFY(!reanalyze(analysis, graph, delta, devices, nullptr));
    }
};

TWB_TEST_MAIN(TestRoutes)
#include "test_routes.moc"
