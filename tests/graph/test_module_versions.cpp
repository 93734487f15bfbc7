#include "graph/module_versions.h"
#include "ops/op_table.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

/// Version 1 of Bend: x -> leaky -> twice (Mul with the constant two). Its attribute "slope" is alpha of
/// leaky, 0.1.
ModuleOp firstBend() {
    GraphMaker maker;
    const NodeId leaky = maker.node("LeakyRelu", "leaky", "cpu", {{"alpha", 0.1}});
    const NodeId two = maker.node("Constant", "two", "cpu", {{"value", 2.0}, {"dtype", std::string("f32")}});
    const NodeId twice = maker.node("Mul", "twice", "cpu", {}, {leaky, two});
    ModuleOp op;
    op.name = "Bend";
    op.fragment = copyOf(maker.graph(), {leaky, two, twice});
    op.inputs = {{"x", {leaky, 0}}};
    op.outputs = {{"y", {twice, 0}}};
    op.attributes = {{"slope", "", {{leaky, "alpha"}}}};
    frameFragment(op);
    freeHomeLane(op);
    return op;
}

/// Version 2: x -> scale (Neg) -> leaky -> twice -> shift (Add with twice), and an input z of shift.
ModuleOp secondBend() {
    GraphMaker maker;
    const NodeId scale = maker.node("Neg", "scale", "cpu");
    const NodeId leaky = maker.node("LeakyRelu", "leaky", "cpu", {{"alpha", 0.3}}, {scale});
    const NodeId two = maker.node("Constant", "two", "cpu", {{"value", 3.0}, {"dtype", std::string("f32")}});
    const NodeId twice = maker.node("Mul", "twice", "cpu", {}, {leaky, two});
    const NodeId shift = maker.node("Add", "shift", "cpu", {}, {twice});
    ModuleOp op;
    op.name = "Bend";
    op.version = 2;
    op.fragment = copyOf(maker.graph(), {scale, leaky, two, twice, shift});
    op.inputs = {{"x", {scale, 0}}, {"z", {shift, 1}}};
    op.outputs = {{"y", {shift, 0}}};
    op.attributes = {{"slope", "", {{leaky, "alpha"}}}};
    frameFragment(op);
    freeHomeLane(op);
    return op;
}

/// A graph with the op on a cuda lane: Ones "x" -> the op -> Neg "after".
struct Used {
    Graph graph;
    FrameId module = FrameId::none;
    NodeId x, after;

    explicit Used(const ModuleOp& op, int count = 1) {
        DeltaBuilder builder(graph, "use");
        builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const LaneId gpu = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 300});
        const auto add = [&](const char* name, const char* title) {
            Node node;
            node.op = name;
            node.name = title;
            node.lane = gpu;
            return builder.addNode(node);
        };
        x = add("Ones", "x");
        after = add("Neg", "after");
        PortRef from{x, 0};
        for (int i = 0; i < count; ++i) {
            std::vector<NodeId> added;
            paste(builder, op.fragment, {100, 40}, gpu, &added);
            const auto here = [&](PortRef port) {
                const auto at = std::ranges::find(op.fragment.nodes, port.node, &Node::id);
                return PortRef{added[std::size_t(at - op.fragment.nodes.begin())], port.port};
            };
            builder.connect({from, here(op.inputs[0].at)});
            from = here(op.outputs[0].at);
        }
        builder.connect({from, {after, 0}});
        graph.apply(builder.take());
        for (const Frame& frame : graph.frames())
            if (madeFrom(frame) && module == FrameId::none) module = frame.id;
    }
    const Node& node(const char* name) const {
        const Node* found = graph.findByName(name);
        if (!found) qFatal("no node %s", name);
        return *found;
    }
    void set(const Node& node) {
        DeltaBuilder builder(graph, "set");
        builder.change(node);
        graph.apply(builder.take());
    }
    ModuleUpdate update(const std::vector<ModuleOp>& ops) {
        std::vector<FrameId> all;
        for (const Frame& frame : graph.frames()) all.push_back(frame.id);
        ModuleUpdate out = updateModules(graph, all, ops);
        graph.apply(out.delta);
        return out;
    }
    std::string sourceOf(const char* name, int port) const {
        const auto from = graph.sourceOf({node(name).id, port});
        return from ? graph.find(from->node)->name : "";
    }
};

QString joined(const std::vector<std::string>& lines) {
    QStringList out;
    for (const std::string& line : lines) out << QString::fromStdString(line);
    return out.join(QLatin1Char('\n'));
}

} // namespace

class TestModuleVersions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void otherVersionsAreFound() {
        const Used used(firstBend(), 3);
        QVERIFY(otherVersions(used.graph, std::vector{firstBend()}).empty());
        QVERIFY(otherVersions(used.graph, {}).empty()); // the graph has all that it needs
        const auto found = otherVersions(used.graph, std::vector{secondBend()});
        QCOMPARE(found.size(), std::size_t(1));
        QCOMPARE(found[0].modules.size(), std::size_t(3));
        QVERIFY(found[0].isOlder());
        const std::string told = toSentence(used.graph, found[0]);
        QVERIFY2(told.starts_with(
                     "module \"Bend\" and 2 more modules were made from Bend version 1, but version 2 "
                     "is installed; the graph keeps version 1 until you choose "),
                 told.c_str());
    }

    /// The wire goes to the node before leaky and comes from the node after twice.
    void anUpdateKeepsWiresAndPlaces() {
        Used used(firstBend());
        const Graph before = used.graph;
        Node twice = used.node("twice");
        twice.breakpoints = *parseBreakpoints("after");
        twice.pinned = true;
        used.set(twice);
        const Graph edited = used.graph;
        const ModuleUpdate update = used.update({secondBend()});
        QCOMPARE(update.modules, std::size_t(1));
        QCOMPARE(used.graph.nodes().size(), before.nodes().size() + 2);
        QCOMPARE(used.sourceOf("scale", 0), std::string("x"));
        QCOMPARE(used.sourceOf("leaky", 0), std::string("scale"));
        QCOMPARE(used.sourceOf("after", 0), std::string("shift"));
        for (const char* name : {"scale", "leaky", "two", "twice", "shift"}) {
            QCOMPARE(used.graph.deviceOf(used.node(name)).toString(), std::string("cuda:0"));
            QCOMPARE(used.node(name).frame, used.module);
        }
        QVERIFY(!used.node("twice").breakpoints.empty());
        QVERIFY(used.node("twice").pinned);
        QCOMPARE(used.graph.frames().size(), before.frames().size());
        QCOMPARE(nodesMadeFrom(used.graph, used.module, secondBend()).size(), std::size_t(5));
        QVERIFY(otherVersions(used.graph, std::vector{secondBend()}).empty());
        used.graph.apply(update.delta.inverse());
        QVERIFY(used.graph == edited);
    }

    void theValuesOfAttributesAreKeptAndOthersAreTold() {
        Used used(firstBend());
        Node leaky = used.node("leaky");
        leaky.attributes.set("alpha", 0.5);
        used.set(leaky);
        const ModuleUpdate update = used.update({secondBend()});
        QCOMPARE(used.node("leaky").attributes.number("alpha"), 0.5);
        QCOMPARE(used.node("two").attributes.number("value"), 3.0);
        QCOMPARE(joined(update.remarks),
                 QStringLiteral("module \"Bend\": slope stays 0.5; the default of Bend version 2 is 0.3\n"
                                "module \"Bend\": value of \"two\" is 3 now; it was 2"));
    }

    /// An attribute without a value in the old version takes the new default.
    void aDefaultIsNoValue() {
        ModuleOp first = firstBend();
        first.fragment.nodes[0].attributes.erase("alpha");
        Used used(first);
        const ModuleUpdate update = used.update({secondBend()});
        QCOMPARE(used.node("leaky").attributes.number("alpha"), 0.3);
        QVERIFY(joined(update.remarks).contains(QLatin1String("alpha of \"leaky\" is 0.3 now; it was 0.01")));
    }

    void lostNodesAndWiresAreTold() {
        Used used(secondBend());
        DeltaBuilder builder(used.graph, "edit");
        Node extra;
        extra.op = "Relu";
        extra.name = "extra";
        extra.lane = used.node("x").lane;
        extra.frame = used.module;
        const NodeId id = builder.addNode(extra);
        builder.connect({{used.x, 0}, {id, 0}});
        builder.connect({{used.x, 0}, {used.node("shift").id, 1}});
        used.graph.apply(builder.take());
        // A version without the input z.
        ModuleOp third = firstBend();
        third.version = 3;
        third.fragment.nodes[0].attributes.set("alpha", 0.3);
        const ModuleUpdate update = used.update({third});
        const QString told = joined(update.remarks);
        QVERIFY2(told.contains(QLatin1String("\"scale\" (Neg), \"shift\" (Add), \"extra\" (Relu) are not in "
                                             "Bend version 3")),
                 qPrintable(told));
        QCOMPARE(used.sourceOf("leaky", 0), std::string("x")); // scale is gone: x is the only source
        QCOMPARE(used.sourceOf("after", 0), std::string("twice"));
        QVERIFY(!used.graph.findByName("extra"));
    }

    void aWireWithoutAPlaceIsTold() {
        Used used(secondBend());
        DeltaBuilder builder(used.graph, "edit");
        Node other;
        other.op = "Zeros";
        other.name = "other";
        other.lane = used.node("x").lane;
        builder.connect({{builder.addNode(other), 0}, {used.node("shift").id, 1}});
        used.graph.apply(builder.take());
        ModuleOp third = firstBend();
        third.version = 3;
        const QString told = joined(used.update({third}).remarks);
        // Two sources for one input: none is chosen.
        QVERIFY2(told.contains(
                     QLatin1String("the wire from \"other\" to \"shift\" has no place in Bend version 3")),
                 qPrintable(told));
        QVERIFY(
            told.contains(QLatin1String("the wire from \"x\" to \"scale\" has no place in Bend version 3")));
        QVERIFY(used.sourceOf("leaky", 0).empty());
    }

    void allModulesAreUpdatedAtOnce() {
        Used used(firstBend(), 2);
        const ModuleUpdate update = used.update({secondBend()});
        QCOMPARE(update.modules, std::size_t(2));
        QCOMPARE(used.sourceOf("scale 2", 0), std::string("shift"));
        QCOMPARE(used.sourceOf("leaky 2", 0), std::string("scale 2"));
        QCOMPARE(used.sourceOf("after", 0), std::string("shift 2"));
    }

    void neitherCurrentNorNewerModulesChange() {
        Used used(secondBend());
        const Graph before = used.graph;
        QCOMPARE(used.update({secondBend()}).modules, std::size_t(0));
        QCOMPARE(used.update({firstBend()}).modules, std::size_t(0));
        QVERIFY(used.graph == before);
    }

    /// The nodes of a training name the nodes that they differentiate.
    void gradientsFindTheNewNodes() {
        Used used(firstBend());
        DeltaBuilder builder(used.graph, "train");
        Node gradient;
        gradient.op = "Identity";
        gradient.name = "d leaky";
        gradient.lane = used.node("x").lane;
        gradient.forward = used.node("leaky").id;
        builder.addNode(gradient);
        used.graph.apply(builder.take());
        used.update({secondBend()});
        QCOMPARE(used.node("d leaky").forward, used.node("leaky").id);
    }

    void aModuleWithABodyIsReplaced() {
        const auto make = [](std::int64_t version) {
            GraphMaker maker;
            const NodeId bound =
                maker.node("Constant", "bound", "cpu",
                           {{"value", std::int64_t(version)}, {"dtype", std::string("i64")}});
            const NodeId loop = maker.node("Loop", "loop", "cpu", {}, {bound});
            ModuleOp op;
            op.name = "Rounds";
            op.version = version;
            op.fragment = copyOf(maker.graph(), {bound, loop});
            const FrameId body = FrameId(7);
            op.fragment.frames.push_back({body, "body", FrameId::none, loop, "body"});
            Node inner;
            inner.id = NodeId(50);
            inner.op = "Iteration";
            inner.name = "round";
            inner.frame = body;
            op.fragment.nodes.push_back(inner);
            frameFragment(op);
            freeHomeLane(op);
            return op;
        };
        const ModuleOp first = make(1);
        Graph graph;
        DeltaBuilder builder(graph, "use");
        paste(builder, first.fragment, {}, builder.addLane({LaneId::none, Device::cpu(), "", 0, 300}));
        graph.apply(builder.take());
        std::vector<FrameId> all;
        for (const Frame& frame : graph.frames()) all.push_back(frame.id);
        graph.apply(updateModules(graph, all, std::vector{make(2)}).delta);
        QCOMPARE(graph.nodes().size(), std::size_t(3));
        QCOMPARE(graph.frames().size(), std::size_t(2));
        QVERIFY(std::any_of(graph.frames().begin(), graph.frames().end(), [&](const Frame& frame) {
            return frame.owner == graph.findByName("loop")->id && frame.body == "body";
        }));
        QCOMPARE(graph.findByName("bound")->attributes.integer("value"), std::int64_t(2));
    }

    void meaningIsNeitherIdsNorPlacesNorNumbersInNames() {
        const ModuleOp op = firstBend();
        ModuleOp same = op;
        same.version = 9;
        for (Node& node : same.fragment.nodes) {
            node.position.x += 50;
            node.folded = true;
            node.name += " 3";
        }
        same.fragment.frames.front().title = "mine";
        same.fragment.frames.front().color = FrameColor::green;
        QVERIFY(sameMeaning(op, same));
        // Other ids, and another order.
        const auto moved = [](NodeId id) { return NodeId(100 - value(id)); };
        for (Node& node : same.fragment.nodes) node.id = moved(node.id);
        for (Edge& edge : same.fragment.edges) {
            edge.from.node = moved(edge.from.node);
            edge.to.node = moved(edge.to.node);
        }
        for (auto* ports : {&same.inputs, &same.outputs})
            for (ModuleOp::Port& port : *ports) port.at.node = moved(port.at.node);
        for (auto& attribute : same.attributes)
            for (auto& setting : attribute.sets) setting.node = moved(setting.node);
        std::ranges::reverse(same.fragment.nodes);
        const auto indices = sameMeaning(op, same);
        QVERIFY(indices);
        QCOMPARE(*indices, (std::vector<std::size_t>{2, 1, 0}));
    }

    void eachPartOfTheMeaningCounts() {
        const ModuleOp op = firstBend();
        const auto differs = [&](const std::function<void(ModuleOp&)>& change) {
            ModuleOp other = op;
            change(other);
            return !sameMeaning(op, other) && !sameMeaning(other, op);
        };
        QVERIFY(differs([](ModuleOp& o) { o.doc = "other"; }));
        QVERIFY(differs([](ModuleOp& o) { o.inputs[0].name = "z"; }));
        QVERIFY(differs([](ModuleOp& o) { o.outputs.clear(); }));
        QVERIFY(differs([](ModuleOp& o) { o.attributes[0].name = "steepness"; }));
        QVERIFY(differs([](ModuleOp& o) { o.fragment.nodes[0].attributes.set("alpha", 0.2); }));
        QVERIFY(differs([](ModuleOp& o) { o.fragment.nodes[0].name = "other"; }));
        QVERIFY(differs([](ModuleOp& o) { o.fragment.nodes[0].disabled = true; }));
        QVERIFY(differs(
            [](ModuleOp& o) { std::swap(o.fragment.edges[0].to.port, o.fragment.edges[1].to.port); }));
        QVERIFY(differs([](ModuleOp& o) { o.fragment.nodes.pop_back(); }));
        QVERIFY(differs([](ModuleOp& o) { o.fragment.frames.front().once = true; }));
    }
};

TWB_TEST_MAIN(TestModuleVersions)
#include "test_module_versions.moc"
