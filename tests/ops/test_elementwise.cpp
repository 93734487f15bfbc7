#include "support/broadcast_oracle.h"
#include "support/op_runner.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
    std::string op;
    Attributes attributes;
    std::function<double(double)> exact;
    double low, high;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double hardSigmoid(double x, double a, double b) { return std::max(0.0, std::min(1.0, a * x + b)); }

/// By bisection.
double inverseErf(double x) {
    const double size = std::fabs(x);
    double low = 0;
    double high = 7;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        const bool isBelow = size < 0.5 ? std::erf(middle) < size : std::erfc(middle) > 1 - size;
        (isBelow ? low : high) = middle;
    }
    return std::copysign((low + high) / 2, x);
}

const UnaryCase kUnary[] = {
    {"Sin", {}, [](double x) { return std::sin(x); }, -9, 9},
    {"Cos", {}, [](double x) { return std::cos(x); }, -9, 9},
    {"Tan", {}, [](double x) { return std::tan(x); }, -1.5, 1.5},
    {"Asin", {}, [](double x) { return std::asin(x); }, -1, 1},
    {"Acos", {}, [](double x) { return std::acos(x); }, -1, 1},
    {"Atan", {}, [](double x) { return std::atan(x); }, -30, 30},
    {"Sinh", {}, [](double x) { return std::sinh(x); }, -8, 8},
    {"Cosh", {}, [](double x) { return std::cosh(x); }, -8, 8},
    {"Asinh", {}, [](double x) { return std::asinh(x); }, -90, 90},
    {"Acosh", {}, [](double x) { return std::acosh(x); }, 1, 90},
    {"Atanh", {}, [](double x) { return std::atanh(x); }, -0.9, 0.9},
    {"Erfinv", {}, inverseErf, -0.99, 0.99},
    {"Floor", {}, [](double x) { return std::floor(x); }, -50, 50},
    {"Ceil", {}, [](double x) { return std::ceil(x); }, -50, 50},
    {"Round", {}, [](double x) { return std::nearbyint(x); }, -50, 50},
    {"Sign", {}, [](double x) { return x > 0   ? 1.0
                                       : x < 0 ? -1.0
                                               : 0.0; }, -5, 5},
    {"Reciprocal", {}, [](double x) { return 1 / x; }, 0.1, 50},
    {"IsNaN", {}, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, -5, 5},
    {"IsInf", {}, [](double x) { return std::isinf(x) ? 1.0 : 0.0; }, -5, 5},
    {"Identity", {}, [](double x) { return x; }, -5, 5},
    {"Not", {}, [](double x) { return x == 0 ? 1.0 : 0.0; }, 0, 1},
    {"LeakyRelu", {}, [](double x) { return x < 0 ? 0.01 * x : x; }, -50, 50},
    {"LeakyRelu", {{"alpha", 0.3}}, [](double x) { return x < 0 ? 0.3 * x : x; }, -50, 50},
    {"Elu", {{"alpha", 2.0}}, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, -9, 9},
    {"Selu",
     {{"alpha", 2.0}, {"gamma", 3.0}},
     [](double x) { return 3 * (x > 0 ? x : 2 * std::expm1(x)); },
     -9,
     9},
    {"Celu", {{"alpha", 2.0}}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -9, 9},
    {"HardSigmoid", {}, [](double x) { return hardSigmoid(x, 0.2, 0.5); }, -9, 9},
    {"HardSwish", {}, [](double x) { return x * hardSigmoid(x, 1.0 / 6, 0.5); }, -9, 9},
    {"Softplus", {}, softplus, -60, 60},
    {"Softsign", {}, [](double x) { return x / (1 + std::fabs(x)); }, -60, 60},
    {"Mish", {}, [](double x) { return x * std::tanh(softplus(x)); }, -9, 30},
    {"Swish", {{"alpha", 1.5}}, [](double x) { return x * logistic(1.5 * x); }, -9, 9},
    {"ThresholdedRelu", {{"alpha", 2.0}}, [](double x) { return x > 2 ? x : 0.0; }, -9, 9},
    {"Shrink",
     {{"bias", 1.5}, {"lambd", 2.0}},
     [](double x) { return x < -2  ? x + 1.5
                           : x > 2 ? x - 1.5
                                   : 0.0; },
     -9,
     9},
};

struct BinaryCase {
    std::string op;
    Attributes attributes;
    std::function<double(double, double)> exact;
    double low, high;
};

double python(double a, double b) { return a - b * std::floor(a / b); }
std::uint64_t whole(double x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); }
double number(std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(bits)); }

const BinaryCase kBinary[] = {
    {"Greater", {}, [](double a, double b) { return a > b ? 1.0 : 0.0; }, -2, 2},
    {"GreaterOrEqual", {}, [](double a, double b) { return a >= b ? 1.0 : 0.0; }, -2, 2},
    {"Less", {}, [](double a, double b) { return a < b ? 1.0 : 0.0; }, -2, 2},
    {"LessOrEqual", {}, [](double a, double b) { return a <= b ? 1.0 : 0.0; }, -2, 2},
    {"And", {}, [](double a, double b) { return a * b; }, 0, 1},
    {"Or", {}, [](double a, double b) { return std::max(a, b); }, 0, 1},
    {"Xor", {}, [](double a, double b) { return a == b ? 0.0 : 1.0; }, 0, 1},
    {"BitwiseAnd", {}, [](double a, double b) { return number(whole(a) & whole(b)); }, -99, 99},
    {"BitwiseOr", {}, [](double a, double b) { return number(whole(a) | whole(b)); }, -99, 99},
    {"BitwiseXor", {}, [](double a, double b) { return number(whole(a) ^ whole(b)); }, -99, 99},
    {"BitShift",
     {{"direction", std::string("RIGHT")}},
     [](double a, double b) { return std::floor(std::ldexp(a, -static_cast<int>(b))); },
     0,
     70},
    {"Mod", {{"fmod", true}}, [](double a, double b) { return std::fmod(a, b); }, 1, 90},
    {"Max", {}, [](double a, double b) { return std::max(a, b); }, -99, 99},
    {"Min", {}, [](double a, double b) { return std::min(a, b); }, -99, 99},
    {"Sum", {}, [](double a, double b) { return a + b; }, -9, 9},
    {"Mean", {}, [](double a, double b) { return (a + b) / 2; }, -9, 9},
};

bool isUnsigned(DType dtype) {
    return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
}

template <class Case, std::size_t N> void addRows(const Case (&cases)[N]) {
    QTest::addColumn<int>("which");
    QTest::addColumn<int>("dtype");
    for (std::size_t i = 0; i < N; ++i)
        for (DType dtype : kWideDTypes)
            if (findOp(cases[i].op)->inputs[0].types.contains(dtype))
                QTest::addRow("%s %zu %s", cases[i].op.c_str(), i, std::string(name(dtype)).c_str())
                    << static_cast<int>(i) << static_cast<int>(dtype);
}

} // namespace

class TestElementwise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void unary_data() { addRows(kUnary); }
    void unary();
    void binary_data() { addRows(kBinary); }
    void binary();
    void specialValues_data();
    void specialValues();
    void erf();
    void inverseOfErf();
    void bits();
    void shifts();
    void swiGlu();
    void modulo();
    void variadic();
    void nanAmongMany();
    void prelu();
    void reluGrad();
    void clip();
    void clipOfBounds();
    void alongAxis();
    void hardmaxTies();
    void refusals();
};

void TestElementwise::unary() {
    QFETCH(int, which);
    QFETCH(int, dtype);
    const UnaryCase& c = kUnary[which];
    const auto type = static_cast<DType>(dtype);
    const Op& op = *findOp(c.op);
    Dice dice(300U + static_cast<unsigned>(which));
    for (int round = 0; round < 40; ++round) {
        const Shape shape = round == 0 && type == DType::f32 ? Shape{3, 60000} : dice.shape(4, 7);
        const double low = isUnsigned(type) ? std::max(c.low, 0.0) : c.low;
        const Tensor x = inLayout(dice.tensor(type, shape, low, c.high), dice.layout());
        std::vector<double> expected = valuesOf(x);
        for (double& value : expected) {
            value = c.exact(value);
            if (isInteger(type)) value = std::trunc(value);
        }
        const Tensor out = runOp(c.op, c.attributes, {x})[0];
        QCOMPARE(out.dtype(), op.outputs[0].types == DTypeSet{DType::boolean} ? DType::boolean : type);
        const QString wrong = difference(out, shape, expected, op.tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestElementwise::binary() {
    QFETCH(int, which);
    QFETCH(int, dtype);
    const BinaryCase& c = kBinary[which];
    const auto type = static_cast<DType>(dtype);
    const Op& op = *findOp(c.op);
    Dice dice(700U + static_cast<unsigned>(which));
    for (int round = 0; round < 40; ++round) {
        const Shape shape = dice.shape(4, 6);
        const double low = isUnsigned(type) ? std::max(c.low, 0.0) : c.low;
        const auto operand = [&] {
            return inLayout(dice.tensor(type, operandOf(dice, shape), low, c.high), dice.layout());
        };
        const Tensor a = operand();
        const Tensor b = operand();
        const Shape result = *broadcast(a.shape(), b.shape());
        const Tensor out = runOp(c.op, c.attributes, {a, b})[0];
        const QString wrong = difference(out, result, expectBroadcast(result, a, b, c.exact), op.tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestElementwise::specialValues_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<std::vector<double>>("expected");
    const auto row = [](const char* op, std::vector<double> expected) {
        QTest::addRow("%s", op) << QString(op) << expected;
    };
    // The inputs are NaN, ∞, −∞, 0, −0, 0.5, 1.5, 2.5.
    const double e = std::exp(1.0);
    row("Floor", {kNaN, kInf, -kInf, 0, 0, 0, 1, 2});
    row("Ceil", {kNaN, kInf, -kInf, 0, 0, 1, 2, 3});
    row("Round", {kNaN, kInf, -kInf, 0, 0, 0, 2, 2});
    row("Sign", {kNaN, 1, -1, 0, 0, 1, 1, 1});
    row("IsNaN", {1, 0, 0, 0, 0, 0, 0, 0});
    row("IsInf", {0, 1, 1, 0, 0, 0, 0, 0});
    row("LeakyRelu", {kNaN, kInf, -kInf, 0, 0, 0.5, 1.5, 2.5});
    row("Elu", {kNaN, kInf, -1, 0, 0, 0.5, 1.5, 2.5});
    row("ThresholdedRelu", {0, kInf, 0, 0, 0, 0, 1.5, 2.5});
    row("HardSigmoid", {kNaN, 1, 0, 0.5, 0.5, 0.6, 0.8, 1});
    row("Softplus", {kNaN, kInf, 0, std::log(2.0), std::log(2.0), std::log(1 + std::sqrt(e)),
                     std::log(1 + std::pow(e, 1.5)), std::log(1 + std::pow(e, 2.5))});
    row("Shrink", {0, kInf, -kInf, 0, 0, 0, 1.5, 2.5});
    row("Clip", {kNaN, kInf, -kInf, 0, 0, 0.5, 1.5, 2.5});
}

void TestElementwise::specialValues() {
    QFETCH(QString, op);
    QFETCH(std::vector<double>, expected);
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const Tensor x = tensorOf(dtype, {8}, {kNaN, kInf, -kInf, 0.0, -0.0, 0.5, 1.5, 2.5});
        const QString wrong = difference(runOp(op.toStdString(), {}, {x})[0], {8}, expected, {1e-6, 1e-6});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    const Tensor x = tensorOf(DType::f32, {3}, {kNaN, kInf, -kInf});
    QCOMPARE(valuesOf(runOp("IsInf", {{"detect_negative", false}}, {x})[0]), (std::vector<double>{0, 1, 0}));
    QCOMPARE(valuesOf(runOp("IsInf", {{"detect_positive", false}}, {x})[0]), (std::vector<double>{0, 0, 1}));
}

void TestElementwise::erf() {
    const Tensor x = tensorOf(DType::f64, {4}, {0, 0.5, -2, kInf});
    const QString wrong = difference(runOp("Erf", {}, {x})[0], {4}, {0, std::erf(0.5), std::erf(-2.0), 1},
                                     findOp("Erf")->tolerance);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    const Tensor whole = tensorOf(DType::i32, {4}, {0, 1, 100, -100});
    QCOMPARE(valuesOf(runOp("Erf", {}, {whole})[0]), (std::vector<double>{0, 0, 1, -1}));
}

void TestElementwise::inverseOfErf() {
    const double almost = 1 - 0x1p-53;
    const Tensor x = tensorOf(DType::f64, {8}, {0, 1e-300, 0.5, almost, -almost, 1, -1, 1.5});
    const std::vector<double> wanted{0,
                                     1e-300 * std::sqrt(std::acos(-1.0)) / 2,
                                     inverseErf(0.5),
                                     inverseErf(almost),
                                     inverseErf(-almost),
                                     kInf,
                                     -kInf,
                                     kNaN};
    const QString wrong = difference(runOp("Erfinv", {}, {x})[0], {8}, wanted, findOp("Erfinv")->tolerance);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
}

void TestElementwise::bits() {
    QCOMPARE(valuesOf(runOp("BitwiseNot", {}, {tensorOf(DType::u8, {3}, {0, 1, 255})})[0]),
             (std::vector<double>{255, 254, 0}));
    QCOMPARE(valuesOf(runOp("BitwiseNot", {}, {tensorOf(DType::i64, {3}, {0, 1, -7})})[0]),
             (std::vector<double>{-1, -2, 6}));
}

void TestElementwise::shifts() {
    const Attributes left{{"direction", std::string("LEFT")}};
    const Attributes right{{"direction", std::string("RIGHT")}};
    for (DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
        const auto width = static_cast<double>(8 * sizeOf(dtype));
        const Tensor one = tensorOf(dtype, {}, {1});
        const Tensor by = tensorOf(dtype, {4}, {0, 3, width - 1, width});
        QCOMPARE(valuesOf(runOp("BitShift", left, {one, by})[0]),
                 (std::vector<double>{1, 8, std::ldexp(1.0, static_cast<int>(width) - 1), 0}));
        const Tensor top = tensorOf(dtype, {}, {128});
        QCOMPARE(runOp("BitShift", right, {top, tensorOf(dtype, {}, {7})})[0].at(0), 1.0);
        QCOMPARE(runOp("BitShift", right, {top, tensorOf(dtype, {}, {200})})[0].at(0), 0.0);
    }
    for (DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
        const auto width = static_cast<double>(8 * sizeOf(dtype));
        const Tensor x = tensorOf(dtype, {2, 1}, {-5, 5});
        const Tensor by = tensorOf(dtype, {5}, {0, 1, width - 1, width, -1});
        QCOMPARE(valuesOf(runOp("BitShift", right, {x, by})[0]),
                 (std::vector<double>{-5, -3, -1, -1, -1, 5, 2, 0, 0, 0}));
        const double least = -std::ldexp(1.0, static_cast<int>(width) - 1);
        QCOMPARE(valuesOf(runOp("BitShift", left, {x, by})[0]),
                 (std::vector<double>{-5, -10, least, 0, 0, 5, 10, least, 0, 0}));
    }
}

void TestElementwise::swiGlu() {
    Dice dice(9);
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (const double alpha : {1.0, 1.5}) {
            const Shape shape = dice.shape(3, 6);
            const Tensor a = dice.tensor(dtype, shape, -5, 5);
            const Tensor b = dice.tensor(dtype, shape, -5, 5);
            std::vector<double> expected;
            for (std::int64_t i = 0; i < a.elementCount(); ++i)
                expected.push_back(a.at(i) * logistic(alpha * a.at(i)) * b.at(i));
            const QString wrong =
                difference(runOp("SwiGLU", {{"alpha", alpha}},
                                 {inLayout(a, dice.layout()), inLayout(b, dice.layout())})[0],
                           shape, expected, findOp("SwiGLU")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    QVERIFY(inferError([] {
                inferTypes("SwiGLU", {}, std::vector<TensorType>{{DType::f32, {2, 3}}, {DType::f32, {3}}});
            }).contains("must have the same shape"));
}

void TestElementwise::modulo() {
    for (DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
        const Tensor a = tensorOf(dtype, {6}, {-4, 7, 5, 4, -7, 8});
        const Tensor b = tensorOf(dtype, {6}, {2, -3, 8, -2, 3, 5});
        std::vector<double> expected;
        for (std::int64_t i = 0; i < 6; ++i) expected.push_back(python(a.at(i), b.at(i)));
        QCOMPARE(valuesOf(runOp("Mod", {}, {a, b})[0]), expected);
        for (std::size_t i = 0; i < 6; ++i)
            expected[i] = std::fmod(a.at(static_cast<std::int64_t>(i)), b.at(static_cast<std::int64_t>(i)));
        QCOMPARE(valuesOf(runOp("Mod", {{"fmod", true}}, {a, b})[0]), expected);
    }
    const Tensor least = Tensor::of<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()});
    QCOMPARE(runOp("Mod", {}, {least, Tensor::of<std::int64_t>({1}, {-1})})[0].at(0), 0.0);
    QVERIFY_THROWS_EXCEPTION(Error, runOp("Mod", {}, {least, Tensor::of<std::int64_t>({1}, {0})}));
    const Tensor x = tensorOf(DType::f32, {3}, {5, -5, kInf});
    const Tensor y = tensorOf(DType::f32, {3}, {0, kInf, 2});
    const QString wrong = difference(runOp("Mod", {{"fmod", true}}, {x, y})[0], {3}, {kNaN, -5, kNaN}, {});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const Tensor a = tensorOf(dtype, {9}, {-4.5, 7.5, 5, -6, 0, -5, kInf, 3, 3});
        const Tensor b = tensorOf(dtype, {9}, {2, -3, 8, -2, -3, kInf, 2, 0, -kInf});
        const Tensor got = runOp("Mod", {}, {a, b})[0];
        const QString problem = difference(got, {9}, {1.5, -1.5, 5, 0, 0, kInf, kNaN, kNaN, -kInf}, {});
        QVERIFY2(problem.isEmpty(), qPrintable(problem));
        QVERIFY(std::signbit(got.at(3)) && std::signbit(got.at(4))); // zeros with the sign of the divisor
    }
}

void TestElementwise::variadic() {
    Dice dice(17);
    for (const char* op : {"Max", "Min", "Sum", "Mean"})
        for (int round = 0; round < 60; ++round) {
            const DType dtype = dice.one(2) ? DType::f32 : DType::f64;
            const Shape shape = dice.shape(4, 6);
            std::vector<Tensor> inputs;
            Shape result;
            const auto count = static_cast<std::size_t>(dice.integer(1, 5));
            for (std::size_t i = 0; i < count; ++i) {
                inputs.push_back(inLayout(dice.tensor(dtype, operandOf(dice, shape), -9, 9), dice.layout()));
                result = i == 0 ? inputs[0].shape() : *broadcast(result, inputs[i].shape());
            }
            std::vector<double> expected(static_cast<std::size_t>(result.elementCount()));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                std::vector<double> values;
                for (const Tensor& in : inputs)
                    values.push_back(in.at(broadcastIndex(static_cast<std::int64_t>(i), result, in.shape())));
                double sum = 0;
                for (double value : values) sum += value;
                const std::string name = op;
                expected[i] = name == "Max"   ? *std::max_element(values.begin(), values.end())
                              : name == "Min" ? *std::min_element(values.begin(), values.end())
                              : name == "Sum" ? sum
                                              : sum / static_cast<double>(count);
            }
            const QString wrong =
                difference(runOp(op, {}, inputs)[0], result, expected, findOp(op)->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestElementwise::nanAmongMany() {
    const Tensor a = tensorOf(DType::f32, {4}, {kNaN, 1, 1, kInf});
    const Tensor b = tensorOf(DType::f32, {4}, {0, kNaN, 2, -kInf});
    const Tensor c = tensorOf(DType::f32, {}, {0});
    QVERIFY(difference(runOp("Max", {}, {a, b, c})[0], {4}, {kNaN, kNaN, 2, kInf}, {}).isEmpty());
    QVERIFY(difference(runOp("Min", {}, {a, b, c})[0], {4}, {kNaN, kNaN, 0, -kInf}, {}).isEmpty());
}

void TestElementwise::prelu() {
    Dice dice(5);
    for (DType dtype : kWideDTypes) {
        if (!findOp("PRelu")->inputs[0].types.contains(dtype)) continue;
        for (int round = 0; round < 30; ++round) {
            const Shape shape = dice.shape(4, 6);
            const double low = isUnsigned(dtype) ? 0 : -9;
            const Tensor x = inLayout(dice.tensor(dtype, shape, low, 9), dice.layout());
            const Tensor slope = inLayout(dice.tensor(dtype, operandOf(dice, shape), low, 9), dice.layout());
            const auto exact = [](double value, double by) { return value < 0 ? value * by : value; };
            const QString wrong = difference(runOp("PRelu", {}, {x, slope})[0], shape,
                                             expectBroadcast(shape, x, slope, exact), {1.2e-7, 0});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }
    const TensorType one{DType::f32, {3}};
    const TensorType many{DType::f32, {2, 3}};
    QVERIFY(inferError([&] {
                inferTypes("PRelu", {}, std::vector<TensorType>{one, many});
            }).contains("the slope of PRelu must broadcast to X"));
}

void TestElementwise::reluGrad() {
    Dice dice(6);
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
        for (int round = 0; round < 30; ++round) {
            const Shape shape = dice.shape(4, 6);
            const Tensor dy = inLayout(dice.tensor(dtype, shape, -9, 9), dice.layout());
            const Tensor y =
                inLayout(runOp("Relu", {}, {dice.tensor(dtype, shape, -9, 9)})[0], dice.layout());
            const auto exact = [](double gradient, double result) { return result > 0 ? gradient : 0; };
            const QString wrong = difference(runOp("ReluGrad", {}, {dy, y})[0], shape,
                                             expectBroadcast(shape, dy, y, exact), {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    // A mask hides infinities and NaN, which a product with 0 would not.
    const Tensor dx =
        runOp("ReluGrad", {},
              {tensorOf(DType::f32, {3}, {kNaN, kInf, kInf}), tensorOf(DType::f32, {3}, {0, kNaN, 1})})[0];
    QVERIFY(difference(dx, {3}, {0, 0, kInf}, {}).isEmpty());
    const std::vector<TensorType> types{{DType::f32, {2, 3}}, {DType::f32, {3}}};
    QVERIFY(inferError([&] { inferTypes("ReluGrad", {}, types); }).contains("must have its shape [3]"));
}

void TestElementwise::clip() {
    Dice dice(9);
    for (DType dtype : kWideDTypes) {
        if (dtype == DType::boolean) continue;
        for (int round = 0; round < 20; ++round) {
            const Shape shape = dice.shape(3, 6);
            const Tensor x =
                inLayout(dice.tensor(dtype, shape, isUnsigned(dtype) ? 0 : -9, 9), dice.layout());
            const bool hasLow = dice.one(2);
            const bool hasHigh = dice.one(2);
            std::vector<double> expected = valuesOf(x);
            for (double& value : expected) {
                if (hasLow) value = std::max(value, 2.0);
                if (hasHigh) value = std::min(value, 5.0);
            }
            Tensor low;
            Tensor high;
            Attributes attributes;
            if (dice.one(2)) {
                if (hasLow) low = tensorOf(dtype, {}, {2});
                if (hasHigh) high = tensorOf(dtype, {}, {5});
            } else {
                if (hasLow) attributes.set("min", std::int64_t{2});
                if (hasHigh) attributes.set("max", 5.0);
            }
            const QString wrong =
                difference(runOp("Clip", attributes, {x, low, high})[0], shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }
}

void TestElementwise::clipOfBounds() {
    const Tensor x = tensorOf(DType::f32, {3}, {-1, 0, 9});
    const auto bounded = [&](double low, double high) {
        return runOp("Clip", {}, {x, tensorOf(DType::f32, {}, {low}), tensorOf(DType::f32, {}, {high})})[0];
    };
    QCOMPARE(valuesOf(bounded(5, 2)), (std::vector<double>{2, 2, 2}));
    QVERIFY(difference(bounded(kNaN, 2), {3}, {kNaN, kNaN, kNaN}, {}).isEmpty());
    QVERIFY(difference(bounded(1, kNaN), {3}, {kNaN, kNaN, kNaN}, {}).isEmpty());
    const TensorType f32{DType::f32, {3}};
    QVERIFY(inferError([&] {
                inferTypes("Clip", {}, std::vector<TensorType>{f32, f32});
            }).contains("must be a single number"));
}

void TestElementwise::alongAxis() {
    Dice dice(99);
    for (const char* op : {"LogSoftmax", "Hardmax"})
        for (int round = 0; round < 100; ++round) {
            Shape shape = dice.shape(4, 9);
            if (round == 0) shape = Shape{3, 400, 70};
            const int rank = std::max(shape.rank(), 1);
            const std::int64_t axis = dice.integer(-rank, rank - 1);
            const auto dtype = dice.one(2) ? DType::f32 : DType::f64;
            const Tensor x = inLayout(dice.tensor(dtype, shape, -90, 90), dice.layout());
            const std::vector<double> expected =
                eachLine(shape, axis, valuesOf(x), [&](std::vector<double>& line) {
                    const auto place = std::max_element(line.begin(), line.end()) - line.begin();
                    const double most = line[static_cast<std::size_t>(place)];
                    long double sum = 0;
                    for (const double value : line) sum += std::exp(value - most);
                    for (double& value : line) value = value - most - static_cast<double>(std::log(sum));
                    if (op != std::string("Hardmax")) return;
                    std::fill(line.begin(), line.end(), 0.0);
                    line[static_cast<std::size_t>(place)] = 1;
                });
            const QString wrong =
                difference(runOp(op, {{"axis", axis}}, {x})[0], shape, expected, findOp(op)->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestElementwise::hardmaxTies() {
    const Tensor x = tensorOf(DType::f32, {3, 3}, {1, 2, 2, kNaN, 5, kNaN, -kInf, -kInf, -kInf});
    QCOMPARE(valuesOf(runOp("Hardmax", {}, {x})[0]), (std::vector<double>{0, 1, 0, 1, 0, 0, 1, 0, 0}));
    const Tensor far = tensorOf(DType::f32, {2, 2}, {1000, 0, -1000, 0});
    QCOMPARE(valuesOf(runOp("LogSoftmax", {}, {far})[0]), (std::vector<double>{0, -1000, -1000, 0}));
}

void TestElementwise::refusals() {
    const TensorType f32{DType::f32, {2}};
    const TensorType f64{DType::f64, {2}};
    const TensorType i32{DType::i32, {2}};
    const TensorType three{DType::f32, {3}};
    const auto error = [](const char* op, const Attributes& attributes,
                          const std::vector<TensorType>& types) {
        return inferError([&] { inferTypes(op, attributes, types); });
    };
    QVERIFY(error("Sin", {}, {i32}).startsWith("dtype-mismatch: Sin is not implemented for i32"));
    QVERIFY(error("And", {}, {f32, f32}).startsWith("dtype-mismatch"));
    QVERIFY(error("BitShift", {}, {f32, f32}).startsWith("dtype-mismatch"));
    QVERIFY(error("Less", {}, {f32, f64})
                .contains("self and other must have the same dtype, but got Float and Double"));
    QVERIFY(error("Max", {}, {f32, f64}).startsWith("dtype-mismatch"));
    QVERIFY(error("Max", {}, {f32, three})
                .contains("The size of tensor a (2) must match the size of tensor b (3)"));
    QVERIFY(error("Sum", {}, {i32, i32}).startsWith("dtype-mismatch"));
}

TWB_TEST_MAIN(TestElementwise)
#include "test_elementwise.moc"
