#include "core/error.h"
#include "graph/card_size.h"
#include "graph/module_levels.h"
#include "graph/module_tree.h"
#include "graph/repeated_modules.h"
#include "support/test_main.h"

using namespace twb;

namespace {

std::optional<TensorType> typeOf(const Node& node) {
    const AttributeValue* shape = node.attributes.find("shape");
    if (!shape) return std::nullopt;
    return TensorType{DType::f32, Shape(std::get<std::vector<std::int64_t>>(*shape))};
}

/// A chain of blocks between an Input and a Relu. Each block is a module of a MatMul with a folded weight and
/// of an inner module of two Relus.
struct Blocks {
    Graph graph;
    LaneId lane{};
    NodeId input{}, last{};
    std::vector<FrameId> blocks;
    std::vector<NodeId> products;

    explicit Blocks(int count, int odd = -1) {
        DeltaBuilder builder(graph, "make");
        lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        const auto add = [&](const std::string& op, FrameId frame, std::optional<NodeId> from) {
            Node node;
            node.op = op;
            node.name = op;
            node.lane = lane;
            node.frame = frame;
            node.folded = op == "Zeros";
            if (op == "Zeros") node.attributes.set("shape", std::vector<std::int64_t>{4, 4});
            const NodeId id = builder.addNode(node);
            if (from) builder.connect({{*from, 0}, {id, 0}});
            return id;
        };
        input = last = add("Input", FrameId::none, std::nullopt);
        for (int i = 0; i < count; ++i) {
            Frame frame;
            frame.title = "block." + std::to_string(i);
            blocks.push_back(builder.addFrame(frame));
            Frame inner;
            inner.title = "inner";
            inner.parent = blocks.back();
            const FrameId in = builder.addFrame(inner);
            const NodeId product = add("MatMul", blocks.back(), last);
            products.push_back(product);
            builder.connect({{add("Zeros", blocks.back(), std::nullopt), 0}, {product, 1}});
            last = add(i == odd ? "Tanh" : "Relu", in, add("Relu", in, product));
        }
        last = add("Relu", FrameId::none, last);
        graph.apply(builder.take());
    }

    int repeats(FrameId module) const {
        return repeatsIn(graph, module, ModuleTree(graph).allNodesIn(module), typeOf);
    }
    void arrangeHere() { graph.apply(arrangeAll(graph).delta); }
    double x(NodeId id) const { return graph.find(id)->position.x; }
};

} // namespace

class TestModuleLevels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void modulesOpenLevelByLevel() {
        Blocks b(4);
        QCOMPARE(moduleLevels(b.graph), 2);
        QCOMPARE(openLevels(b.graph), 2);
        const Graph before = b.graph;
        const Delta closed = openLevelsTo(b.graph, 0).delta;
        b.graph.apply(closed);
        QCOMPARE(openLevels(b.graph), 0);
        for (const Frame& frame : b.graph.frames())
            QVERIFY(frame.collapsed); // opened ones show closed ones inside
        const double narrow = b.x(b.last) - b.x(b.input);
        QVERIFY(narrow < 6.5 * card::maxWidth);
        Graph undone = b.graph;
        undone.apply(closed.inverse());
        QVERIFY(undone == before);
        b.graph.apply(openLevelsTo(b.graph, 1).delta);
        QCOMPARE(openLevels(b.graph), 1);
        QVERIFY(!b.graph.find(b.blocks[0])->collapsed);
        QCOMPARE(openLevels(b.graph, b.blocks[0]), 0); // its inner module is collapsed
    }

    void onlyTheOpenModuleChanges() {
        Blocks b(4);
        b.graph.apply(openLevelsTo(b.graph, 0).delta);
        const Delta delta = openLevelsTo(b.graph, 1, b.blocks[1]).delta;
        QCOMPARE(delta.frames.size(), std::size_t{1});
        QCOMPARE(delta.frames[0].after->parent, b.blocks[1]);
        for (const auto& change : delta.nodes) {
            FrameId frame = change.after->frame;
            if (frame != b.blocks[1]) frame = b.graph.find(frame)->parent;
            QCOMPARE(frame, b.blocks[1]);
        }
    }

    void anArrangedModuleStaysWhereItIs() {
        Blocks b(4);
        b.graph.apply(openLevelsTo(b.graph, 0).delta);
        const Position corner = b.graph.find(b.products[1])->position; // of the card
        QVERIFY(corner.x > 300);
        b.graph.apply(openLevelsTo(b.graph, 1, b.blocks[1]).delta);
        QCOMPARE(b.x(b.products[1]), corner.x);
        b.graph.apply(arrangeAll(b.graph, b.blocks[1]).delta);
        QCOMPARE(b.x(b.products[1]), corner.x);
    }

    /// The bodies of an op are never collapsed, so they are no level.
    void bodiesAreNoLevel() {
        Blocks b(2);
        DeltaBuilder builder(b.graph, "own");
        for (const Frame& frame : b.graph.frames()) {
            if (frame.parent == FrameId::none) continue;
            Frame body = frame;
            body.owner = b.products[0];
            builder.change(body);
        }
        b.graph.apply(builder.take());
        QCOMPARE(moduleLevels(b.graph), 1);
        b.graph.apply(openLevelsTo(b.graph, openLevels(b.graph) - 1).delta);
        QCOMPARE(openLevels(b.graph), 0);
    }

    void aGraphThatFitsStaysOpen() {
        Blocks small(1);
        DeltaBuilder builder(small.graph, "shorten");
        for (const NodeId id : {small.input, small.last}) builder.removeNode(id);
        small.graph.apply(builder.take());
        small.graph.apply(openLevelsThatFit(small.graph));
        QCOMPARE(openLevels(small.graph), 2);
        Blocks large(40);
        large.graph.apply(openLevelsThatFit(large.graph));
        QCOMPARE(openLevels(large.graph), 0);
    }

    /// Modules stay collapsed if enough cards with all their texts fit, else they open as far as names are
    /// readable.
    void textsOfManyCardsComeBeforeNamesOfDeeperModules() {
        Blocks many(7);
        many.graph.apply(openLevelsThatFit(many.graph));
        QCOMPARE(openLevels(many.graph), 0);
        Blocks few(4);
        few.graph.apply(openLevelsThatFit(few.graph));
        QCOMPARE(openLevels(few.graph), 1);
    }

    void anExpandedModuleMakesRoom() {
        Blocks b(2); // the cards are in one row
        b.graph.apply(openLevelsTo(b.graph, 0).delta);
        const double before = b.x(b.input);
        const double next = b.x(b.products[1]);
        const Delta delta = expandModule(b.graph, b.blocks[0]);
        b.graph.apply(delta);
        QVERIFY(!b.graph.find(b.blocks[0])->collapsed);
        double right = 0; // of the content: the product, and the collapsed module beside it
        for (const NodeId id : ModuleTree(b.graph).allNodesIn(b.blocks[0]))
            if (!b.graph.find(id)->folded) right = std::max(right, b.x(id));
        QVERIFY2(b.x(b.products[1]) > right, qPrintable(QString::number(b.x(b.products[1]) - right)));
        QVERIFY(b.x(b.products[1]) > next);
        QVERIFY(b.x(b.last) > b.x(b.products[1]));
        QCOMPARE(b.x(b.input), before);
        // Expanded once more, it has its room already.
        Frame again = *b.graph.find(b.blocks[0]);
        DeltaBuilder collapse(b.graph, "collapse");
        again.collapsed = true;
        collapse.change(again);
        b.graph.apply(collapse.take());
        QVERIFY(expandModule(b.graph, b.blocks[0]).nodes.empty());
    }

    void equalModulesInARowAreStacked() {
        Blocks b(5);
        const Graph before = b.graph;
        const Delta delta = stackRepeats(b.graph, typeOf);
        b.graph.apply(delta);
        QCOMPARE(b.graph.frames().size(), before.frames().size() + 1);
        const FrameId stack = b.graph.find(b.blocks[0])->parent;
        QCOMPARE(QString::fromStdString(b.graph.find(stack)->title), QStringLiteral("block.0–4"));
        for (const FrameId block : b.blocks) QCOMPARE(b.graph.find(block)->parent, stack);
        QCOMPARE(b.repeats(stack), 5);
        QCOMPARE(b.repeats(b.blocks[0]), 0);
        QVERIFY(stackRepeats(b.graph, typeOf).empty()); // they are all of their parent
    }

    /// Two chains that meet: no module is in two stacks.
    void chainsThatMeetAreStackedOnce() {
        Blocks b(4);
        DeltaBuilder builder(b.graph, "meet"); // block 0 and block 1 both lead to block 2
        builder.connect({{b.input, 0}, {b.products[1], 0}});
        Node sum;
        sum.op = "Add";
        sum.lane = b.lane;
        const NodeId add = builder.addNode(sum);
        const auto out = [&](std::size_t block) {
            return ModuleTree(b.graph).allNodesIn(b.blocks[block]).back();
        };
        builder.connect({{out(1), 0}, {add, 0}});
        builder.connect({{out(0), 0}, {add, 1}});
        builder.connect({{out(0), 0}, {b.products[2], 0}});
        builder.connect({{out(1), 0}, {b.products[2], 1}});
        b.graph.apply(builder.take());
        b.graph.apply(stackRepeats(b.graph, typeOf)); // applies: each frame changes once
        for (const FrameId block : b.blocks) QVERIFY(b.graph.find(block));
    }

    void unequalModulesAreNotStacked() {
        Blocks differs(5, 2); // neither side of the odd one has three
        QVERIFY(stackRepeats(differs.graph, typeOf).empty());
        Blocks late(5, 4);
        late.graph.apply(stackRepeats(late.graph, typeOf));
        QCOMPARE(late.graph.find(late.blocks[4])->parent, FrameId::none);
        QVERIFY(late.graph.find(late.blocks[3])->parent != FrameId::none);

        // A parameter of another shape, and a constant of another value.
        Blocks b(4);
        b.graph.apply(stackRepeats(b.graph, typeOf));
        const FrameId stack = b.graph.find(b.blocks[0])->parent;
        QCOMPARE(b.repeats(stack), 4);
        const NodeId weight = b.graph.sourceOf({b.products[1], 1})->node;
        DeltaBuilder builder(b.graph, "widen");
        builder.setAttribute(weight, "shape", std::vector<std::int64_t>{4, 8});
        b.graph.apply(builder.take());
        QCOMPARE(b.repeats(stack), 0);
    }

    /// 3,000 nodes in 100 modules, on one lane: more than are laid out at once.
    void aLargeGraphIsArrangedModuleByModule() {
        Blocks b(600);
        b.arrangeHere();
        std::vector<std::pair<Position, CardSize>> cards;
        for (const Node& node : b.graph.nodes())
            if (!node.folded) cards.push_back({node.position, cardSizeOf(b.graph, node)});
        std::sort(cards.begin(), cards.end(),
                  [](const auto& a, const auto& c) { return a.first.x < c.first.x; });
        for (std::size_t i = 0; i < cards.size(); ++i)
            for (std::size_t j = i + 1; j < cards.size(); ++j) {
                const auto& [a, size] = cards[i];
                const auto& [c, other] = cards[j];
                if (c.x >= a.x + size.width) break;
                QVERIFY(c.y >= a.y + size.height || a.y >= c.y + other.height);
            }
        const double width = cards.back().first.x - cards.front().first.x;
        double height = 0;
        for (const auto& [at, size] : cards) height = std::max(height, at.y);
        QVERIFY2(width < 5 * height, qPrintable(QStringLiteral("%1 x %2").arg(width).arg(height)));
    }

    void aLayoutCanBeCancelled() {
        const Blocks b(600);
        int asked = 0;
        QVERIFY_EXCEPTION_THROWN(arrangeAll(b.graph, FrameId::none, [&] { return ++asked == 20; }), Error);
        QCOMPARE(asked, 20);
    }
};

TWB_TEST_MAIN(TestModuleLevels)
#include "test_module_levels.moc"
