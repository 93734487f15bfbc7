#include "graph/simplify.h"
#include "runtime/runs.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
using Inputs = std::vector<NodeId>;

/// A graph of f32 tensors with an Input "x", whose results are Probes.
class Model {
public:
    explicit Model(Ints shape = {2, 3, 8})
        : x(maker.node("Input", "x", "cpu", {{"shape", std::move(shape)}, {"seed", std::int64_t{7}}})) {}

    NodeId op(const std::string& op, const Inputs& inputs, Attributes attributes = {}) {
        return maker.node(op, "/block/" + op + "_" + std::to_string(m_count++), "cpu", std::move(attributes),
                          inputs);
    }
    NodeId number(double value) { return constant({value}, Ints{}); }
    NodeId constant(Numbers values, std::optional<Ints> shape = {}) {
        Attributes attributes{{"value", std::move(values)}};
        if (shape) attributes.set("shape", *shape);
        return op("Constant", {}, std::move(attributes));
    }
    NodeId integers(Ints values) {
        return op("Constant", {}, {{"value", std::move(values)}, {"dtype", std::string("i64")}});
    }
    NodeId boolean(bool value) {
        return op("Constant", {},
                  {{"value", std::int64_t{value}}, {"shape", Ints{}}, {"dtype", std::string("bool")}});
    }
    /// Numbers around 1.
    NodeId weight(std::int64_t count) {
        Numbers values;
        for (std::int64_t i = 0; i < count; ++i) values.push_back(1 + 0.1 * double(i % 5));
        return constant(values);
    }
    void probe(NodeId from, const std::string& name = "y") { maker.node("Probe", name, "cpu", {}, {from}); }
    const Graph& graph() const { return maker.graph(); }

    GraphMaker maker;
    NodeId x;

private:
    int m_count = 0;
};

int count(const Graph& graph, const std::string& op) {
    int n = 0;
    for (const Node& node : graph.nodes()) n += node.op == op;
    return n;
}

Graph simplified(const Graph& graph, const SimplifyOptions& options = {}) {
    const Simplified out = simplify(graph, options);
    Graph after = graph;
    after.apply(out.delta);
    Graph undone = after;
    undone.apply(out.delta.inverse());
    if (!(undone == graph)) qFatal("undo does not give the original graph");
    return after;
}

/// The tensors at the Probes, by their names.
std::map<std::string, Tensor> results(const Graph& graph) {
    const DeviceMap map;
    const auto plan = planOf(graph, map);
    const RunResult result = runToEnd(plan, {}, nullptr);
    if (!result.errors.empty()) qFatal("%s", result.errors[0].message.c_str());
    std::map<std::string, Tensor> out;
    for (const Node& node : graph.nodes())
        if (node.op == "Probe") out[node.name] = toHost(*result.tensor(*graph.sourceOf({node.id, 0})), map);
    return out;
}

/// A sentence about the first difference; empty if there is none.
QString difference(const Graph& before, const Graph& after, double tolerance = 1e-5) {
    const auto wanted = results(before);
    const auto got = results(after);
    if (wanted.size() != got.size()) return QStringLiteral("another number of results");
    for (const auto& [name, tensor] : wanted) {
        const auto at = got.find(name);
        if (at == got.end() || !(at->second.type() == tensor.type()))
            return QString::fromStdString(name) + " is missing or has another type";
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
            if (!(std::isnan(tensor.at(i)) && std::isnan(at->second.at(i))) &&
                !(std::abs(at->second.at(i) - tensor.at(i)) <= tolerance * (1 + std::abs(tensor.at(i)))))
                return QStringLiteral("%1[%2] is %3, not %4")
                    .arg(QString::fromStdString(name))
                    .arg(i)
                    .arg(at->second.at(i))
                    .arg(tensor.at(i));
    }
    return {};
}

struct NormSettings {
    double exponent = 2;
    double epsilon = 1e-5;
    Ints meanAxes{-1}, squareAxes{-1};
    bool keepsDims = true;
    bool isCentred = true;
    bool hasBias = true;
    bool multiplies = false; ///< squares by a product, and divides by multiplying with 1 / √
    std::int64_t weights = 8;
    std::function<void(Model&, NodeId root)> more{};
};

void addNorm(Model& m, const NormSettings& s = {}) {
    NodeId d = m.x;
    if (s.isCentred) {
        const NodeId mean = m.op("ReduceMean", {m.x}, {{"axes", s.meanAxes}, {"keepdims", s.keepsDims}});
        d = m.op("Sub", {m.x, mean});
    }
    const NodeId square = s.multiplies ? m.op("Mul", {d, d}) : m.op("Pow", {d, m.number(s.exponent)});
    const NodeId variance = m.op("ReduceMean", {square}, {{"axes", s.squareAxes}, {"keepdims", s.keepsDims}});
    const NodeId root = m.op("Sqrt", {m.op("Add", {variance, m.number(s.epsilon)})});
    NodeId y = s.multiplies ? m.op("Mul", {d, m.op("Reciprocal", {root})}) : m.op("Div", {d, root});
    y = m.op("Mul", {y, m.weight(s.weights)});
    if (s.hasBias) y = m.op("Add", {y, m.weight(s.weights)});
    if (s.more) s.more(m, root);
    m.probe(y);
}

struct AttentionSettings {
    bool isFlat = false;   ///< heads are split from, and joined to, the last axis
    bool isPeeled = false; ///< q and k are scaled, not the scores
    bool hasMask = false;
    std::int64_t axis = -1;
    std::int64_t keyBatch = 2;
    Ints maskShape{2, 1, 5, 5};
    std::function<void(Model&, NodeId scores)> more{};
};

/// x is f32 2×5×12, or 2×3×5×4 with the heads as an axis.
Model attentionModel(const AttentionSettings& s) {
    Model m(s.isFlat ? Ints{2, 5, 12} : Ints{2, 3, 5, 4});
    const auto part = [&](const char* op) {
        NodeId at = m.op(op, {m.x});
        if (!s.isFlat) return at;
        at = m.op("Reshape", {at, m.integers({2, 5, 3, 4})});
        return m.op("Transpose", {at}, {{"perm", Ints{0, 2, 1, 3}}});
    };
    NodeId q = part("Tanh");
    NodeId k = part("Sin");
    const NodeId v = part("Cos");
    if (s.keyBatch == 1) k = m.op("Slice", {k, m.integers({0}), m.integers({1}), m.integers({0})});
    k = m.op("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}});
    if (s.isPeeled) {
        q = m.op("Mul", {q, m.number(0.75)});
        k = m.op("Mul", {m.number(0.5), k});
    }
    NodeId scores = m.op("MatMul", {q, k});
    if (!s.isPeeled) scores = m.op("Div", {scores, m.number(2)});
    if (s.more) s.more(m, scores);
    if (s.hasMask) {
        std::int64_t size = 1;
        for (const std::int64_t each : s.maskShape) size *= each;
        Numbers mask;
        for (std::int64_t i = 0; i < size; ++i) mask.push_back(i % 3 == 0 ? -2 : 0.5);
        scores = m.op("Add", {m.constant(mask, s.maskShape), scores});
    }
    NodeId y = m.op("MatMul", {m.op("Softmax", {scores}, {{"axis", s.axis}}), v});
    if (s.isFlat) {
        y = m.op("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
        y = m.op("Reshape", {y, m.integers({2, 5, 12})});
    }
    m.probe(y);
    return m;
}

} // namespace

class TestSimplify : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Constants and sizes

    void constantsAreComputed() {
        Model m;
        const NodeId sum = m.op("Add", {m.number(2), m.number(3)});
        m.probe(m.op("Mul", {m.x, m.op("Sqrt", {sum})}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QCOMPARE(count(after, "Constant"), 1);
        const Node* root = after.findByName("/block/Sqrt_3");
        QVERIFY(root && root->op == "Constant" && root->folded);
        QCOMPARE(root->attributes.number("value"), double(std::sqrt(5.0F)));
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void shapeArithmeticGoes() {
        Model m; // x.reshape(x.shape[0] * x.shape[1], -1)
        const NodeId shape = m.op("Shape", {m.x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const NodeId rows = m.op("Mul", {size(0), size(1)});
        const NodeId wanted = m.op("Concat", {rows, m.integers({-1})}, {{"axis", std::int64_t{0}}});
        m.probe(m.op("Reshape", {m.x, wanted}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{3});
        for (const Node& node : after.nodes())
            if (node.op == "Reshape") QCOMPARE(node.attributes.integers("shape"), (Ints{6, -1}));
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void freeAxesStayFree() {
        Model m; // the batch is free
        const NodeId x = m.op("Relu", {m.x});
        const NodeId shape = m.op("Shape", {x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const auto reshaped = [&](const Inputs& sizes) {
            const NodeId wanted = m.op("Concat", sizes, {{"axis", std::int64_t{0}}});
            return m.op("Reshape", {x, wanted});
        };
        const NodeId swapped = reshaped({size(0), size(2), m.integers({3})});
        const NodeId split = reshaped({size(0), m.integers({3}), m.integers({2}), m.integers({-1})});
        const NodeId joined = reshaped({m.integers({24}), size(0)});
        const NodeId same = reshaped({size(0), size(1), size(2)});
        const NodeId factor = m.op("Cast", {size(0)}, {{"to", std::string("f32")}});
        m.probe(m.op("Mul", {swapped, factor}), "swapped");
        m.probe(m.op("Neg", {split}), "split");
        m.probe(m.op("Neg", {joined}), "joined");
        m.probe(m.op("Neg", {same}), "same");
        SimplifyOptions options;
        options.free = {{m.x, 0}};
        const Graph after = simplified(m.graph(), options);
        QCOMPARE(difference(m.graph(), after), QString());
        QCOMPARE(count(after, "Shape"), 1); // of the factor
        QCOMPARE(count(after, "Concat"), 0);
        const auto shapeOf = [&](NodeId reshape) {
            return after.find(reshape)->attributes.integers("shape");
        };
        QCOMPARE(shapeOf(swapped), (Ints{0, 8, 3}));
        QCOMPARE(shapeOf(split), (Ints{0, 3, 2, 4}));
        QCOMPARE(shapeOf(joined), (Ints{24, -1}));
        QVERIFY(!after.find(same));
        const auto larger = [&](Graph graph) {
            DeltaBuilder builder(graph, "batch");
            builder.setAttribute(m.x, "shape", Ints{5, 3, 8});
            graph.apply(builder.take());
            return graph;
        };
        QCOMPARE(difference(larger(m.graph()), larger(after)), QString());
        // With a fixed batch nothing of it stays.
        QCOMPARE(count(simplified(m.graph()), "Shape"), 0);
    }

    /// The size of one free axis must not be taken for that of another one.
    void freeAxesAreToldApart() {
        Model m({2, 2, 8});
        const NodeId shape = m.op("Shape", {m.x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const auto reshaped = [&](NodeId a, NodeId b, NodeId c) {
            return m.op("Reshape", {m.x, m.op("Concat", {a, b, c}, {{"axis", std::int64_t{0}}})});
        };
        const NodeId straight = reshaped(size(0), size(1), m.integers({-1}));
        const NodeId swapped = reshaped(size(1), size(0), m.integers({-1}));
        const NodeId twice = reshaped(size(0), size(0), m.integers({-1}));
        for (const auto& [name, at] :
             {std::pair{"straight", straight}, {"swapped", swapped}, {"twice", twice}})
            m.probe(m.op("Neg", {at}), name);
        SimplifyOptions options;
        options.free = {{m.x, 0}, {m.x, 1}};
        const Graph after = simplified(m.graph(), options);
        QVERIFY(!after.find(straight));
        QVERIFY(after.sourceOf({swapped, 1}) && after.sourceOf({twice, 1}));
        const auto with = [&](Graph graph, std::int64_t a, std::int64_t b) {
            DeltaBuilder builder(graph, "sizes");
            builder.setAttribute(m.x, "shape", Ints{a, b, 8});
            graph.apply(builder.take());
            return graph;
        };
        QCOMPARE(difference(with(m.graph(), 4, 8), with(after, 4, 8)), QString());
    }

    /// The first axis of pooled regions is that of the regions, not of the images.
    void regionsAreNoBatch() {
        Model m({1, 2, 4, 4});
        Numbers corners;
        for (int i = 0; i < 8; ++i) corners.insert(corners.end(), {0, 0, 2, 2});
        const NodeId rois = m.constant(corners, Ints{8, 4});
        const NodeId pooled =
            m.op("RoiAlign",
                 {m.x, rois, m.op("Constant", {}, {{"value", Ints(8, 0)}, {"dtype", std::string("i64")}})});
        const NodeId batch = m.op("Gather", {m.op("Shape", {m.x}), m.integers({0})});
        const NodeId wanted =
            m.op("Concat", {batch, m.integers({8}), m.integers({-1})}, {{"axis", std::int64_t{0}}});
        m.probe(m.op("Reshape", {pooled, wanted}));
        SimplifyOptions options;
        options.free = {{m.x, 0}};
        QCOMPARE(difference(m.graph(), simplified(m.graph(), options)), QString());
    }

    void attentionOfAFreeBatchAndLength() {
        Model m({2, 5, 12});
        const auto part = [&](const char* op) {
            const NodeId at = m.op(op, {m.x});
            const NodeId shape = m.op("Shape", {at});
            const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
            const Inputs sizes{size(0), size(1), m.integers({3}), m.integers({4})};
            const NodeId wanted = m.op("Concat", sizes, {{"axis", std::int64_t{0}}});
            return m.op("Transpose", {m.op("Reshape", {at, wanted})}, {{"perm", Ints{0, 2, 1, 3}}});
        };
        const NodeId k = m.op("Transpose", {part("Sin")}, {{"perm", Ints{0, 1, 3, 2}}});
        const NodeId scores = m.op("Div", {m.op("MatMul", {part("Tanh"), k}), m.number(2)});
        NodeId y = m.op("MatMul", {m.op("Softmax", {scores}), part("Cos")});
        y = m.op("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
        m.probe(m.op("Reshape", {y, m.integers({0, 0, 12})}));
        SimplifyOptions options;
        options.free = {{m.x, 0}, {m.x, 1}};
        const Graph after = simplified(m.graph(), options);
        QCOMPARE(after.nodes().size(), std::size_t{6});
        QCOMPARE(count(after, "Attention"), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void randomNumbersAndInputsAreNotConstants() {
        Model m;
        const NodeId noise = m.op("RandomNormal", {}, {{"shape", Ints{8}}});
        const NodeId like = m.op("RandomNormalLike", {m.weight(8)});
        m.probe(m.op("Add", {m.op("Neg", {noise}), m.x}));
        m.probe(m.op("Abs", {like}), "z");
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Neg"), 1);
        QCOMPARE(count(after, "Abs"), 1);
        QCOMPARE(count(after, "RandomNormalLike"), 1);
    }

    void resultsMayNotGrowTheProject() {
        Model m;
        const NodeId large = m.op("Expand", {m.number(1), m.integers({200, 1, 200})}); // 160 kB
        const NodeId small = m.op("Expand", {m.number(1), m.integers({20, 3, 8})});    // 1.9 kB
        m.probe(m.op("ReduceMean", {m.op("Relu", {large})}));
        m.probe(m.op("Add", {m.op("Slice", {small, m.integers({0}), m.integers({2})}), m.x}), "z");
        int held = 0;
        MemoryFiles files;
        SimplifyOptions options;
        options.files = &files;
        options.hold = [&](Node& node, const Tensor& tensor) {
            const std::string path = "held.npy" + std::to_string(++held);
            files.put(path, tensor);
            node.op = "File";
            node.attributes.set("path", path);
        };
        const Graph after = simplified(m.graph(), options);
        QCOMPARE(count(after, "Expand"), 0); // the mean of the large tensor is a small one
        QCOMPARE(held, 0);

        Model kept;
        kept.probe(kept.op("Expand", {kept.number(1), kept.integers({200, 1, 200})}));
        kept.probe(kept.op("Expand", {kept.number(1), kept.integers({20, 3, 8})}), "z");
        const Graph stays = simplified(kept.graph(), options);
        QCOMPARE(count(stays, "Expand"), 1);
        QCOMPARE(count(stays, "File"), 1);
        QCOMPARE(held, 1);
        QCOMPARE(count(simplified(kept.graph()), "Expand"), 2); // nowhere to hold them
    }

    void longComputationsAreLeftToTheRun() {
        Model m;
        const auto square = [&](std::int64_t size) {
            return m.op("Ones", {}, {{"shape", Ints{size, size}}});
        };
        const auto mean = [&](NodeId a, NodeId b) { return m.op("ReduceMean", {m.op("MatMul", {a, b})}); };
        m.probe(mean(square(1024), square(1024)), "large"); // 2 GFLOP
        m.probe(mean(square(20), square(20)), "small");
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "MatMul"), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    // Nodes that do nothing

    void nodesThatPassTheirInputOnGo() {
        Model m;
        NodeId at = m.op("Identity", {m.x});
        at = m.op("Cast", {at}, {{"to", std::string("f32")}});
        at = m.op("Reshape", {at, m.integers({2, -1, 8})});
        at = m.op("Expand", {at, m.integers({1, 3, 8})});
        at = m.op("Pad", {at, m.integers({0, 0, 0, 0, 0, 0})});
        at = m.op("Slice", {at, m.integers({0}), m.integers({100}), m.integers({1})});
        at = m.op("Transpose", {at}, {{"perm", Ints{0, 1, 2}}});
        at = m.op("Concat", {at}, {{"axis", std::int64_t{1}}});
        at = m.op("Dropout", {at, m.number(0), m.boolean(true)});
        m.probe(at);
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{2});
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void nodesThatChangeTheirInputStay_data() {
        QTest::addColumn<QString>("op");
        for (const char* op : {"Cast", "Slice", "Pad", "Transpose", "Expand", "Dropout"})
            QTest::newRow(op) << QString(op);
    }
    void nodesThatChangeTheirInputStay() {
        QFETCH(QString, op);
        Model m({3, 3});
        const std::string name = op.toStdString();
        NodeId at = NodeId::none;
        if (name == "Cast") at = m.op("Cast", {m.x}, {{"to", std::string("i32")}});
        if (name == "Slice") // backwards
            at = m.op("Slice", {m.x, m.integers({-1}), m.integers({-9}), m.integers({0}), m.integers({-1})});
        if (name == "Pad") at = m.op("Pad", {m.x, m.integers({1, 0, -1, 0})});
        if (name == "Transpose") at = m.op("Transpose", {m.x}, {{"perm", Ints{1, 0}}});
        if (name == "Dropout") at = m.op("Dropout", {m.x, m.number(0.5)}); // a training drops elements
        if (name == "Expand") at = m.op("Expand", {m.x, m.integers({2, 3, 3})});
        m.probe(at);
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, name), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void neighbouringReshapesAndTransposesBecomeOne() {
        Model m({2, 3, 4});
        NodeId at = m.op("Transpose", {m.x}, {{"perm", Ints{1, 2, 0}}});
        at = m.op("Transpose", {at}, {{"perm", Ints{0, 2, 1}}});
        at = m.op("Unsqueeze", {at, m.integers({0})});
        at = m.op("Reshape", {at, m.integers({6, 4})});
        m.probe(m.op("Reshape", {at, m.integers({4, -1})}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QCOMPARE(difference(m.graph(), after), QString());

        Model zero({2, 3, 4}); // the second Reshape copies a size of the first
        at = zero.op("Reshape", {zero.op("Relu", {zero.x}), zero.integers({6, 4})});
        zero.probe(zero.op("Reshape", {at, zero.integers({0, 2, 2})}));
        QCOMPARE(count(simplified(zero.graph()), "Reshape"), 2);
        QCOMPARE(difference(zero.graph(), simplified(zero.graph())), QString());
    }

    void deadNodesGoButResultsStay() {
        Model m;
        m.op("Neg", {m.op("Abs", {m.x})}); // read by nobody
        m.maker.node("Input", "unused");
        m.probe(m.op("Relu", {m.x}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QVERIFY(after.findByName("unused"));

        Model without; // without a Probe, the last nodes are the results
        without.op("Identity", {without.op("Abs", {without.x})});
        QVERIFY(simplify(without.graph(), {}).delta.empty());
        QVERIFY(simplify(without.graph(), {}).remarks.empty());
    }

    void breakpointsAndDisabledNodesStay() {
        Model m;
        const NodeId identity = m.op("Identity", {m.x});
        const NodeId sum = m.op("Add", {m.number(1), m.number(2)});
        m.probe(m.op("Mul", {identity, m.op("Neg", {sum})}));
        DeltaBuilder builder(m.graph(), "stop");
        Node stopped = *m.graph().find(identity);
        stopped.breakpoints = {Breakpoint{}};
        builder.change(stopped);
        Node disabled = *m.graph().find(sum);
        disabled.disabled = true;
        builder.change(disabled);
        Graph graph = m.graph();
        graph.apply(builder.take());
        QVERIFY(simplify(graph, {}).delta.empty());
    }

    void otherLanesAreKept() {
        Model m;
        const NodeId there = m.maker.node("Identity", "there", "cuda:0", {}, {m.x});
        m.probe(m.maker.node("Relu", "relu", "cuda:0", {}, {there}));
        QVERIFY(simplify(m.graph(), {}).delta.empty());
    }

    void bodiesAndTrainingsAreLeftAlone() {
        GraphMaker g;
        const NodeId condition = g.node("Input", "condition", "cpu", {{"shape", Ints{}}, {"dtype", "bool"}});
        const NodeId x = g.node("Input", "x");
        const NodeId yes = g.node("Identity", "yes", "cpu", {}, {x});
        const NodeId no = g.node("Neg", "no", "cpu", {}, {x});
        const NodeId choice = g.node("If", "choice", "cpu", {}, {condition, yes, no});
        g.body(choice, "then_branch", {yes});
        g.body(choice, "else_branch", {no});
        g.node("Probe", "y", "cpu", {}, {choice});
        QVERIFY(simplify(g.graph(), {}).delta.empty());

        Model trained;
        trained.probe(trained.op("Identity", {trained.x}));
        DeltaBuilder builder(trained.graph(), "train");
        Node backward = *trained.graph().find(trained.x);
        backward.id = NodeId::none;
        backward.forward = trained.x;
        builder.addNode(backward);
        Graph graph = trained.graph();
        graph.apply(builder.take());
        QVERIFY(simplify(graph, {}).delta.empty());
        QCOMPARE(simplify(graph, {}).remarks.size(), std::size_t{1});
    }

    void sharedConstantsAreCopied() {
        Model m;
        const NodeId shared = m.weight(8);
        const NodeId a = m.op("Mul", {m.x, shared});
        m.probe(m.op("Add", {m.op("Sub", {a, shared}), shared}));
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Constant"), 3);
        for (const Node& node : after.nodes()) {
            if (node.op != "Constant") continue;
            QCOMPARE(after.outgoing(node.id).size(), std::size_t{1});
            QVERIFY(node.folded);
            QCOMPARE(after.findByName(node.name), &node);
        }
        QCOMPARE(difference(m.graph(), after), QString());
    }

    // Composed ops

    void layerNormalization_data() {
        QTest::addColumn<NormSettings>("settings");
        QTest::addColumn<QString>("op");
        const auto row = [](const char* name, const NormSettings& settings, const char* op) {
            QTest::newRow(name) << settings << QString(op);
        };
        row("layer", {}, "LayerNormalization");
        row("products", {.multiplies = true}, "LayerNormalization");
        row("without a bias", {.hasBias = false}, "LayerNormalization");
        row("two axes", {.meanAxes = {1, 2}, .squareAxes = {-2, -1}}, "LayerNormalization");
        row("rms", {.isCentred = false, .hasBias = false}, "RMSNormalization");
        row("rms and a sum", {.isCentred = false, .multiplies = true}, "RMSNormalization");
        row("exponent 3", {.exponent = 3}, "");
        row("negative epsilon", {.epsilon = -1e-5}, "");
        row("another axis of the mean", {.meanAxes = {1}}, "RMSNormalization"); // of the differences
        row("another axis of the squares", {.squareAxes = {-2, -1}}, "RMSNormalization");
        row("an axis that is not the last", {.meanAxes = {0}, .squareAxes = {0}}, "");
        row("another consumer of the variance",
            {.more = [](Model& m, NodeId root) { m.probe(root, "deviation"); }}, "");
    }
    void layerNormalization() {
        QFETCH(NormSettings, settings);
        QFETCH(QString, op);
        Model m;
        addNorm(m, settings);
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "LayerNormalization"), op == "LayerNormalization" ? 1 : 0);
        QCOMPARE(count(after, "RMSNormalization"), op == "RMSNormalization" ? 1 : 0);
        QCOMPARE(count(after, "Sqrt"), op.isEmpty() ? 1 : 0);
        if (settings.epsilon > 0) QCOMPARE(difference(m.graph(), after), QString());
        if (op != "LayerNormalization") return;
        for (const Node& node : after.nodes())
            if (node.op == "LayerNormalization")
                QVERIFY2(node.name.starts_with("/block/LayerNormalization"), node.name.c_str());
    }

    void aTensorOfTheSameShapeIsNoBias() {
        Model m;
        const NodeId other = m.op("Sin", {m.x});
        addNorm(m, {.hasBias = false});
        Graph graph = m.graph();
        DeltaBuilder builder(graph, "residual");
        const NodeId probe = graph.findByName("y")->id;
        const PortRef normed = *graph.sourceOf({probe, 0});
        Node sum = *graph.find(other);
        sum.op = "Add";
        sum.name = "residual";
        const NodeId added = builder.addNode(sum);
        builder.connect({normed, {added, 0}});
        builder.connect({{other, 0}, {added, 1}});
        builder.connect({{added, 0}, {probe, 0}});
        graph.apply(builder.take());
        const Graph after = simplified(graph);
        QCOMPARE(count(after, "LayerNormalization"), 1);
        QCOMPARE(count(after, "Add"), 1);
        QCOMPARE(difference(graph, after), QString());
    }

    void gelu_data() {
        QTest::addColumn<QString>("form");
        QTest::addColumn<bool>("isGelu");
        for (const char* form : {"half last", "half first", "half of x", "times", "tanh", "tanh of products"})
            QTest::newRow(form) << QString(form) << true;
        for (const char* form :
             {"sqrt 3", "0.51", "plus 2", "other x", "tanh 0.045", "tanh x^2", "read twice"})
            QTest::newRow(form) << QString(form) << false;
    }
    void gelu() {
        QFETCH(QString, form);
        QFETCH(bool, isGelu);
        Model m;
        const NodeId x = m.op("Sin", {m.x});
        NodeId inner = NodeId::none;
        if (form.startsWith("tanh")) {
            const NodeId square = m.op("Mul", {x, x});
            const double power = form == "tanh x^2" ? 2 : 3;
            const NodeId cube =
                form == "tanh of products" ? m.op("Mul", {x, square}) : m.op("Pow", {x, m.number(power)});
            const NodeId cubic = m.op("Mul", {m.number(form == "tanh 0.045" ? 0.045 : 0.044715), cube});
            inner = m.op("Tanh", {m.op("Mul", {m.op("Add", {x, cubic}), m.number(0.7978845608028654)})});
        } else if (form == "times") {
            inner = m.op("Erf", {m.op("Mul", {m.number(0.7071067811865475), x})});
        } else {
            inner =
                m.op("Erf", {m.op("Div", {x, m.number(form == "sqrt 3" ? 1.7320508 : 1.4142135381698608)})});
        }
        const NodeId sum = m.op("Add", {inner, m.number(form == "plus 2" ? 2 : 1)});
        const NodeId half = m.number(form == "0.51" ? 0.51 : 0.5);
        const NodeId factor = form == "other x" ? m.op("Cos", {m.x}) : x;
        NodeId y = NodeId::none;
        if (form == "half first")
            y = m.op("Mul", {m.op("Mul", {half, sum}), factor});
        else if (form == "half of x")
            y = m.op("Mul", {m.op("Mul", {factor, half}), sum});
        else
            y = m.op("Mul", {m.op("Mul", {factor, sum}), half});
        if (form == "read twice") m.probe(sum, "sum");
        m.probe(y);
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Gelu"), isGelu ? 1 : 0);
        if (isGelu) QCOMPARE(after.nodes().size(), std::size_t{4});
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void swish_data() {
        QTest::addColumn<int>("form");
        QTest::addColumn<bool>("isSwish");
        QTest::newRow("x sigmoid(x)") << 0 << true;
        QTest::newRow("sigmoid(1.702 x) x") << 1 << true;
        QTest::newRow("another tensor") << 2 << false;
        QTest::newRow("another consumer") << 3 << false;
    }
    void swish() {
        QFETCH(int, form);
        QFETCH(bool, isSwish);
        Model m;
        const NodeId x = m.op("Sin", {m.x});
        const NodeId argument = form == 1 ? m.op("Mul", {m.number(1.702), x}) : x;
        const NodeId sigmoid = m.op("Sigmoid", {argument});
        m.probe(m.op("Mul", {form == 2 ? m.op("Cos", {m.x}) : x, sigmoid}));
        if (form == 3) m.probe(sigmoid, "gate");
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Swish"), isSwish ? 1 : 0);
        QCOMPARE(count(after, "Sigmoid"), isSwish ? 0 : 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void attention_data() {
        QTest::addColumn<AttentionSettings>("settings");
        QTest::addColumn<bool>("isAttention");
        const auto row = [](const char* name, const AttentionSettings& settings, bool isAttention) {
            QTest::newRow(name) << settings << isAttention;
        };
        row("four axes", {}, true);
        row("three axes", {.isFlat = true}, true);
        row("q and k are scaled", {.isPeeled = true}, true);
        row("three axes, scaled", {.isFlat = true, .isPeeled = true}, true);
        row("a mask", {.hasMask = true}, true);
        row("three axes and a mask", {.isFlat = true, .hasMask = true, .maskShape = {5, 5}}, true);
        row("a mask of the keys", {.hasMask = true, .maskShape = {1, 1, 1, 5}}, true);
        row("a mask of the queries", {.hasMask = true, .maskShape = {1, 1, 5, 1}}, false);
        row("softmax over the queries", {.axis = -2}, false);
        row("keys for all batches", {.keyBatch = 1}, false);
        row("another consumer of the scores",
            {.more = [](Model& m, NodeId scores) { m.probe(scores, "scores"); }}, false);
    }
    void attention() {
        QFETCH(AttentionSettings, settings);
        QFETCH(bool, isAttention);
        const Model m = attentionModel(settings);
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Attention"), isAttention ? 1 : 0);
        QCOMPARE(count(after, "Softmax"), isAttention ? 0 : 1);
        if (isAttention) QCOMPARE(count(after, "Reshape") + count(after, "Transpose"), 0);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void attentionOfThreeAxes() {
        Model m({6, 5, 4}); // batch and heads in one axis
        const NodeId k = m.op("Transpose", {m.op("Sin", {m.x})}, {{"perm", Ints{0, 2, 1}}});
        const NodeId scores = m.op("Mul", {m.op("MatMul", {m.op("Tanh", {m.x}), k}), m.number(0.5)});
        m.probe(m.op("MatMul", {m.op("Softmax", {scores}, {{"axis", std::int64_t{2}}}), m.op("Cos", {m.x})}));
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Attention"), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void slicesBecomeASplit_data() {
        QTest::addColumn<Ints>("starts");
        QTest::addColumn<Ints>("ends");
        QTest::addColumn<std::int64_t>("step");
        QTest::addColumn<bool>("isSplit");
        const auto row = [](const char* name, const Ints& starts, const Ints& ends, std::int64_t step,
                            bool isSplit) { QTest::newRow(name) << starts << ends << step << isSplit; };
        row("parts", {0, 3, 5}, {3, 5, 8}, 1, true);
        row("in another order, from the end", {-3, 0, 3}, {1000, 3, -3}, 1, true);
        row("a gap", {0, 4, 5}, {3, 5, 8}, 1, false);
        row("an overlap", {0, 2, 5}, {3, 5, 8}, 1, false);
        row("without the end", {0, 3, 5}, {3, 5, 7}, 1, false);
        row("every second element", {0, 3, 5}, {3, 5, 8}, 2, false);
    }
    void slicesBecomeASplit() {
        QFETCH(Ints, starts);
        QFETCH(Ints, ends);
        QFETCH(std::int64_t, step);
        QFETCH(bool, isSplit);
        Model m;
        const NodeId x = m.op("Tanh", {m.x});
        for (std::size_t i = 0; i < starts.size(); ++i)
            m.probe(m.op("Slice", {x, m.integers({starts[i]}), m.integers({ends[i]}), m.integers({-1}),
                                   m.integers({step})}),
                    "part" + std::to_string(i));
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Split"), isSplit ? 1 : 0);
        QCOMPARE(count(after, "Slice"), isSplit ? 0 : 3);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void itIsSimpleAfterwards() {
        for (const bool isFlat : {false, true}) {
            const Model m = attentionModel({.isFlat = isFlat});
            QVERIFY(simplify(simplified(m.graph()), {}).delta.empty());
        }
    }
};

TWB_TEST_MAIN(TestSimplify)
#include "test_simplify.moc"
