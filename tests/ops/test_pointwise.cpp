#include "support/broadcast_oracle.h"
#include "support/op_runner.h"
#include "support/places.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
    std::string op;
    std::function<double(double, double)> exact;
    double low, high;
    bool floats = true, integers = true;
};

double exactGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double exactGeluTanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

} // namespace

class TestPointwise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void binary_data();
    void binary();
    void unary_data();
    void unary();
    void large_data();
    void large();
    void integersWrap();
    void integerDivision();
    void power_data();
    void power();
    void wholePowersOfFloats();
    void equalOfEveryType();
    void where();
    void boolBytesOfAnyValue();
    void specialValues_data();
    void specialValues();
    void inPlace();
    void softmax();
    void softmaxSpecials();
};

namespace {
const Case kBinary[] = {
    {"Add", [](double a, double b) { return a + b; }, -100, 100},
    {"Sub", [](double a, double b) { return a - b; }, -100, 100},
    {"Mul", [](double a, double b) { return a * b; }, -100, 100},
    {"Div", [](double a, double b) { return a / b; }, 1, 100, true, false},
    {"Div", [](double a, double b) { return std::trunc(a / b); }, 1, 100, false, true},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }, -2, 2},
};
}

void TestPointwise::binary_data() {
    QTest::addColumn<int>("which");
    QTest::addColumn<int>("dtype");
    int which = 0;
    for (const Case& c : kBinary) {
        for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            if (isFloating(dtype) ? c.floats : c.integers)
                QTest::addRow("%s %s", c.op.c_str(), std::string(name(dtype)).c_str())
                    << which << static_cast<int>(dtype);
        ++which;
    }
}

void TestPointwise::binary() {
    QFETCH(int, which);
    QFETCH(int, dtype);
    const Case& c = kBinary[which];
    const Op& op = *findOp(c.op);
    Dice dice(1000U + static_cast<unsigned>(which));
    for (int round = 0; round < 150; ++round) {
        const Shape shape = dice.shape(5, 6);
        const auto operand = [&] {
            return inLayout(dice.tensor(static_cast<DType>(dtype), operandOf(dice, shape), c.low, c.high),
                            dice.layout());
        };
        Tensor a = operand();
        Tensor b = operand();
        if (dice.one(5)) a = repeatedTo(a, shape);
        const Shape result = *broadcast(a.shape(), b.shape());
        const Tensor out = runOp(c.op, {}, {a, b})[0];
        const QString wrong = difference(out, result, expectBroadcast(result, a, b, c.exact), op.tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

namespace {
struct UnaryCase {
    std::string op;
    Attributes attributes;
    std::function<double(double)> exact;
    double low, high;
    bool integers;
};
const UnaryCase kUnary[] = {
    {"Neg", {}, [](double x) { return -x; }, -50, 50, true},
    {"Abs", {}, [](double x) { return std::fabs(x); }, -50, 50, true},
    {"Relu", {}, [](double x) { return std::max(x, 0.0); }, -50, 50, true},
    {"Exp", {}, [](double x) { return std::exp(x); }, -30, 30, false},
    {"Log", {}, [](double x) { return std::log(x); }, 1e-3, 1e6, false},
    {"Sqrt", {}, [](double x) { return std::sqrt(x); }, 0, 1e6, false},
    {"Sigmoid", {}, [](double x) { return 1 / (1 + std::exp(-x)); }, -60, 60, false},
    {"Tanh", {}, [](double x) { return std::tanh(x); }, -12, 12, false},
    {"Gelu", {}, exactGelu, -6, 6, false},
    {"Gelu", {{"approximate", std::string("tanh")}}, exactGeluTanh, -6, 6, false},
};
} // namespace

void TestPointwise::unary_data() {
    QTest::addColumn<int>("which");
    QTest::addColumn<int>("dtype");
    int which = 0;
    for (const UnaryCase& c : kUnary) {
        for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            if (isFloating(dtype) || c.integers)
                QTest::addRow("%s%s %s", c.op.c_str(), c.attributes.empty() ? "" : " tanh",
                              std::string(name(dtype)).c_str())
                    << which << static_cast<int>(dtype);
        ++which;
    }
}

void TestPointwise::unary() {
    QFETCH(int, which);
    QFETCH(int, dtype);
    const UnaryCase& c = kUnary[which];
    Dice dice(2000U + static_cast<unsigned>(which));
    for (int round = 0; round < 100; ++round) {
        const Shape shape = dice.shape(4, 7);
        Tensor x = inLayout(dice.tensor(static_cast<DType>(dtype), shape, c.low, c.high), dice.layout());
        std::vector<double> expected = valuesOf(x);
        for (double& value : expected) value = c.exact(value);
        const QString wrong =
            difference(runOp(c.op, c.attributes, {x})[0], shape, expected, findOp(c.op)->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestPointwise::large_data() {
    QTest::addColumn<Layout>("layout");
    for (Layout layout : kLayouts) QTest::addRow("layout %d", static_cast<int>(layout)) << layout;
}

/// Large enough to run in parallel.
void TestPointwise::large() {
    QFETCH(Layout, layout);
    Dice dice(7);
    const Shape shape{37, 5, 701};
    const Tensor a = inLayout(dice.tensor(DType::f32, shape, -9, 9), layout);
    const Tensor b = inLayout(dice.tensor(DType::f32, Shape{5, 1}, -9, 9), layout);
    const auto sum = [](double x, double y) { return x + y; };
    QString wrong =
        difference(runOp("Add", {}, {a, b})[0], shape, expectBroadcast(shape, a, b, sum), {1.2e-7, 0});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    std::vector<double> expected = valuesOf(a);
    for (double& value : expected) value = std::max(value, 0.0);
    wrong = difference(runOp("Relu", {}, {a})[0], shape, expected, {});
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
}

void TestPointwise::integersWrap() {
    constexpr auto least = std::numeric_limits<std::int32_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    const Tensor a = Tensor::of<std::int32_t>({3}, {least, std::numeric_limits<std::int32_t>::max(), 65536});
    const Tensor b = Tensor::of<std::int32_t>({3}, {-1, 1, 65536});
    QCOMPARE(valuesOf(runOp("Add", {}, {a, b})[0]), (std::vector<double>{2147483647, -2147483648.0, 131072}));
    QCOMPARE(valuesOf(runOp("Mul", {}, {a, b})[0]), (std::vector<double>{least, 2147483647, 0}));
    QCOMPARE(valuesOf(runOp("Div", {}, {a, b})[0]), (std::vector<double>{least, 2147483647, 1}));
    QCOMPARE(runOp("Neg", {}, {a})[0].at(0), double(least));
    QCOMPARE(runOp("Abs", {}, {a})[0].at(0), double(least));
    const Tensor wide = Tensor::of<std::int64_t>({2}, {most, most - 1});
    const Tensor two = Tensor::of<std::int64_t>({}, {2});
    const auto sums = runOp("Add", {}, {wide, two})[0];
    QCOMPARE(static_cast<std::int64_t*>(sums.data())[0], std::numeric_limits<std::int64_t>::min() + 1);
    const auto products = runOp("Mul", {}, {wide, two})[0];
    QCOMPARE(static_cast<std::int64_t*>(products.data())[0], std::int64_t{-2});
    const auto least64 = Tensor::of<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()});
    const auto minusOne = Tensor::of<std::int64_t>({1}, {-1});
    QCOMPARE(static_cast<std::int64_t*>(runOp("Div", {}, {least64, minusOne})[0].data())[0],
             std::numeric_limits<std::int64_t>::min());
}

void TestPointwise::integerDivision() {
    const Tensor a = Tensor::of<std::int64_t>({4}, {7, -7, 7, -7});
    const Tensor b = Tensor::of<std::int64_t>({4}, {2, 2, -2, -2});
    QCOMPARE(valuesOf(runOp("Div", {}, {a, b})[0]), (std::vector<double>{3, -3, -3, 3}));
    for (std::int64_t size : {std::int64_t{3}, std::int64_t{100000}}) {
        const Tensor ones = Tensor::onHost({DType::i32, Shape{size}});
        std::fill_n(ones.values<std::int32_t>().data(), size, 1);
        const Tensor zero = Tensor::of<std::int32_t>({}, {0});
        try {
            runOp("Div", {}, {ones, zero});
            QFAIL("a division of integers by zero must be an error");
        } catch (const Error& error) {
            QVERIFY(QString(error.what()).contains("integer division by zero"));
        }
    }
    // Without elements, nothing is divided.
    const Tensor none = Tensor::onHost({DType::i32, Shape{0}});
    QCOMPARE(runOp("Div", {}, {none, Tensor::of<std::int32_t>({}, {0})})[0].elementCount(), 0);
}

void TestPointwise::power_data() {
    QTest::addColumn<int>("base");
    QTest::addColumn<int>("exponent");
    for (DType base : {DType::f32, DType::f64, DType::i32, DType::i64})
        for (DType exponent : {DType::f32, DType::f64, DType::i32, DType::i64})
            QTest::addRow("%s ^ %s", std::string(name(base)).c_str(), std::string(name(exponent)).c_str())
                << static_cast<int>(base) << static_cast<int>(exponent);
}

void TestPointwise::power() {
    QFETCH(int, base);
    QFETCH(int, exponent);
    const auto from = static_cast<DType>(base);
    const auto to = static_cast<DType>(exponent);
    Dice dice(31);
    for (int round = 0; round < 50; ++round) {
        const Shape shape = dice.shape(3, 5);
        const Tensor x = inLayout(dice.tensor(from, operandOf(dice, shape), 1, 9), dice.layout());
        const Tensor y = inLayout(dice.tensor(to, operandOf(dice, shape), 0, 6), dice.layout());
        const Shape result = *broadcast(x.shape(), y.shape());
        const auto exact = [&](double a, double b) {
            return isFloating(from) ? std::pow(a, b) : std::trunc(std::pow(a, b));
        };
        const Tensor out = runOp("Pow", {}, {x, y})[0];
        QCOMPARE(out.dtype(), from);
        const QString wrong =
            difference(out, result, expectBroadcast(result, x, y, exact), findOp("Pow")->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
    if (!isFloating(from) && !isFloating(to)) {
        const Tensor bases = tensorOf(from, {6}, {2, 1, -1, -1, 0, -3});
        const Tensor powers = tensorOf(to, {6}, {-1, -5, -3, -4, -2, 3});
        QCOMPARE(valuesOf(runOp("Pow", {}, {bases, powers})[0]), (std::vector<double>{0, 1, -1, 1, 0, -27}));
    }
}

/// Zeros of both signs, infinities, NaN, overflow and underflow, and exponents of any size.
void TestPointwise::wholePowersOfFloats() {
    const std::vector<double> bases{0.0, -0.0, 1, -1, 1.5, -2, 0.3, 1.0001, 3e38, 1e-40, kInf, -kInf, kNaN};
    for (const std::int64_t exponent :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{-3},
          std::int64_t{7}, std::int64_t{1000}, std::int64_t{-1024}, std::int64_t{1025}, std::int64_t{1} << 40,
          std::numeric_limits<std::int64_t>::min()})
        for (const DType dtype : {DType::f32, DType::f64}) {
            const Tensor x = tensorOf(dtype, {static_cast<std::int64_t>(bases.size())}, bases);
            std::vector<double> expected = valuesOf(x);
            for (double& value : expected) {
                value = std::pow(value, static_cast<double>(exponent));
                if (dtype == DType::f32) value = static_cast<float>(value);
            }
            const Tensor out = runOp("Pow", {}, {x, Tensor::of<std::int64_t>({}, {exponent})})[0];
            const QString wrong = difference(out, x.shape(), expected, findOp("Pow")->tolerance);
            QVERIFY2(wrong.isEmpty(), qPrintable(QString::number(exponent) + ": " + wrong));
            for (std::int64_t i = 0; i < out.elementCount(); ++i)
                if (const double wanted = expected[static_cast<std::size_t>(i)]; wanted == 0)
                    QCOMPARE(std::signbit(out.at(i)), std::signbit(wanted));
        }
}

void TestPointwise::equalOfEveryType() {
    for (DType dtype : kWideDTypes) {
        if (dtype == DType::f16 || dtype == DType::bf16) continue;
        const Tensor a = tensorOf(dtype, {4}, {0, 1, 1, 0});
        const Tensor b = tensorOf(dtype, {4}, {0, 1, 0, 1});
        const Tensor out = runOp("Equal", {}, {a, b})[0];
        QCOMPARE(out.dtype(), DType::boolean);
        QCOMPARE(valuesOf(out), (std::vector<double>{1, 1, 0, 0}));
    }
    // Integers that are equal when converted to double.
    const Tensor a = Tensor::of<std::int64_t>({1}, {(std::int64_t{1} << 53) + 1});
    const Tensor b = Tensor::of<std::int64_t>({1}, {std::int64_t{1} << 53});
    QCOMPARE(runOp("Equal", {}, {a, b})[0].at(0), 0.0);
}

void TestPointwise::where() {
    Dice dice(77);
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::i16})
        for (int round = 0; round < 60; ++round) {
            const Shape shape = dice.shape(4, 5);
            const Tensor c =
                inLayout(dice.tensor(DType::boolean, operandOf(dice, shape), 0, 1), dice.layout());
            const Tensor x = inLayout(dice.tensor(dtype, operandOf(dice, shape), -9, 9), dice.layout());
            const Tensor y = inLayout(dice.tensor(dtype, operandOf(dice, shape), -9, 9), dice.layout());
            const Shape result = *broadcast(c.shape(), *broadcast(x.shape(), y.shape()));
            std::vector<double> expected(static_cast<std::size_t>(result.elementCount()));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const auto at = static_cast<std::int64_t>(i);
                const bool takesX = c.at(broadcastIndex(at, result, c.shape())) != 0;
                const Tensor& from = takesX ? x : y;
                expected[i] = from.at(broadcastIndex(at, result, from.shape()));
            }
            const QString wrong = difference(runOp("Where", {}, {c, x, y})[0], result, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

/// Files may contain bools other than 0 and 1.
void TestPointwise::boolBytesOfAnyValue() {
    const Tensor odd = Tensor::onHost({DType::boolean, Shape{4}});
    const unsigned char bytes[] = {0, 1, 2, 255};
    std::memcpy(odd.data(), bytes, 4);
    const Tensor whole = tensorOf(DType::i32, {4}, {1, 1, 1, 1});
    const Tensor none = tensorOf(DType::i32, {}, {0});
    QCOMPARE(valuesOf(runOp("Where", {}, {odd, whole, none})[0]), (std::vector<double>{0, 1, 1, 1}));
    QCOMPARE(valuesOf(runOp("Cast", {{"to", std::string("i32")}}, {odd})[0]),
             (std::vector<double>{0, 1, 1, 1}));
    const Tensor yes = tensorOf(DType::boolean, {}, {1});
    QCOMPARE(valuesOf(runOp("Equal", {}, {odd, yes})[0]), (std::vector<double>{0, 1, 1, 1}));
    QCOMPARE(valuesOf(runOp("ReduceMax", {}, {odd})[0]), (std::vector<double>{1}));
}

void TestPointwise::specialValues_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<std::vector<double>>("expected");
    const auto row = [](const char* op, std::vector<double> expected) {
        QTest::addRow("%s", op) << QString(op) << expected;
    };
    // The inputs are NaN, ∞, −∞, 0, −0.
    row("Neg", {kNaN, -kInf, kInf, -0.0, 0.0});
    row("Abs", {kNaN, kInf, kInf, 0, 0});
    row("Relu", {kNaN, kInf, 0, 0, 0});
    row("Exp", {kNaN, kInf, 0, 1, 1});
    row("Log", {kNaN, kInf, kNaN, -kInf, -kInf});
    row("Sqrt", {kNaN, kInf, kNaN, 0, 0});
    row("Sigmoid", {kNaN, 1, 0, 0.5, 0.5});
    row("Tanh", {kNaN, 1, -1, 0, 0});
    row("Gelu", {kNaN, kInf, kNaN, 0, 0});
}

void TestPointwise::specialValues() {
    QFETCH(QString, op);
    QFETCH(std::vector<double>, expected);
    for (DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = tensorOf(dtype, {5}, {kNaN, kInf, -kInf, 0.0, -0.0});
        const QString wrong = difference(runOp(op.toStdString(), {}, {x})[0], {5}, expected, {});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const Tensor zero = tensorOf(dtype, {}, {0});
        QVERIFY(
            difference(runOp("Div", {}, {x, zero})[0], {5}, {kNaN, kInf, -kInf, kNaN, kNaN}, {}).isEmpty());
    }
}

/// The planner reuses an input's buffer for the output if the table allows it.
void TestPointwise::inPlace() {
    int tested = 0;
    for (const Op& op : opTable()) {
        if (op.inPlace.empty()) continue;
        for (int port : op.inPlace) {
            Dice dice(5);
            std::vector<Tensor> inputs;
            for (const PortSpec& spec : op.inputs) {
                if (spec.hostValue || spec.optional) continue;
                DType dtype = DType::f32;
                for (DType other : {DType::boolean, DType::u8, DType::i64})
                    if (!spec.types.contains(dtype)) dtype = other;
                inputs.push_back(dice.tensor(dtype, Shape{40, 1001}, 0.5, 3));
            }
            Attributes attributes;
            if (op.name == "Reshape") attributes.set("shape", std::vector<std::int64_t>{1001, 40});
            if (op.name == "Mod") attributes.set("fmod", true);
            if (op.name == "Unsqueeze") attributes.set("axes", std::int64_t{0});
            // Ops with stricter inputs are tested in place by their own suites.
            if (!inferError([&] { inferTypes(op.name, attributes, inputs); }).isEmpty()) continue;
            ++tested;
            const Tensor expected = Tensor::onHost(inferTypes(op.name, attributes, inputs)[0]);
            std::vector<TensorView> views;
            for (const Tensor& input : inputs) views.push_back(input.view());
            TensorView out = inputs[static_cast<std::size_t>(port)].view();
            out.shape = expected.shape();
            out.strides = denseStrides(out.shape);
            for (TensorView to : {expected.view(), out})
                op.kernel({views, std::span(&to, 1), completeAttributes(op, attributes), nullptr});
            // Compares bytes, since NaN must stay NaN.
            QVERIFY2(std::memcmp(out.data, expected.data(), static_cast<std::size_t>(expected.byteCount())) ==
                         0,
                     op.name.c_str());
        }
    }
    QVERIFY(tested > 70);
}

void TestPointwise::softmax() {
    Dice dice(99);
    for (int round = 0; round < 200; ++round) {
        Shape shape = dice.shape(4, 9);
        if (round == 0) shape = Shape{3, 400, 70};
        if (round == 1) shape = Shape{70000};
        const int rank = std::max(shape.rank(), 1);
        const std::int64_t axis = dice.integer(-rank, rank - 1);
        const auto dtype = dice.one(2) ? DType::f32 : DType::f64;
        const Tensor x = inLayout(dice.tensor(dtype, shape, -90, 90), dice.layout());
        const std::vector<double> expected =
            eachLine(shape, axis, valuesOf(x), [](std::vector<double>& line) {
                const double most = *std::max_element(line.begin(), line.end());
                long double sum = 0;
                for (double& value : line) sum += value = std::exp(value - most);
                for (double& value : line) value = static_cast<double>(value / sum);
            });
        const QString wrong = difference(runOp("Softmax", {{"axis", axis}}, {x})[0], shape, expected,
                                         findOp("Softmax")->tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestPointwise::softmaxSpecials() {
    for (DType dtype : {DType::f32, DType::f64}) {
        const Tensor x =
            tensorOf(dtype, {4, 3}, {1, kNaN, 2, -kInf, 0, -kInf, -kInf, -kInf, -kInf, 1, kInf, 2});
        const QString wrong = difference(runOp("Softmax", {}, {x})[0], {4, 3},
                                         {kNaN, kNaN, kNaN, 0, 1, 0, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}, {});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

TWB_TEST_MAIN(TestPointwise)
#include "test_pointwise.moc"
