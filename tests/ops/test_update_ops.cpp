#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

/// One element: the parameter, its gradient, and the states in the order of the op's inputs.
struct Element {
    double p = 0;
    double g = 0;
    double s[3] = {};
};

struct Case {
    const char* op;
    Attributes attributes;
    int states;
    bool readsStep;
    std::function<void(Element&, double rate, double step)> update; ///< in f64, from the definition
};

void adam(Element& e, double rate, double step, double l2, double decoupled) {
    e.p -= rate * decoupled * e.p;
    const double g = e.g + l2 * e.p;
    e.s[0] = 0.8 * e.s[0] + 0.2 * g;
    e.s[1] = 0.95 * e.s[1] + 0.05 * g * g;
    const double mean = e.s[0] / (1 - std::pow(0.8, step));
    const double square = e.s[1] / (1 - std::pow(0.95, step));
    e.p -= rate * mean / (std::sqrt(square) + 1e-3);
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"SGDUpdate",
         {{"weight_decay", 0.1}},
         0,
         false,
         [](Element& e, double rate, double) { e.p -= rate * (e.g + 0.1 * e.p); }},
        {"SGDUpdate",
         {{"momentum", 0.9}},
         1,
         false,
         [](Element& e, double rate, double) {
             e.s[0] = 0.9 * e.s[0] + e.g;
             e.p -= rate * e.s[0];
         }},
        {"SGDUpdate",
         {{"momentum", 0.9}, {"nesterov", true}},
         1,
         false,
         [](Element& e, double rate, double) {
             e.s[0] = 0.9 * e.s[0] + e.g;
             e.p -= rate * (e.g + 0.9 * e.s[0]);
         }},
        {"AdamUpdate",
         {{"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-3}, {"weight_decay", 0.1}},
         2,
         true,
         [](Element& e, double rate, double step) { adam(e, rate, step, 0.1, 0); }},
        {"AdamWUpdate",
         {{"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-3}, {"weight_decay", 0.1}},
         2,
         true,
         [](Element& e, double rate, double step) { adam(e, rate, step, 0, 0.1); }},
        {"RMSpropUpdate",
         {{"eps", 1e-3}},
         1,
         false,
         [](Element& e, double rate, double) {
             e.s[0] = 0.99 * e.s[0] + 0.01 * e.g * e.g;
             e.p -= rate * e.g / (std::sqrt(e.s[0]) + 1e-3);
         }},
        {"RMSpropUpdate",
         {{"eps", 1e-3}, {"momentum", 0.5}, {"centered", true}},
         3,
         false,
         [](Element& e, double rate, double) {
             e.s[0] = 0.99 * e.s[0] + 0.01 * e.g * e.g;
             e.s[2] = 0.99 * e.s[2] + 0.01 * e.g;
             e.s[1] = 0.5 * e.s[1] + e.g / (std::sqrt(e.s[0] - e.s[2] * e.s[2]) + 1e-3);
             e.p -= rate * e.s[1];
         }},
        {"AdagradUpdate",
         {{"lr_decay", 0.1}, {"eps", 1e-3}},
         1,
         true,
         [](Element& e, double rate, double step) {
             e.s[0] += e.g * e.g;
             e.p -= rate / (1 + (step - 1) * 0.1) * e.g / (std::sqrt(e.s[0]) + 1e-3);
         }},
        {"LionUpdate",
         {{"weight_decay", 0.1}},
         1,
         false,
         [](Element& e, double rate, double) {
             const double direction = 0.9 * e.s[0] + 0.1 * e.g;
             e.p -= rate * 0.1 * e.p;
             e.p -= rate * (direction > 0 ? 1 : direction < 0 ? -1 : 0);
             e.s[0] = 0.99 * e.s[0] + 0.01 * e.g;
         }},
    };
    return all;
}

Tensor number(DType dtype, double value) { return tensorOf(dtype, Shape{}, {value}); }

} // namespace

class TestUpdateOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void steps_data();
    void steps();
    void aSkippedStepChangesNothing();
    void theGradientIsScaled();
    void assign();
    void average();
    void counters();
    void lossScale();
    void schedules_data();
    void schedules();
    void parameters();
};

void TestUpdateOps::steps_data() {
    QTest::addColumn<int>("index");
    for (int i = 0; i < static_cast<int>(cases().size()); ++i)
        QTest::addRow("%d %s", i, cases()[static_cast<std::size_t>(i)].op) << i;
}

void TestUpdateOps::steps() {
    QFETCH(const int, index);
    const Case& c = cases()[static_cast<std::size_t>(index)];
    Dice dice(static_cast<std::uint32_t>(index));
    for (const DType dtype : {DType::f32, DType::f64})
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(3, 5);
            // Squares are positive, and larger than those of means.
            std::vector<Tensor> tensors{dice.tensor(dtype, shape, -2, 2), dice.tensor(dtype, shape, -2, 2)};
            for (int s = 0; s < c.states; ++s)
                tensors.push_back(s == 2 ? dice.tensor(dtype, shape, -0.5, 0.5)
                                         : dice.tensor(dtype, shape, 0.5, 2));
            const double rate = 0.0625;
            const double step = static_cast<double>(dice.integer(1, 20));
            std::vector<Tensor> inputs{
                tensors[0], inLayout(tensors[1], dice.layout()), number(dtype, rate), {}, {}};
            if (c.readsStep) inputs.push_back(number(DType::i64, step));
            for (int s = 0; s < c.states; ++s) inputs.push_back(tensors[static_cast<std::size_t>(2 + s)]);
            const std::vector<Tensor> got = runOp(c.op, c.attributes, inputs);
            std::vector<std::vector<double>> expected(static_cast<std::size_t>(1 + c.states));
            for (std::int64_t i = 0; i < shape.elementCount(); ++i) {
                Element e{tensors[0].at(i), tensors[1].at(i), {}};
                for (int s = 0; s < c.states; ++s) e.s[s] = tensors[static_cast<std::size_t>(2 + s)].at(i);
                c.update(e, rate, step);
                expected[0].push_back(e.p);
                for (int s = 0; s < c.states; ++s)
                    expected[static_cast<std::size_t>(1 + s)].push_back(e.s[s]);
            }
            for (std::size_t o = 0; o < expected.size(); ++o)
                QCOMPARE(difference(got[o], shape, expected[o], findOp(c.op)->tolerance), QString());
        }
}

void TestUpdateOps::aSkippedStepChangesNothing() {
    Dice dice(3);
    for (const Case& c : cases())
        for (const double skip : {0.0, 1.0}) {
            const Shape shape{7};
            std::vector<Tensor> inputs{dice.tensor(DType::f32, shape, 1, 2),
                                       dice.tensor(DType::f32, shape, 1, 2),
                                       {},
                                       number(DType::boolean, skip),
                                       {}};
            if (c.readsStep) inputs.push_back(number(DType::i64, 3));
            for (int s = 0; s < c.states; ++s) inputs.push_back(dice.tensor(DType::f32, shape, 1, 2));
            const std::vector<Tensor> got = runOp(c.op, c.attributes, inputs);
            QCOMPARE(valuesOf(got[0]) == valuesOf(inputs[0]), skip == 1);
            for (int s = 0; s < c.states; ++s) {
                const std::size_t at = inputs.size() - static_cast<std::size_t>(c.states - s);
                QCOMPARE(valuesOf(got[static_cast<std::size_t>(1 + s)]) == valuesOf(inputs[at]), skip == 1);
            }
        }
}

void TestUpdateOps::theGradientIsScaled() {
    const Tensor p = tensorOf(DType::f64, {2}, {1, 2});
    const Tensor g = tensorOf(DType::f64, {2}, {4, -8});
    const auto got = runOp("SGDUpdate", {{"lr", 0.5}}, {p, g, {}, {}, number(DType::f64, 0.25)});
    QCOMPARE(valuesOf(got[0]), (std::vector<double>{0.5, 3}));
}

void TestUpdateOps::assign() {
    Dice dice(4);
    for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::boolean, DType::i64}) {
        const Tensor target = dice.tensor(dtype, {3, 4}, -5, 5);
        const Tensor source = dice.tensor(dtype, {3, 4}, -5, 5);
        QCOMPARE(valuesOf(runOp("Assign", {}, {target, inLayout(source, Layout::swapped)})[0]),
                 valuesOf(source));
        QCOMPARE(valuesOf(runOp("Assign", {}, {target, source, number(DType::boolean, 1)})[0]),
                 valuesOf(target));
    }
    QVERIFY_THROWS_EXCEPTION(
        InferError,
        inferTypes("Assign", {}, std::vector<TensorType>{{DType::f32, Shape{3}}, {DType::f32, Shape{1}}}));
}

void TestUpdateOps::average() {
    const Tensor before = tensorOf(DType::f64, {2}, {1, 2});
    const Tensor now = tensorOf(DType::f64, {2}, {3, -2});
    const auto got = valuesOf(runOp("AverageUpdate", {{"decay", 0.75}}, {before, now})[0]);
    QCOMPARE(got, (std::vector<double>{1.5, 1}));
}

void TestUpdateOps::counters() {
    const Tensor step = number(DType::i64, 6);
    QCOMPARE(runOp("StepUpdate", {}, {step})[0].at(0), 7.0);
    QCOMPARE(runOp("StepUpdate", {}, {step, number(DType::boolean, 1)})[0].at(0), 6.0);
    const Tensor record = tensorOf(DType::f32, {3}, {1, 2, 3});
    QCOMPARE(valuesOf(runOp("Record", {}, {record, number(DType::f16, 9)})[0]),
             (std::vector<double>{9, 2, 3}));
}

/// torch.amp.GradScaler: × ½ after an overflow, × 2 after growth_interval good steps.
void TestUpdateOps::lossScale() {
    const auto after = [](double scale, double good, bool isOverflow) {
        const auto got =
            runOp("ScaleUpdate", {{"growth_interval", std::int64_t{3}}},
                  {number(DType::f32, scale), number(DType::i32, good), number(DType::boolean, isOverflow)});
        return std::pair(got[0].at(0), got[1].at(0));
    };
    QCOMPARE(after(65536, 2, true), std::pair(32768.0, 0.0));
    QCOMPARE(after(65536, 1, false), std::pair(65536.0, 2.0));
    QCOMPARE(after(65536, 2, false), std::pair(131072.0, 0.0));
    QCOMPARE(after(0x1p127, 2, false), std::pair(0x1p127, 0.0)); // stays finite
}

void TestUpdateOps::schedules_data() {
    QTest::addColumn<QString>("schedule");
    QTest::addColumn<QList<double>>("rates"); ///< after 0, 3, 5, 9 steps, of PyTorch 1.13
    QTest::newRow("constant") << "constant" << QList<double>{0.1, 0.1, 0.1, 0.1};
    QTest::newRow("step") << "step" << QList<double>{0.1, 0.1, 0.05, 0.025};
    QTest::newRow("exponential") << "exponential" << QList<double>{0.1, 0.0125, 0.003125, 0.0001953125};
    QTest::newRow("cosine") << "cosine"
                            << QList<double>{0.1, 0.079389262614623657, 0.05, 0.0024471741852423179};
    QTest::newRow("one_cycle") << "one_cycle"
                               << QList<double>{0.004, 0.09504846320134738, 0.06112620219362893, 4e-7};
}

void TestUpdateOps::schedules() {
    QFETCH(const QString, schedule);
    QFETCH(const QList<double>, rates);
    const Attributes attributes{{"lr", 0.1},
                                {"schedule", schedule.toStdString()},
                                {"total_steps", std::int64_t{10}},
                                {"step_size", std::int64_t{4}},
                                {"gamma", 0.5},
                                {"dtype", std::string("f64")}};
    const int steps[] = {0, 3, 5, 9};
    for (int i = 0; i < 4; ++i) {
        const double got = runOp("LearningRate", attributes, {number(DType::i64, steps[i])})[0].at(0);
        QVERIFY2(std::abs(got - rates[i]) < 1e-9, qPrintable(QString::number(got, 'g', 17)));
    }
    Attributes warm = attributes;
    warm.set("warmup_steps", std::int64_t{4});
    warm.set("warmup_start", 0.5);
    const auto at = [&](double step) {
        return runOp("LearningRate", warm, {number(DType::i64, step), number(DType::f64, 2)})[0].at(0);
    };
    QCOMPARE(at(0), 0.1); // 0.1 · 0.5 · the factor 2
    QCOMPARE(at(2), 0.15);
    QVERIFY(std::abs(at(4) - 2 * runOp("LearningRate",
                                       [&] {
                                           Attributes late = attributes;
                                           late.set("total_steps", std::int64_t{6});
                                           return late;
                                       }(),
                                       {number(DType::i64, 0)})[0]
                                     .at(0)) < 1e-12);
}

/// Distributions by their moments, as torch.nn.init gives them.
void TestUpdateOps::parameters() {
    const auto spreadOf = [](Attributes attributes, std::vector<std::int64_t> shape) {
        attributes.set("shape", std::move(shape));
        attributes.set("dtype", std::string("f64"));
        const std::vector<double> values = valuesOf(runOp("Parameter", attributes, {})[0]);
        double sum = 0;
        double squares = 0;
        for (const double v : values) {
            sum += v;
            squares += v * v;
        }
        const auto n = static_cast<double>(values.size());
        return std::pair(sum / n, std::sqrt(squares / n - sum / n * sum / n));
    };
    const auto init = [](const char* name) { return Attributes{{"init", std::string(name)}}; };
    const auto isNear = [](std::pair<double, double> got, double mean, double spread) {
        return std::abs(got.first - mean) < 0.02 * std::max(spread, 0.05) + 1e-12 &&
               std::abs(got.second - spread) < 0.02 * spread + 1e-12;
    };
    QVERIFY(isNear(spreadOf(init("zeros"), {10}), 0, 0));
    QVERIFY(isNear(spreadOf({{"init", std::string("constant")}, {"value", 3.0}}, {10}), 3, 0));
    QVERIFY(
        isNear(spreadOf({{"init", std::string("normal")}, {"value", 1.0}, {"scale", 2.0}}, {40000}), 1, 2));
    QVERIFY(isNear(spreadOf({{"init", std::string("uniform")}, {"scale", 3.0}}, {40000}), 0, std::sqrt(3.0)));
    QVERIFY(isNear(spreadOf(init("xavier_uniform"), {300, 100}), 0, std::sqrt(2.0 / 400)));
    QVERIFY(isNear(spreadOf(init("xavier_normal"), {300, 100}), 0, std::sqrt(2.0 / 400)));
    QVERIFY(isNear(spreadOf(init("kaiming_normal"), {300, 100}), 0, std::sqrt(2.0 / 100)));
    QVERIFY(isNear(spreadOf(init("kaiming_uniform"), {64, 16, 3, 3}), 0, std::sqrt(2.0 / 144)));
    QVERIFY(
        isNear(spreadOf({{"init", std::string("kaiming_normal")}, {"in_axis", std::int64_t{0}}}, {300, 100}),
               0, std::sqrt(2.0 / 300)));
    QVERIFY_THROWS_EXCEPTION(InferError, inferTypes("Parameter",
                                                    {{"shape", std::vector<std::int64_t>{4}},
                                                     {"init", std::string("xavier_normal")}},
                                                    std::vector<TensorType>{}));
}

TWB_TEST_MAIN(TestUpdateOps)
#include "test_update_ops.moc"
