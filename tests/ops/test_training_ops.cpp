#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
}

class TestTrainingOps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void losses();
    void crossEntropy();
    void crossEntropyGradient();
    void badTargets();
    void dropoutRests();
    void dropoutTrains();
    void optimizers_data();
    void optimizers();
    void optimizerRefusals();
    void randomLike();
    void bernoulli();
    void multinomial();
    void castLike();
};

void TestTrainingOps::losses() {
    Dice dice(1);
    for (DType dtype : {DType::f32, DType::f64, DType::f16})
        for (int round = 0; round < 60; ++round) {
            const std::int64_t n = dice.integer(0, 3);
            const std::int64_t c = dice.integer(1, 5);
            const std::int64_t d = dice.integer(1, 4);
            const Tensor x = inLayout(dice.tensor(dtype, {n, c, d}, -5, 0), dice.layout());
            const Tensor target = inLayout(
                dice.tensor(dice.one(2) ? DType::i32 : DType::i64, {n, d}, 0, static_cast<double>(c - 1)),
                dice.layout());
            Tensor weight;
            if (dice.one(2)) weight = dice.tensor(dtype, {c}, 0.5, 2);
            const bool ignores = dice.one(2);
            const char* const reductions[] = {"none", "sum", "mean"};
            const std::string reduction = reductions[dice.integer(0, 2)];
            Attributes attributes{{"reduction", reduction}};
            if (ignores) attributes.set("ignore_index", std::int64_t{0});
            std::vector<double> each;
            double sum = 0;
            double weights = 0;
            for (std::int64_t i = 0; i < n * d; ++i) {
                const auto t = static_cast<std::int64_t>(target.at(i));
                double value = 0;
                if (!ignores || t != 0) {
                    const double w = weight ? weight.at(t) : 1;
                    value = -w * x.at((i / d * c + t) * d + i % d);
                    weights += w;
                }
                each.push_back(value);
                sum += value;
            }
            const Tensor out = runOp("NegativeLogLikelihoodLoss", attributes, {x, target, weight})[0];
            const QString wrong =
                reduction == "none"
                    ? difference(out, {n, d}, each, {2e-6, 2e-6})
                    : difference(out, {}, {reduction == "sum" ? sum : sum / weights}, {2e-6, 2e-6});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestTrainingOps::crossEntropy() {
    Dice dice(2);
    for (DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = inLayout(dice.tensor(dtype, {6, 5}, -9, 9), Layout::swapped);
        const Tensor target = dice.tensor(DType::i64, {6}, 0, 4);
        const auto out = runOp("SoftmaxCrossEntropyLoss", {}, {x, target});
        std::vector<double> logarithms = valuesOf(x);
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            double total = 0;
            for (std::size_t k = 0; k < 5; ++k) total += std::exp(logarithms[i * 5 + k]);
            for (std::size_t k = 0; k < 5; ++k) logarithms[i * 5 + k] -= std::log(total);
            sum -= logarithms[i * 5 + static_cast<std::size_t>(target.at(static_cast<std::int64_t>(i)))];
        }
        QVERIFY(difference(out[0], {}, {sum / 6}, {2e-6, 2e-6}).isEmpty());
        QVERIFY(difference(out[1], {6, 5}, logarithms, {2e-6, 2e-6}).isEmpty());
    }
}

/// Against differences of the loss, and for a target that is ignored with probabilities that are NaN.
void TestTrainingOps::crossEntropyGradient() {
    Dice dice(7);
    const Tensor x = dice.tensor(DType::f64, {3, 4, 2}, -3, 3);
    const Tensor target = Tensor::of<std::int64_t>({3, 2}, {0, 3, 2, 1, 1, 2});
    const Tensor weight = Tensor::of<double>({4}, {0.5, 2, 1, 1.5});
    const Tensor dy = Tensor::of<double>({}, {1.5});
    for (const char* reduction : {"sum", "mean"}) {
        const Attributes attributes{{"reduction", std::string(reduction)}, {"ignore_index", std::int64_t{2}}};
        const auto lossAt = [&](std::int64_t element, double step) {
            std::vector<double> moved = valuesOf(x);
            moved[static_cast<std::size_t>(element)] += step;
            const Tensor at = Tensor::of<double>(x.shape(), moved);
            return runOp("SoftmaxCrossEntropyLoss", attributes, {at, target, weight})[0].at(0);
        };
        const Tensor logarithms = runOp("SoftmaxCrossEntropyLoss", attributes, {x, target, weight})[1];
        const Tensor dx = runOp("SoftmaxCrossEntropyGrad", attributes, {dy, logarithms, target, weight})[0];
        std::vector<double> slopes;
        constexpr double h = 1e-5;
        for (std::int64_t i = 0; i < 24; ++i)
            slopes.push_back(1.5 * (lossAt(i, h) - lossAt(i, -h)) / (2 * h));
        // Within 1e-9, since the tolerance is that of f32: a difference of two losses has an error of 1e-10.
        const QString wrong = difference(dx, x.shape(), slopes, {0.1, 0.1});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor broken = Tensor::of<double>({2, 2}, {nan, nan, std::log(0.25), std::log(0.75)});
    const Tensor out = runOp("SoftmaxCrossEntropyGrad", {{"ignore_index", std::int64_t{9}}},
                             {Tensor::of<double>({}, {1}), broken, Tensor::of<std::int64_t>({2}, {9, 0})})[0];
    QVERIFY(difference(out, {2, 2}, {0, 0, -0.75, 0.75}, {1e-15, 1e-15}).isEmpty());
}

void TestTrainingOps::badTargets() {
    const Tensor x = Tensor::of<float>({1, 2}, {0, 0});
    const Tensor far = Tensor::of<std::int64_t>({1}, {2});
    QVERIFY_EXCEPTION_THROWN(runOp("NegativeLogLikelihoodLoss", {}, {x, far}), Error);
    QVERIFY(std::isnan(
        runOp("NegativeLogLikelihoodLoss", {{"ignore_index", std::int64_t{2}}}, {x, far})[0].at(0)));
    QVERIFY(inferError([&] {
                runOp("SoftmaxCrossEntropyLoss", {}, {x, Tensor::of<std::int64_t>({3}, {0, 0, 0})});
            }).contains("Expected target size [1], got [3]"));
    QVERIFY(inferError([&] {
                runOp("SoftmaxCrossEntropyLoss", {}, {x, far, Tensor::of<float>({1}, {1})});
            }).contains("either for all 2 classes or no classes"));
    const Tensor one = Tensor::of<float>({}, {1});
    QVERIFY_EXCEPTION_THROWN(runOp("SoftmaxCrossEntropyGrad", {}, {one, x, far}), Error);
    QVERIFY(inferError([&] {
                runOp("SoftmaxCrossEntropyGrad", {}, {Tensor::of<float>({1}, {1}), x, far});
            }).contains("must have its shape [], but has shape [1]"));
}

void TestTrainingOps::dropoutRests() {
    Dice dice(3);
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const Tensor x = inLayout(dice.tensor(dtype, {4, 5}, -9, 9), Layout::reversed);
        const auto out = runOp("Dropout", {}, {x});
        QCOMPARE(valuesOf(out[0]), valuesOf(x));
        QCOMPARE(valuesOf(out[1]), std::vector<double>(20, 1.0));
    }
}

void TestTrainingOps::dropoutTrains() {
    const Tensor x = Tensor::onHost({DType::f32, Shape{200000}});
    std::fill_n(x.values<float>().data(), 200000, 1.0F);
    const Tensor ratio = tensorOf(DType::f32, {}, {0.25});
    const Tensor yes = tensorOf(DType::boolean, {}, {1});
    const auto out = runOp("Dropout", {}, {x, ratio, yes});
    double kept = 0;
    for (std::int64_t i = 0; i < 200000; ++i) {
        kept += out[1].at(i);
        QCOMPARE(out[0].at(i), out[1].at(i) * double(1 / 0.75F));
    }
    QVERIFY(std::abs(kept / 200000 - 0.75) < 0.01);
    const Attributes training{{"training_mode", true}, {"ratio", 0.25}};
    QCOMPARE(valuesOf(runOp("Dropout", training, {x})[0]), valuesOf(out[0]));
    QCOMPARE(runOp("Dropout", {{"training_mode", true}, {"ratio", 1.0}}, {x})[0].at(7), 0.0);
    QVERIFY_EXCEPTION_THROWN(runOp("Dropout", {}, {x, tensorOf(DType::f32, {}, {kNaN}), yes}), Error);
}

void TestTrainingOps::optimizers_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<QString>("mode");
    for (const char* op : {"Adagrad", "Adam", "Momentum"})
        QTest::addRow("%s", op) << QString(op) << QString();
    QTest::addRow("Nesterov") << "Momentum"
                              << "nesterov";
}

void TestTrainingOps::optimizers() {
    QFETCH(QString, op);
    QFETCH(QString, mode);
    Dice dice(4);
    const std::size_t states = op == "Adam" ? 2 : 1;
    for (DType dtype : {DType::f32, DType::f64})
        for (double step : {0.0, 3.0}) {
            const double r = 0.1;
            const double norm = 0.01;
            std::vector<Tensor> inputs{tensorOf(dtype, {}, {r}), tensorOf(DType::i64, {}, {step})};
            const double rate = inputs[0].at(0);
            const Shape shapes[] = {{3, 4}, {5}};
            for (std::size_t group = 0; group < 2 + states; ++group)
                for (const Shape& shape : shapes)
                    inputs.push_back(
                        inLayout(dice.tensor(dtype, shape, group < 2 ? -2 : 0, 2), dice.layout()));
            Attributes attributes{{"norm_coefficient", norm},
                                  {"num_outputs", static_cast<std::int64_t>(2 + 2 * states)}};
            if (!mode.isEmpty()) attributes.set("mode", mode.toStdString());
            if (op == "Adagrad") attributes.set("decay_factor", 0.1);
            if (op == "Adam") attributes.set("norm_coefficient_post", 0.02);
            if (op == "Momentum") attributes.set("beta", 0.5);
            const auto out = runOp(op.toStdString(), attributes, inputs);
            for (std::size_t n = 0; n < 2; ++n) {
                std::vector<double> x = valuesOf(inputs[2 + n]);
                const std::vector<double> gradient = valuesOf(inputs[4 + n]);
                std::vector<double> s = valuesOf(inputs[6 + n]);
                std::vector<double> t = states > 1 ? valuesOf(inputs[8 + n]) : s;
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const double g = norm * x[i] + gradient[i];
                    if (op == "Adagrad") {
                        s[i] += g * g;
                        x[i] -= rate / (1 + step * 0.1) * g / (std::sqrt(s[i]) + 1e-6);
                    } else if (op == "Adam") {
                        s[i] = 0.9 * s[i] + 0.1 * g;
                        t[i] = 0.999 * t[i] + 0.001 * g * g;
                        const double adjusted =
                            step > 0 ? rate * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step))
                                     : rate;
                        x[i] = (1 - 0.02) * (x[i] - adjusted * s[i] / (std::sqrt(t[i]) + 1e-6));
                    } else {
                        s[i] = 0.9 * s[i] + (step > 0 ? 0.5 : 1) * g;
                        x[i] -= rate * (mode.isEmpty() ? s[i] : g + 0.9 * s[i]);
                    }
                }
                const Tolerance tolerance = findOp(op.toStdString())->tolerance;
                QString wrong = difference(out[n], shapes[n], x, tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                wrong = difference(out[2 + n], shapes[n], s, tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
                if (states > 1) wrong = difference(out[4 + n], shapes[n], t, tolerance);
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
        }
}

void TestTrainingOps::optimizerRefusals() {
    const Tensor x = Tensor::of<float>({2}, {1, 2});
    QVERIFY(inferError([&] {
                runOp("Adagrad", {}, {{}, {}, x, x});
            }).contains("needs a gradient and one tensor of state for each parameter"));
    QVERIFY(inferError([&] {
                runOp("Adagrad", {}, {{}, {}, x, Tensor::of<float>({3}, {1, 2, 3}), x});
            }).contains("the parameter has the shape [2]"));
    QVERIFY(inferError([&] {
                runOp("Adagrad", {{"num_outputs", std::int64_t{4}}}, {{}, {}, x, x, x});
            }).contains("set the attribute \"num_outputs\""));
    QCOMPARE(runOp("Adagrad", {}, {{}, {}, x, x, x}).size(), std::size_t{2});
}

void TestTrainingOps::randomLike() {
    const Tensor like = Tensor::onHost({DType::f64, Shape{30, 40}});
    for (const char* op : {"RandomNormal", "RandomUniform"}) {
        const Tensor source = runOp(op,
                                    {{"shape", std::vector<std::int64_t>{30, 40}},
                                     {"dtype", std::string("f64")},
                                     {"seed", std::int64_t{7}}},
                                    {})[0];
        const std::string name = std::string(op) + "Like";
        QCOMPARE(valuesOf(runOp(name, {{"seed", std::int64_t{7}}}, {like})[0]), valuesOf(source));
        QCOMPARE(runOp(name, {{"dtype", std::string("f16")}}, {like})[0].dtype(), DType::f16);
        const TensorType whole{DType::i32, {2}};
        QVERIFY(inferError([&] {
                    inferTypes(name, {}, std::vector<TensorType>{whole});
                }).contains("set the attribute \"dtype\""));
    }
}

void TestTrainingOps::bernoulli() {
    const Tensor p = repeatedTo(tensorOf(DType::f32, {1, 3}, {0, 0.3, 1}), {20000, 3});
    const Tensor out = runOp("Bernoulli", {{"dtype", std::string("i32")}}, {p})[0];
    double counts[3] = {};
    for (std::int64_t i = 0; i < out.elementCount(); ++i) counts[i % 3] += out.at(i);
    QCOMPARE(counts[0], 0.0);
    QVERIFY(std::abs(counts[1] / 20000 - 0.3) < 0.02);
    QCOMPARE(counts[2], 20000.0);
    QCOMPARE(runOp("Bernoulli", {}, {p})[0].dtype(), DType::f32);
}

void TestTrainingOps::multinomial() {
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor x = tensorOf(DType::f32, {2, 3}, {std::log(0.2), std::log(0.8), -inf, 900, 900, 900});
    const Tensor out = runOp("Multinomial", {{"sample_size", std::int64_t{20000}}}, {x})[0];
    QCOMPARE(out.dtype(), DType::i32);
    QCOMPARE(out.shape(), (Shape{2, 20000}));
    double counts[2][3] = {};
    for (std::int64_t i = 0; i < 40000; ++i) ++counts[i / 20000][static_cast<int>(out.at(i))];
    QVERIFY(std::abs(counts[0][1] / 20000 - 0.8) < 0.02);
    QCOMPARE(counts[0][2], 0.0);
    for (double count : counts[1]) QVERIFY(std::abs(count / 20000 - 1.0 / 3) < 0.02);
    // All devices draw the same samples, also with enough classes for several threads.
    Dice dice(9);
    const Tensor many = dice.tensor(DType::f32, {2, 3001}, -4, 4);
    const Attributes drawn{{"sample_size", std::int64_t{500}}};
    const Op& op = *findOp("Multinomial");
    const Tensor expected = Tensor::onHost(inferTypes(op.name, drawn, {many})[0]);
    const TensorView views[] = {many.view()};
    TensorView to = expected.view();
    op.kernel({views, std::span(&to, 1), completeAttributes(op, drawn), nullptr});
    QCOMPARE(valuesOf(runOp(op.name, drawn, {many})[0]), valuesOf(expected));
    QVERIFY_EXCEPTION_THROWN(runOp("Multinomial", {}, {tensorOf(DType::f32, {1, 2}, {kNaN, 0})}), Error);
}

void TestTrainingOps::castLike() {
    const Tensor x = tensorOf(DType::f32, {3}, {1.7, -2.5, 300});
    for (DType dtype : kWideDTypes) {
        const Tensor like = Tensor::onHost({dtype, Shape{0, 2}});
        const Tensor out = runOp("CastLike", {}, {x, like})[0];
        QCOMPARE(out.dtype(), dtype);
        QCOMPARE(valuesOf(out), valuesOf(runOp("Cast", {{"to", std::string(name(dtype))}}, {x})[0]));
    }
}

TWB_TEST_MAIN(TestTrainingOps)
#include "test_training_ops.moc"
