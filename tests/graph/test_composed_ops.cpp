#include "graph/simplify_models.h"
#include "support/test_main.h"

#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

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

/// simplify() replaces the nodes into which exporters take one op apart by that op.
class TestComposedOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
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

    void linearLayersBecomeGemm_data() {
        QTest::addColumn<Ints>("x");
        QTest::addColumn<Ints>("weight");
        QTest::addColumn<Ints>("bias");
        QTest::addColumn<bool>("isLayer");
        const auto row = [](const char* name, const Ints& x, const Ints& weight, const Ints& bias,
                            bool isLayer) { QTest::newRow(name) << x << weight << bias << isLayer; };
        row("matrix", {3, 8}, {8, 4}, {4}, true);
        row("batches", {2, 5, 3, 8}, {8, 4}, {1, 4}, true);
        row("vector", {8}, {8, 4}, {4}, false);
        row("one number for all columns", {2, 3, 8}, {8, 4}, {1}, false);
        row("a number for each row", {2, 3, 8}, {8, 4}, {3, 1}, false);
        row("a bias for each matrix", {2, 3, 8}, {8, 4}, {2, 1, 4}, false);
        row("a weight for each matrix", {2, 3, 8}, {2, 8, 4}, {4}, false);
        row("more axes in the bias", {3, 8}, {8, 4}, {1, 1, 4}, false);
    }
    void linearLayersBecomeGemm() {
        QFETCH(Ints, x);
        QFETCH(Ints, weight);
        QFETCH(Ints, bias);
        QFETCH(bool, isLayer);
        for (const bool biasIsFirst : {false, true}) {
            Model m(x);
            const auto random = [&](const Ints& shape) {
                return m.op("RandomNormal", {}, {{"shape", shape}, {"seed", std::int64_t{3}}});
            };
            const NodeId product = m.op("MatMul", {m.x, random(weight)});
            const NodeId row = random(bias);
            m.probe(biasIsFirst ? m.op("Add", {row, product}) : m.op("Add", {product, row}));
            const Graph after = simplified(m.graph());
            QCOMPARE(count(after, "Gemm"), isLayer ? 1 : 0);
            QCOMPARE(count(after, "Add"), isLayer ? 0 : 1);
            QCOMPARE(difference(m.graph(), after), QString());
        }
    }

    void aProductThatIsAddedToItselfStays() {
        Model m({1, 8});
        const NodeId product = m.op("MatMul", {m.x, m.op("RandomNormal", {}, {{"shape", Ints{8, 4}}})});
        m.probe(m.op("Add", {product, product}));
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Gemm"), 0);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void aProductThatIsReadTwiceStays() {
        Model m({2, 3, 8});
        const NodeId weight = m.op("RandomNormal", {}, {{"shape", Ints{8, 4}}});
        const NodeId product = m.op("MatMul", {m.x, weight});
        m.probe(m.op("Add", {product, m.weight(4)}));
        m.probe(product, "product");
        QCOMPARE(count(simplified(m.graph()), "Gemm"), 0);
    }

    void itIsSimpleAfterwards() {
        for (const bool isFlat : {false, true}) {
            const Model m = attentionModel({.isFlat = isFlat});
            QVERIFY(simplify(simplified(m.graph()), {}).delta.empty());
        }
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
};

TWB_TEST_MAIN(TestComposedOps)
#include "test_composed_ops.moc"
