#include "core/error.h"
#include "graph/delta.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>

using namespace twb;
using namespace twb::test;

class TestGraph : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tableKeepsOrderAndSharesPages();
    void undoAllAndRedoAllRoundTrip();
    void linksAgreeWithEdges();
    void refusesWhatBreaksAnInvariant_data();
    void refusesWhatBreaksAnInvariant();
    void idsAreNeverReused();
    void connectReplaces();
    void builderSumsUp();
    void fragmentsPasteWithFreshIdsAndNames();
    void uniqueNames();
    void aChangeThatFailsLateLeavesNothing();
    void addedSourcesDrawOtherNumbers();
};

void TestGraph::tableKeepsOrderAndSharesPages() {
    std::mt19937_64 random(7);
    Table<Lane> table;
    std::map<std::uint64_t, int> oracle;
    for (int step = 0; step < 20000; ++step) {
        const std::uint64_t id = random() % 3000 + 1;
        const Table<Lane> before = table;
        const auto had = oracle;
        if (random() % 3 == 0) {
            QCOMPARE(table.erase(LaneId(id)), oracle.erase(id) == 1);
        } else {
            Lane lane;
            lane.id = LaneId(id);
            lane.order = step;
            table.set(lane);
            oracle[id] = step;
        }
        if (step % 500) continue;
        // The earlier copy is unchanged: a write never changes a shared page.
        QCOMPARE(before.size(), had.size());
        auto expected = had.begin();
        for (const Lane& lane : before) {
            QCOMPARE(value(lane.id), expected->first);
            QCOMPARE(lane.order, expected->second);
            ++expected;
        }
    }
    QCOMPARE(table.size(), oracle.size());
    for (const auto& [id, order] : oracle) {
        QVERIFY(table.find(LaneId(id)));
        QCOMPARE(table.find(LaneId(id))->order, order);
    }
    QVERIFY(!table.find(LaneId(9999)));
}

void TestGraph::undoAllAndRedoAllRoundTrip() {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        GraphMaker maker;
        maker.node("Zeros", "z", "cpu");
        const Graph start = maker.graph();
        Graph graph = start;
        std::vector<Delta> history;
        std::vector<Graph> states;
        for (int i = 0; i < 300; ++i) {
            Delta delta = randomDelta(graph, random);
            states.push_back(graph);
            graph.apply(delta);
            history.push_back(std::move(delta));
        }
        const Graph end = graph;
        for (std::size_t i = history.size(); i-- > 0;) {
            graph.apply(history[i].inverse());
            QVERIFY(graph == states[i]);
        }
        QVERIFY(graph == start);
        for (const Delta& delta : history) graph.apply(delta);
        QVERIFY(graph == end);
        for (const Delta& delta : history) QVERIFY(delta.inverse().inverse() == delta);
    }
}

void TestGraph::linksAgreeWithEdges() {
    std::mt19937_64 random(3);
    GraphMaker maker;
    maker.node("Zeros", "z", "cpu");
    Graph graph = maker.graph();
    for (int i = 0; i < 2000; ++i) graph.apply(randomDelta(graph, random));
    const auto edges = graph.edges();
    QCOMPARE(edges.size(), graph.edgeCount());
    std::size_t outgoing = 0;
    for (const Node& node : graph.nodes()) {
        const auto& out = graph.outgoing(node.id);
        QVERIFY(std::is_sorted(out.begin(), out.end()));
        outgoing += out.size();
        for (const Edge& edge : out) QVERIFY(graph.sourceOf(edge.to) == edge.from);
    }
    QCOMPARE(outgoing, edges.size());
}

void TestGraph::refusesWhatBreaksAnInvariant_data() {
    QTest::addColumn<int>("which");
    QTest::newRow("node without lane") << 0;
    QTest::newRow("edge from nowhere") << 1;
    QTest::newRow("two edges into one input") << 2;
    QTest::newRow("remove a connected node alone") << 3;
    QTest::newRow("stale before") << 4;
    QTest::newRow("frame in itself") << 5;
    QTest::newRow("lane with nodes removed") << 6;
    QTest::newRow("id zero") << 7;
    QTest::newRow("negative port") << 8;
}

void TestGraph::refusesWhatBreaksAnInvariant() {
    QFETCH(int, which);
    GraphMaker maker;
    const NodeId a = maker.node("Zeros", "a");
    const NodeId b = maker.node("Relu", "b", "cpu", {}, {a});
    const NodeId c = maker.node("Zeros", "c");
    Graph graph = maker.graph();
    const Graph before = graph;
    Delta d;
    Node node = *graph.find(a);
    switch (which) {
    case 0:
        node.lane = LaneId(99);
        d.nodes.push_back({*graph.find(a), node});
        break;
    case 1:
        d.edgesAdded.push_back({{NodeId(99), 0}, {b, 1}});
        break;
    case 2:
        d.edgesAdded.push_back({{c, 0}, {b, 0}});
        break;
    case 3:
        d.nodes.push_back({node, std::nullopt});
        break;
    case 4: {
        Node other = node;
        other.name = "somebody else";
        d.nodes.push_back({other, node});
        break;
    }
    case 5:
        d.frames.push_back({std::nullopt, Frame{FrameId(1), "f", FrameId(1)}});
        break;
    case 6:
        d.lanes.push_back({*graph.find(node.lane), std::nullopt});
        break;
    case 7:
        node.id = NodeId::none;
        d.nodes.push_back({std::nullopt, node});
        break;
    case 8:
        d.edgesAdded.push_back({{a, 0}, {b, -1}});
        break;
    }
    QVERIFY_EXCEPTION_THROWN(graph.apply(d), Error);
    QVERIFY(graph == before);
}

/// If the last part of a delta is rejected, all its earlier changes are undone.
void TestGraph::aChangeThatFailsLateLeavesNothing() {
    std::mt19937_64 random(3);
    Graph graph;
    int refused = 0;
    for (int step = 0; step < 400; ++step) {
        const Delta good = randomDelta(graph, random);
        Delta bad = good;
        bad.edgesAdded.push_back({{NodeId(999'999), 0}, {NodeId(999'998), 0}});
        const Graph before = graph;
        const NodeId next = graph.newNodeId();
        QVERIFY_EXCEPTION_THROWN(graph.apply(bad), Error);
        QVERIFY(graph == before);
        QCOMPARE(graph.edgeCount(), before.edgeCount());
        QCOMPARE(graph.newNodeId(), next);
        refused += !good.empty();
        graph.apply(good);
        Graph back = graph;
        back.apply(good.inverse());
        QVERIFY(back == before);
    }
    QVERIFY(refused > 200);
}

void TestGraph::addedSourcesDrawOtherNumbers() {
    GraphMaker maker;
    const NodeId x = maker.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
    Graph graph = maker.graph();
    const auto pasted = [&] {
        DeltaBuilder builder(graph, "paste");
        std::vector<NodeId> added;
        paste(builder, copyOf(graph, {x}), {24, 24}, LaneId::none, &added);
        graph.apply(builder.take());
        return std::get<std::int64_t>(*graph.find(added.at(0))->attributes.find("seed"));
    };
    const std::int64_t first = pasted();
    const std::int64_t second = pasted();
    QVERIFY(first != 0 && second != 0 && first != second);
    QVERIFY(!graph.find(x)->attributes.has("seed")); // as it was
}

void TestGraph::idsAreNeverReused() {
    GraphMaker maker;
    const NodeId a = maker.node("Zeros", "a");
    Graph graph = maker.graph();
    DeltaBuilder remove(graph, "remove");
    remove.removeNode(a);
    graph.apply(remove.take());
    QVERIFY(graph.newNodeId() != a);
}

void TestGraph::connectReplaces() {
    GraphMaker maker;
    const NodeId a = maker.node("Zeros", "a");
    const NodeId b = maker.node("Zeros", "b");
    const NodeId relu = maker.node("Relu", "r", "cpu", {}, {a});
    maker.connect(b, relu, 0);
    QVERIFY(maker.graph().sourceOf({relu, 0}) == PortRef(b, 0));
    QVERIFY(maker.graph().outgoing(a).empty());
    QCOMPARE(maker.graph().edgeCount(), std::size_t{1});
}

void TestGraph::builderSumsUp() {
    GraphMaker maker;
    const NodeId a = maker.node("Zeros", "a");
    const NodeId r = maker.node("Relu", "r", "cpu", {}, {a});
    DeltaBuilder builder(maker.graph(), "there and back");
    Node node = *maker.graph().find(a);
    const Node original = node;
    node.name = "other";
    builder.change(node);
    builder.change(original);
    builder.disconnect({{a, 0}, {r, 0}});
    builder.connect({{a, 0}, {r, 0}});
    Node extra;
    extra.op = "Relu";
    extra.lane = original.lane;
    builder.removeNode(builder.addNode(extra));
    QVERIFY(builder.take().empty());
}

void TestGraph::fragmentsPasteWithFreshIdsAndNames() {
    GraphMaker maker;
    const NodeId a = maker.node("Zeros", "a");
    const NodeId b = maker.node("Relu", "b", "cpu", {}, {a});
    const NodeId c = maker.node("Relu", "c", "cpu", {}, {b});
    Graph graph = maker.graph();
    const Fragment fragment = copyOf(graph, {a, b});
    QCOMPARE(fragment.edges.size(), std::size_t{1});
    std::vector<NodeId> added;
    DeltaBuilder builder(graph, "paste");
    paste(builder, fragment, {10, 20}, maker.lane("cpu"), &added);
    graph.apply(builder.take());
    QCOMPARE(added.size(), std::size_t{2});
    QCOMPARE(graph.find(added[0])->name, std::string("a 2"));
    QVERIFY(graph.sourceOf({added[1], 0}) == PortRef(added[0], 0));
    QCOMPARE(graph.find(added[1])->position.y, graph.find(b)->position.y + 20);
    QCOMPARE(graph.nodes().size(), std::size_t{5});
    QVERIFY(graph.find(c));
}

void TestGraph::uniqueNames() {
    GraphMaker maker;
    maker.node("Relu", "fc1");
    maker.node("Relu", "fc1 2");
    QCOMPARE(maker.graph().uniqueName("fc1"), std::string("fc1 3"));
    QCOMPARE(maker.graph().uniqueName("fc1 2"), std::string("fc1 3"));
    QCOMPARE(maker.graph().uniqueName("new"), std::string("new"));
}

TWB_TEST_MAIN(TestGraph)
#include "test_graph.moc"
