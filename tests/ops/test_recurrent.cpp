#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// ONNX's equations for one launch, one unit and one step at a time.
struct Layer {
    std::string op;
    std::int64_t length = 1, batch = 1, input = 1, hidden = 1, directions = 1;
    bool reverse = false, batchFirst = false, linearBeforeReset = false, coupled = false;
    double clip = 0;
    Numbers x, w, r, b, h0, c0, p;
    std::vector<std::int64_t> lengths;

    std::int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
    double bounded(double v) const { return clip > 0 ? std::clamp(v, -clip, clip) : v; }
    double f(double v) const { return op == "RNN" ? std::tanh(bounded(v)) : sigmoid(bounded(v)); }
    double g(double v) const { return std::tanh(bounded(v)); }

    Numbers y, yh, yc;

    void run() {
        y.assign(at(length * directions * batch * hidden), 0);
        yh.assign(at(directions * batch * hidden), 0);
        yc = yh;
        for (std::int64_t d = 0; d < directions; ++d)
            for (std::int64_t n = 0; n < batch; ++n) sequence(d, n);
    }

    std::size_t state(std::int64_t d, std::int64_t n, std::int64_t k) const {
        return at((batchFirst ? n * directions + d : d * batch + n) * hidden + k);
    }
    std::size_t result(std::int64_t t, std::int64_t d, std::int64_t n, std::int64_t k) const {
        return at(
            (batchFirst ? (n * length + t) * directions + d : (t * directions + d) * batch + n) * hidden + k);
    }

    void sequence(std::int64_t d, std::int64_t n) {
        Numbers h(at(hidden));
        Numbers c(at(hidden));
        for (std::int64_t k = 0; k < hidden; ++k) {
            if (!h0.empty()) h[at(k)] = h0[state(d, n, k)];
            if (!c0.empty()) c[at(k)] = c0[state(d, n, k)];
        }
        const std::int64_t steps = lengths.empty() ? length : lengths[at(n)];
        for (std::int64_t s = 0; s < steps; ++s) {
            const std::int64_t t = reverse || d == 1 ? steps - 1 - s : s;
            step(d, n, t, h, c);
            for (std::int64_t k = 0; k < hidden; ++k) y[result(t, d, n, k)] = h[at(k)];
        }
        for (std::int64_t k = 0; k < hidden; ++k) {
            yh[state(d, n, k)] = h[at(k)];
            yc[state(d, n, k)] = c[at(k)];
        }
    }

    void step(std::int64_t d, std::int64_t n, std::int64_t t, Numbers& h, Numbers& c) {
        const std::int64_t G = gates();
        const auto fromInput = [&](std::int64_t gate, std::int64_t k) {
            double sum = b.empty() ? 0 : b[at(d * 2 * G * hidden + gate * hidden + k)];
            const std::int64_t row = batchFirst ? n * length + t : t * batch + n;
            for (std::int64_t i = 0; i < input; ++i)
                sum += x[at(row * input + i)] * w[at(((d * G + gate) * hidden + k) * input + i)];
            return sum;
        };
        const auto fromState = [&](std::int64_t gate, std::int64_t k, const Numbers& from) {
            double sum = b.empty() ? 0 : b[at(d * 2 * G * hidden + (G + gate) * hidden + k)];
            for (std::int64_t i = 0; i < hidden; ++i)
                sum += from[at(i)] * r[at(((d * G + gate) * hidden + k) * hidden + i)];
            return sum;
        };
        Numbers next(at(hidden));
        if (op == "RNN") {
            for (std::int64_t k = 0; k < hidden; ++k) next[at(k)] = f(fromInput(0, k) + fromState(0, k, h));
        } else if (op == "GRU") {
            Numbers reset(at(hidden));
            Numbers resetH(at(hidden));
            for (std::int64_t k = 0; k < hidden; ++k) {
                reset[at(k)] = f(fromInput(1, k) + fromState(1, k, h));
                resetH[at(k)] = reset[at(k)] * h[at(k)];
            }
            for (std::int64_t k = 0; k < hidden; ++k) {
                const double z = f(fromInput(0, k) + fromState(0, k, h));
                const double part =
                    linearBeforeReset ? reset[at(k)] * fromState(2, k, h) : fromState(2, k, resetH);
                next[at(k)] = (1 - z) * g(fromInput(2, k) + part) + z * h[at(k)];
            }
        } else {
            const auto peep = [&](std::int64_t which, std::int64_t k, double cell) {
                return p.empty() ? 0 : p[at((d * 3 + which) * hidden + k)] * cell;
            };
            for (std::int64_t k = 0; k < hidden; ++k) {
                const double before = c[at(k)];
                const double i = f(fromInput(0, k) + fromState(0, k, h) + peep(0, k, before));
                const double forget =
                    coupled ? 1 - i : f(fromInput(2, k) + fromState(2, k, h) + peep(2, k, before));
                c[at(k)] = forget * before + i * g(fromInput(3, k) + fromState(3, k, h));
                const double o = f(fromInput(1, k) + fromState(1, k, h) + peep(1, k, c[at(k)]));
                next[at(k)] = o * g(c[at(k)]);
            }
        }
        h = next;
    }
};

} // namespace

class TestRecurrent : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void layers_data();
    void layers();
    void activations();
    void badLengths();
    void empty();
    void refuses();
};

void TestRecurrent::layers_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("dtype");
    QTest::addColumn<bool>("large");
    for (const char* op : {"RNN", "GRU", "LSTM"}) {
        for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
            QTest::addRow("%s %s", op, std::string(name(dtype)).c_str())
                << QString(op) << static_cast<int>(dtype) << false;
        // Packed products are used for these sizes.
        QTest::addRow("%s large", op) << QString(op) << static_cast<int>(DType::f32) << true;
    }
}

void TestRecurrent::layers() {
    QFETCH(QString, op);
    QFETCH(int, dtype);
    QFETCH(bool, large);
    const auto type = static_cast<DType>(dtype);
    Dice dice(81);
    for (int round = 0; round < (large ? 8 : 60); ++round) {
        Layer l;
        l.op = op.toStdString();
        l.length = dice.integer(1, 5);
        l.batch = dice.integer(1, 3);
        l.input = dice.integer(1, 4);
        l.hidden = dice.integer(1, 5);
        if (large) {
            l.batch += 8;
            l.input += 60;
            l.hidden += 130; // enough for two threads
        }
        const std::int64_t direction = dice.integer(0, 2);
        l.directions = direction == 2 ? 2 : 1;
        l.reverse = direction == 1;
        l.batchFirst = dice.one(2);
        l.linearBeforeReset = l.op == "GRU" && dice.one(2);
        l.coupled = l.op == "LSTM" && dice.one(3);
        l.clip = dice.one(3) ? 0.5 : 0;
        const std::int64_t G = l.gates();
        const std::int64_t H = l.hidden;
        const std::int64_t D = l.directions;
        const auto some = [&](const Shape& shape, Numbers& values) {
            const double bound = large ? 0.1 : 1; // larger weights make long sums chaotic
            const Tensor tensor = dice.tensor(type, shape, -bound, bound);
            values = valuesOf(tensor);
            return inLayout(tensor, dice.layout());
        };
        const Shape state = l.batchFirst ? Shape{l.batch, D, H} : Shape{D, l.batch, H};
        std::vector<Tensor> inputs{
            some(l.batchFirst ? Shape{l.batch, l.length, l.input} : Shape{l.length, l.batch, l.input}, l.x),
            some({D, G * H, l.input}, l.w), some({D, G * H, H}, l.r)};
        inputs.push_back(dice.one(2) ? some({D, 2 * G * H}, l.b) : Tensor{});
        inputs.emplace_back();
        if (dice.one(2)) {
            Numbers lengths;
            for (std::int64_t n = 0; n < l.batch; ++n) {
                l.lengths.push_back(dice.integer(0, l.length));
                lengths.push_back(static_cast<double>(l.lengths.back()));
            }
            inputs.back() = tensorOf(DType::i32, {l.batch}, lengths);
        }
        inputs.push_back(dice.one(2) ? some(state, l.h0) : Tensor{});
        if (l.op == "LSTM") {
            inputs.push_back(dice.one(2) ? some(state, l.c0) : Tensor{});
            inputs.push_back(dice.one(2) ? some({D, 3 * H}, l.p) : Tensor{});
        }
        Attributes attributes{{"hidden_size", H}, {"layout", std::int64_t{l.batchFirst ? 1 : 0}}};
        attributes.set("direction", std::string(direction == 0   ? "forward"
                                                : direction == 1 ? "reverse"
                                                                 : "bidirectional"));
        if (l.clip > 0) attributes.set("clip", l.clip);
        if (l.op == "GRU") attributes.set("linear_before_reset", l.linearBeforeReset);
        if (l.op == "LSTM") attributes.set("input_forget", l.coupled);
        l.run();
        const auto outputs = runOp(l.op, attributes, inputs);
        const Tolerance tolerance{1e-5, 1e-5};
        const Shape whole = l.batchFirst ? Shape{l.batch, l.length, D, H} : Shape{l.length, D, l.batch, H};
        QString wrong = difference(outputs[0], whole, l.y, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("Y: " + wrong));
        wrong = difference(outputs[1], state, l.yh, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("Y_h: " + wrong));
        if (l.op == "LSTM") wrong = difference(outputs[2], state, l.yc, tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable("Y_c: " + wrong));
        if (!large) continue;
        // Constant weights stay packed from one launch to the next.
        const Op& recurrent = *findOp(l.op);
        StepMemory memory{nullptr, 0b110};
        std::vector<TensorView> views;
        for (const Tensor& input : inputs) views.push_back(input ? input.view() : TensorView{});
        std::vector<Tensor> again;
        std::vector<TensorView> targets;
        for (const Tensor& output : outputs) {
            again.push_back(Tensor::onHost(output.type()));
            targets.push_back(again.back().view());
        }
        for (int launch = 0; launch < 2; ++launch) {
            recurrent.kernel({views, targets, completeAttributes(recurrent, attributes), nullptr, &memory});
            QVERIFY(memory.state);
            for (std::size_t i = 0; i < again.size(); ++i)
                QCOMPARE(difference(again[i], outputs[i].shape(), valuesOf(outputs[i]), tolerance),
                         QString());
        }
    }
}

/// Tests each activation's formula with an RNN whose weights are 1.
void TestRecurrent::activations() {
    const auto run = [](const char* name, const Numbers& alpha, const Numbers& beta, double x) {
        Attributes attributes{{"activations", Texts{name}}};
        if (!alpha.empty()) attributes.set("activation_alpha", alpha);
        if (!beta.empty()) attributes.set("activation_beta", beta);
        return runOp("RNN", attributes,
                     {tensorOf(DType::f64, {1, 1, 1}, {x}), tensorOf(DType::f64, {1, 1, 1}, {1}),
                      tensorOf(DType::f64, {1, 1, 1}, {0})})[1]
            .at(0);
    };
    for (double x : {-3.0, -0.25, 0.0, 0.75, 40.0}) {
        const std::vector<std::pair<double, double>> pairs{
            {run("Relu", {}, {}, x), std::max(x, 0.0)},
            {run("tanh", {}, {}, x), std::tanh(x)},
            {run("SIGMOID", {}, {}, x), sigmoid(x)},
            {run("Affine", {2}, {3}, x), 2 * x + 3},
            {run("LeakyRelu", {}, {}, x), x < 0 ? 0.01 * x : x},
            {run("LeakyRelu", {0.5}, {}, x), x < 0 ? 0.5 * x : x},
            {run("ThresholdedRelu", {0.5}, {}, x), x > 0.5 ? x : 0},
            {run("ScaledTanh", {2}, {0.5}, x), 2 * std::tanh(0.5 * x)},
            {run("HardSigmoid", {}, {}, x), std::clamp(0.2 * x + 0.5, 0.0, 1.0)},
            {run("Elu", {}, {}, x), x < 0 ? std::exp(x) - 1 : x},
            {run("Softsign", {}, {}, x), x / (1 + std::abs(x))},
            {run("Softplus", {}, {}, x), std::log1p(std::exp(x))}};
        for (std::size_t i = 0; i < pairs.size(); ++i)
            QVERIFY2(std::abs(pairs[i].first - pairs[i].second) < 1e-12, qPrintable(QString::number(i)));
    }
}

void TestRecurrent::badLengths() {
    const auto run = [](double length) {
        return runOp("RNN", {},
                     {tensorOf(DType::f32, {2, 1, 1}, {1, 2}), tensorOf(DType::f32, {1, 1, 1}, {1}),
                      tensorOf(DType::f32, {1, 1, 1}, {0}), Tensor{}, tensorOf(DType::i32, {1}, {length})});
    };
    QVERIFY_EXCEPTION_THROWN(run(3), Error);
    QVERIFY_EXCEPTION_THROWN(run(-1), Error);
    QCOMPARE(run(0)[0].at(0), 0.0);
}

void TestRecurrent::empty() {
    const auto none = [](const Shape& shape) { return Tensor::onHost({DType::f32, shape}); };
    QCOMPARE(runOp("LSTM", {}, {none({0, 2, 3}), none({1, 16, 3}), none({1, 16, 4})})[0].shape(),
             (Shape{0, 1, 2, 4}));
    QCOMPARE(runOp("GRU", {}, {none({3, 0, 3}), none({1, 12, 3}), none({1, 12, 4})})[1].shape(),
             (Shape{1, 0, 4}));
}

void TestRecurrent::refuses() {
    const auto error = [](const char* op, const Attributes& attributes, const std::vector<Shape>& shapes) {
        std::vector<TensorType> types;
        for (const Shape& shape : shapes) types.push_back({DType::f32, shape});
        return inferError([&] { inferTypes(op, attributes, types); });
    };
    QVERIFY(error("LSTM", {}, {{5, 2}, {1, 16, 3}, {1, 16, 4}}).contains("3 dimensions"));
    QVERIFY(error("LSTM", {}, {{5, 2, 3}, {1, 12, 3}, {1, 16, 4}}).contains("Expected W of size [1, 16, 3]"));
    QVERIFY(error("GRU", {{"hidden_size", std::int64_t{5}}}, {{5, 2, 3}, {1, 12, 3}, {1, 12, 4}})
                .contains("\"hidden_size\" is 5"));
    QVERIFY(error("RNN", {{"activations", Texts{"Gelu"}}}, {{5, 2, 3}, {1, 4, 3}, {1, 4, 4}})
                .contains("the unknown activation \"Gelu\""));
    QVERIFY(error("LSTM", {{"activations", Texts{"Tanh"}}}, {{5, 2, 3}, {1, 16, 3}, {1, 16, 4}})
                .contains("must have 3 entries"));
    QVERIFY(error("RNN", {{"direction", std::string("up")}}, {{5, 2, 3}, {1, 4, 3}, {1, 4, 4}})
                .contains("\"direction\" must be"));
}

TWB_TEST_MAIN(TestRecurrent)
#include "test_recurrent.moc"
