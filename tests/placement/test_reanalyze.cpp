#include "placement/analysis.h"
#include "support/analysis_difference.h"
#include "support/random_networks.h"
#include "support/test_main.h"

#include <algorithm>
#include <map>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// A violation of the order that an analysis guarantees; empty if there is none.
std::string disorder(const Analysis& analysis) {
    for (const NodeFacts& facts : analysis.nodes) {
        if (&facts != analysis.find(facts.id)) return "the index is wrong";
        for (const auto& from : facts.inputs)
            if (from && analysis.isPlain && analysis.find(from->node)->rank >= facts.rank)
                return "a rank is not above that of an input";
    }
    std::pair<int, std::uint64_t> last{-9, 0};
    for (const Diagnostic& d : analysis.diagnostics) {
        const NodeFacts* facts = analysis.find(d.node);
        if (facts && !facts->noted) return "a node with a diagnostic is not marked";
        const std::pair<int, std::uint64_t> key{-static_cast<int>(d.severity), facts ? facts->rank : 0};
        if (key < last) return "a diagnostic comes too late";
        last = key;
    }
    return {};
}

/// A graph in which host values determine shapes and tensors go back and forth between devices.
Graph networkWithShapes() {
    GraphMaker g;
    const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{4, 6}}});
    const NodeId shape = g.node("Shape", "shape", "cpu", {}, {x});
    const NodeId two = g.node("Full", "two", "cpu", {{"shape", Ints{2}}, {"value", 1.0}, {"dtype", "i64"}});
    const NodeId wanted = g.node("Mul", "wanted", "cpu", {}, {shape, two});
    const NodeId there = g.node("To", "there", "cuda:0", {}, {x});
    const NodeId reshaped = g.node("Reshape", "reshaped", "cuda:0", {}, {there, wanted});
    const NodeId back = g.node("To", "back", "cpu", {}, {reshaped});
    const NodeId again = g.node("To", "again", "cuda:0", {}, {back});
    NodeId last = g.node("Relu", "relu", "cuda:0", {}, {again});
    for (int i = 0; i < 40; ++i)
        last = g.node(i % 3 == 2 ? "Add" : "Relu", "chain" + std::to_string(i), "cuda:0", {},
                      i % 3 == 2 ? std::vector<NodeId>{last, reshaped} : std::vector<NodeId>{last});
    g.node("Probe", "probe", "cpu", {}, {last});
    return g.graph();
}

/// One of three kinds: with host values; without errors, with copies as To nodes; with mismatches everywhere.
Graph startOf(std::uint64_t kind, std::mt19937_64& random) {
    if (kind == 0) return networkWithShapes();
    Graph graph = RandomNetwork(random, 14, {"cpu", "cuda:0", "cuda:1"}).g.graph();
    return kind == 1 ? withTos(std::move(graph), simulatedMap(2)) : graph;
}

/// A small edit with far-reaching effects on the rules: attributes, devices, names, wires.
Delta sharpDelta(const Graph& graph, std::mt19937_64& random) {
    DeltaBuilder builder(graph, "sharp");
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    auto at = graph.nodes().begin();
    for (std::size_t skip = below(graph.nodes().size()); skip > 0; --skip) ++at;
    Node node = *at;
    switch (below(8)) {
    case 0:
    case 1: {
        auto lane = graph.lanes().begin();
        for (std::size_t skip = below(graph.lanes().size()); skip > 0; --skip) ++lane;
        node.lane = lane->id;
        break;
    }
    case 2:
        node.name += "'";
        break;
    case 3:
        if (node.op == "Full")
            node.attributes.set("value", static_cast<double>(below(3)));
        else if (node.op == "Ones")
            node.attributes.set("shape", Ints{4, static_cast<std::int64_t>(5 + below(3))});
        else if (node.op == "To")
            node.attributes.set("non_blocking", below(2) == 0);
        break;
    case 4:
        if (below(2))
            node.pinned = !node.pinned;
        else
            node.folded = !node.folded;
        break;
    case 5: {
        const auto& edges = graph.outgoing(node.id);
        if (edges.empty()) return builder.take();
        auto reader = graph.nodes().begin();
        for (std::size_t skip = below(graph.nodes().size()); skip > 0; --skip) ++reader;
        const Edge edge{edges[below(edges.size())].from, {reader->id, static_cast<std::int32_t>(below(2))}};
        if (edge.to.node > node.id) builder.connect(edge);
        return builder.take();
    }
    case 6: {
        Node fresh = node;
        fresh.op = below(2) ? "To" : "Relu";
        fresh.attributes = {};
        const auto& edges = graph.outgoing(node.id);
        if (edges.empty()) return builder.take();
        const Edge edge = edges[below(edges.size())]; // inserted on a wire
        const NodeId id = builder.addNode(fresh);
        builder.connect({edge.from, {id, 0}});
        builder.connect({{id, 0}, edge.to});
        return builder.take();
    }
    default: {
        const auto& edges = graph.outgoing(node.id);
        if (!edges.empty() && below(3) == 0) builder.disconnect(edges[below(edges.size())]);
        return builder.take();
    }
    }
    builder.change(node);
    return builder.take();
}

/// Changes one node and updates the analysis.
template <class How>
void edit(Graph& graph, Analysis& analysis, const DeviceMap& devices, const How& how, NodeId id) {
    DeltaBuilder builder(graph, "edit");
    Node node = *graph.find(id);
    how(node);
    builder.change(node);
    const Delta delta = builder.take();
    graph.apply(delta);
    QVERIFY(reanalyze(analysis, graph, delta, devices, nullptr));
}

const Policy kGuard = Policy::guard(Policy::Action::log, Policy::Action::disallow, Policy::Action::allow);

} // namespace

class TestReanalyze : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anyEditsSayWhatTheWholeSays() {
        const DeviceMap devices = simulatedMap(2);
        int unseen = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            std::mt19937_64 random(seed);
            const Policy policy = seed % 3 == 0 ? Policy::strict : seed % 3 == 1 ? Policy::implicit : kGuard;
            Graph graph;
            Analysis now = analyze(graph, devices, policy, nullptr);
            for (int edit = 0; edit < 80; ++edit) {
                const Delta delta = randomDelta(graph, random);
                const std::vector<std::string> before = linesOf(now);
                graph.apply(delta);
                if (!reanalyze(now, graph, delta, devices, nullptr)) {
                    ++unseen;
                    QVERIFY(linesOf(now) == before);
                }
                const std::string differs = difference(now, analyze(graph, devices, policy, nullptr));
                QVERIFY2(differs.empty(), qPrintable(QString("seed %1 edit %2: %3")
                                                         .arg(seed)
                                                         .arg(edit)
                                                         .arg(QString::fromStdString(differs))));
                QCOMPARE(disorder(now), std::string());
            }
        }
        QVERIFY2(unseen > 100, qPrintable(QString::number(unseen)));
    }

    /// A size that one Gather reads from a Shape determines another tensor.
    void changedSizesReachTheTensorsThatTheyDetermine_data() {
        QTest::addColumn<bool>("isPartial");
        QTest::addColumn<bool>("isDistant");
        for (const bool isPartial : {false, true})
            for (const bool isDistant : {false, true})
                QTest::addRow("%s, %s", isPartial ? "another size is unknown" : "known",
                              isDistant ? "through an op" : "directly")
                    << isPartial << isDistant;
    }
    void changedSizesReachTheTensorsThatTheyDetermine() {
        QFETCH(bool, isPartial);
        QFETCH(bool, isDistant);
        GraphMaker g;
        const NodeId input = g.node("Input", "x", "cpu", {{"shape", Ints{2, 4, 8}}});
        NodeId x = isPartial ? g.node("NonZero", "places", "cpu", {}, {input}) : input; // 3×?
        if (isDistant) x = g.node("Identity", "same", "cpu", {}, {x});
        const NodeId shape = g.node("Shape", "shape", "cpu", {}, {x});
        const NodeId first =
            g.node("Constant", "first", "cpu", {{"value", Ints{0}}, {"dtype", std::string("i64")}});
        const NodeId size = g.node("Gather", "size", "cpu", {}, {shape, first});
        const NodeId zeros = g.node("ConstantOfShape", "zeros", "cpu", {}, {size});
        Graph graph = g.graph();
        const DeviceMap map = simulatedMap();
        Analysis now = analyze(graph, map, Policy::strict, nullptr);
        QCOMPARE(now.typeOf({zeros, 0})->toString(), std::string(isPartial ? "f32 3" : "f32 2"));
        DeltaBuilder builder(graph, "resize");
        builder.setAttribute(input, "shape", isPartial ? Ints{4, 8} : Ints{5, 4, 8});
        const Delta delta = builder.take();
        graph.apply(delta);
        reanalyze(now, graph, delta, map, nullptr);
        QCOMPARE(now.typeOf({zeros, 0})->toString(), std::string(isPartial ? "f32 2" : "f32 5"));
        QCOMPARE(difference(now, analyze(graph, map, Policy::strict, nullptr)), std::string());
    }

    void editsWhereTheRulesLookFarSayWhatTheWholeSays() {
        const DeviceMap devices = simulatedMap(2);
        std::map<std::string, int> seen;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            std::mt19937_64 random(seed);
            const Policy policy = seed % 4 == 0 ? kGuard : seed % 4 == 1 ? Policy::implicit : Policy::strict;
            Graph graph = startOf(seed % 3, random);
            Analysis now = analyze(graph, devices, policy, nullptr);
            std::vector<Delta> undo;
            for (int edit = 0; edit < 60; ++edit) {
                const bool back = !undo.empty() && random() % 4 == 0;
                const Delta delta = back ? undo.back().inverse() : sharpDelta(graph, random);
                graph.apply(delta);
                if (back)
                    undo.pop_back();
                else
                    undo.push_back(delta);
                reanalyze(now, graph, delta, devices, nullptr);
                const std::string differs = difference(now, analyze(graph, devices, policy, nullptr));
                QVERIFY2(differs.empty(), qPrintable(QString("seed %1 edit %2: %3")
                                                         .arg(seed)
                                                         .arg(edit)
                                                         .arg(QString::fromStdString(differs))));
                QCOMPARE(disorder(now), std::string());
                for (const Diagnostic& d : now.diagnostics) ++seen[d.code];
            }
        }
        for (const char* code : {"device-mismatch", "shape-mismatch", "implicit-transfer", "ping-pong",
                                 "transfer-in-iteration", "non-blocking-pageable"})
            QVERIFY2(seen[code] > 10, code);
    }

    /// A ping-pong over three devices is reported at its end, three wires after its start.
    void pingPongIsReportedAtItsEnd() {
        const DeviceMap devices = simulatedMap(2);
        GraphMaker g;
        const NodeId made = g.node("Ones", "made", "cuda:0", {{"shape", Ints{8}}});
        const NodeId x = g.node("Relu", "x", "cuda:0", {}, {made});
        const NodeId a = g.node("To", "a", "cpu", {}, {x});
        const NodeId b = g.node("To", "b", "cuda:1", {}, {a});
        const NodeId c = g.node("To", "c", "cuda:0", {}, {b});
        g.node("Relu", "end", "cuda:0", {}, {c});
        Graph graph = g.graph();
        Analysis now = analyze(graph, devices, Policy::implicit, nullptr);
        const auto hasPingPong = [&now, c] {
            return std::any_of(now.diagnostics.begin(), now.diagnostics.end(),
                               [c](const Diagnostic& d) { return d.code == "ping-pong" && d.node == c; });
        };
        QVERIFY(hasPingPong());
        const LaneId other = graph.find(b)->lane;
        edit(
            graph, now, devices, [other](Node& node) { node.lane = other; }, x);
        QCOMPARE(difference(now, analyze(graph, devices, Policy::implicit, nullptr)), std::string());
        QVERIFY(!hasPingPong());
    }

    /// Two chains with an error at each wire. Connecting one to the other changes all its ranks.
    void diagnosticsFollowTheNewOrder() {
        const DeviceMap devices = simulatedMap();
        GraphMaker g;
        NodeId ends[2]{};
        NodeId sums[2]{};
        for (int chain = 0; chain < 2; ++chain) {
            const NodeId made = g.node("Ones", "made", "cpu", {{"shape", Ints{8}}});
            NodeId last = sums[chain] = g.node("Add", "sum", "cpu", {}, {made, made});
            for (int i = 0; i < 10;
                 ++i) { // through their second inputs, since the op's device follows the first
                const char* device = i % 2 ? "cpu" : "cuda:0";
                const NodeId near = g.node("Ones", "near", device, {{"shape", Ints{8}}});
                last = g.node("Add", "add", device, {}, {near, last});
            }
            ends[chain] = last;
        }
        Graph graph = g.graph();
        Analysis now = analyze(graph, devices, Policy::strict, nullptr);
        QCOMPARE(now.errorCount(), std::size_t(20));
        DeltaBuilder builder(graph, "join");
        builder.connect({{ends[1], 0}, {sums[0], 1}});
        const Delta delta = builder.take();
        graph.apply(delta);
        QVERIFY(reanalyze(now, graph, delta, devices, nullptr));
        QCOMPARE(difference(now, analyze(graph, devices, Policy::strict, nullptr)), std::string());
        QCOMPARE(disorder(now), std::string());
    }

    /// The one mismatch of a long chain gets a new message when the chain's source changes.
    void distantChangeUpdatesTheMessage() {
        const DeviceMap devices = simulatedMap();
        GraphMaker g;
        const NodeId made = g.node("Ones", "made", "cpu", {{"shape", Ints{8}}});
        NodeId last = made;
        for (int i = 0; i < 30; ++i) last = g.node("Relu", "r" + std::to_string(i), "cpu", {}, {last});
        const NodeId other = g.node("Ones", "other", "cuda:0", {{"shape", Ints{8}}});
        g.node("Add", "sum", "cuda:0", {}, {last, other});
        Graph graph = g.graph();
        Analysis now = analyze(graph, devices, Policy::strict, nullptr);
        QCOMPARE(now.errorCount(), std::size_t(1));
        edit(
            graph, now, devices, [](Node& node) { node.op = "Zeros"; }, made);
        QCOMPARE(difference(now, analyze(graph, devices, Policy::strict, nullptr)), std::string());
        QVERIFY(toText(now.diagnostics.front()).find("from Zeros, created on cpu") != std::string::npos);
    }

    /// A folded parameter moves with its node, so folding changes the price of moving the node.
    /// A copy names the Batches node many ops before it, and whether the ops between can run ahead.
    void aDistantBatchesNodeChangesTheNoteOfItsCopy() {
        const DeviceMap devices = simulatedMap(2);
        MemoryFiles files;
        files.put("x.npy", Tensor::onHost({DType::f32, Shape{8, 2}}));
        GraphMaker g;
        const NodeId data = g.node("Batches", "data", "cpu",
                                   {{"path", std::string("x.npy")}, {"batch_size", std::int64_t{4}}});
        const NodeId one = g.node("Constant", "one", "cpu", {{"value", 1.0}});
        NodeId at = g.node("Mul", "mul", "cpu", {}, {data, one});
        const NodeId middle = at;
        for (const char* op : {"Exp", "Relu", "Sqrt", "Neg"}) at = g.node(op, op, "cpu", {}, {at});
        g.node("To", "copy", "cuda:0", {}, {at});
        Graph graph = g.graph();
        Analysis now = analyze(graph, devices, Policy::strict, &files);
        const auto change = [&](const auto& how) {
            DeltaBuilder builder(graph, "edit");
            how(builder);
            const Delta delta = builder.take();
            graph.apply(delta);
            reanalyze(now, graph, delta, devices, &files);
            return difference(now, analyze(graph, devices, Policy::strict, &files));
        };
        const auto notes = [&] {
            return std::ranges::count(now.diagnostics, "waits-for-data", &Diagnostic::code);
        };
        QCOMPARE(notes(), 1);
        QCOMPARE(change([&](DeltaBuilder& b) {
                     Node node = *graph.find(data);
                     node.name = "images";
                     b.change(node);
                 }),
                 std::string());
        QCOMPARE(notes(), 1);
        QCOMPARE(change([&](DeltaBuilder& b) { b.setAttribute(data, "prefetch", std::int64_t{1}); }),
                 std::string());
        QCOMPARE(notes(), 0);
        QCOMPARE(change([&](DeltaBuilder& b) { b.setAttribute(data, "prefetch", std::int64_t{0}); }),
                 std::string());
        QCOMPARE(notes(), 1);
        // A source that becomes part of the iteration, two edges before the chain's end.
        const Edge constant{{one, 0}, {middle, 1}};
        QCOMPARE(change([&](DeltaBuilder& b) {
                     b.disconnect(constant);
                     Node random;
                     random.op = "Exp";
                     random.name = "computed";
                     random.lane = graph.find(one)->lane;
                     const NodeId id = b.addNode(random);
                     b.connect({{one, 0}, {id, 0}});
                     b.connect({{id, 0}, {middle, 1}});
                 }),
                 std::string());
        QCOMPARE(notes(), 0);
    }

    void foldingChangesThePriceOfAFix() {
        const DeviceMap devices = simulatedMap();
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{8, 8}}});
        const NodeId w = g.node("Ones", "w", "cuda:0", {{"shape", Ints{8, 8}}});
        const NodeId product = g.node("MatMul", "product", "cuda:0", {}, {x, w});
        g.node("Relu", "relu", "cuda:0", {}, {product});
        Graph graph = g.graph();
        Analysis now = analyze(graph, devices, Policy::strict, nullptr);
        const std::vector<std::string> before = linesOf(now);
        edit(
            graph, now, devices, [](Node& node) { node.folded = true; }, w);
        QVERIFY(linesOf(now) != before);
        QCOMPARE(difference(now, analyze(graph, devices, Policy::strict, nullptr)), std::string());
    }
};

TWB_TEST_MAIN(TestReanalyze)
#include "test_reanalyze.moc"
