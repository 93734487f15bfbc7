#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

double lowest(DType dtype) { return dtype == DType::i8 ? -128 : dtype == DType::i16 ? -32768 : 0; }
double highest(DType dtype) {
    return dtype == DType::i8 ? 127 : dtype == DType::u8 ? 255 : dtype == DType::i16 ? 32767 : 65535;
}

/// The index of the scale of x's element `i`, by ONNX's layout of scales.
std::int64_t scaleOf(std::int64_t i, const Shape& x, const Shape& scale, int axis, std::int64_t block) {
    if (scale.elementCount() == 1 && block == 0) return 0;
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (int d = x.rank() - 1; d >= 0; --d) {
        std::int64_t place = i % x[d];
        i /= x[d];
        if (block == 0) {
            if (d == axis) at = place;
            continue;
        }
        if (d == axis) place /= block;
        at += place * step;
        step *= scale[d];
    }
    return at;
}

constexpr DType kQuantized[] = {DType::i8, DType::u8, DType::i16, DType::u16};

} // namespace

class TestQuantize : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTrips();
    void halves();
    void dtypes();
    void dynamic();
    void integerProducts();
    void quantizedProducts();
    void refusals();
};

void TestQuantize::roundTrips() {
    Dice dice(1);
    for (DType dtype : kQuantized)
        for (int round = 0; round < 80; ++round) {
            Shape shape = dice.shape(4, 7);
            if (round == 0) shape = Shape{4, 300, 150};
            const int axis = shape.rank() ? static_cast<int>(dice.integer(0, shape.rank() - 1)) : 0;
            Shape scaleShape;
            std::int64_t block = 0;
            if (shape.rank() > 0 && dice.one(2)) {
                if (dice.one(2)) {
                    block = dice.integer(1, 4);
                    scaleShape = shape;
                    scaleShape[axis] = (shape[axis] + block - 1) / block;
                } else {
                    scaleShape = Shape{shape[axis]};
                }
            }
            // Division by powers of two is exact, so the oracle rounds exactly where the kernel does.
            Tensor scale = dice.tensor(DType::i32, scaleShape, -3, 3);
            std::vector<double> scales = valuesOf(scale);
            for (double& s : scales) s = std::ldexp(1.0, static_cast<int>(s));
            scale = inLayout(tensorOf(DType::f32, scaleShape, scales), dice.layout());
            const Tensor zero =
                inLayout(dice.tensor(dtype, scaleShape, std::max(lowest(dtype), -9.0), 9), dice.layout());
            const Tensor x = inLayout(dice.tensor(DType::f32, shape, -300, 300), dice.layout());
            const Attributes attributes{{"axis", std::int64_t{axis}}, {"block_size", block}};
            std::vector<double> expected = valuesOf(x);
            std::vector<double> back(expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const std::int64_t at = scaleOf(static_cast<std::int64_t>(i), shape, scaleShape, axis, block);
                const double rounded = std::nearbyint(expected[i] / scale.at(at)) + zero.at(at);
                expected[i] = std::clamp(rounded, lowest(dtype), highest(dtype));
                back[i] = (expected[i] - zero.at(at)) * scale.at(at);
            }
            const Tensor y = runOp("QuantizeLinear", attributes, {x, scale, zero})[0];
            QCOMPARE(y.dtype(), dtype);
            QString wrong = difference(y, shape, expected, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            wrong = difference(runOp("DequantizeLinear", attributes, {y, scale, zero})[0], shape, back, {});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
}

void TestQuantize::halves() {
    const Tensor x = tensorOf(DType::f32, {7}, {0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30});
    const Tensor one = tensorOf(DType::f32, {}, {1});
    QCOMPARE(valuesOf(runOp("QuantizeLinear", {{"output_dtype", std::string("i8")}}, {x, one})[0]),
             (std::vector<double>{0, 2, 2, 0, -2, 127, -128}));
    QCOMPARE(valuesOf(runOp("QuantizeLinear", {}, {x, one})[0]),
             (std::vector<double>{0, 2, 2, 0, 0, 255, 0}));
}

void TestQuantize::dtypes() {
    const Tensor scale = tensorOf(DType::f16, {}, {0.5});
    const Tensor x = tensorOf(DType::bf16, {2}, {1, 3});
    QCOMPARE(valuesOf(runOp("QuantizeLinear", {}, {x, scale})[0]), (std::vector<double>{2, 6}));
    const Tensor whole = tensorOf(DType::i32, {2}, {7, -2147483648.0});
    const Tensor out = runOp("DequantizeLinear", {}, {whole, scale})[0];
    QCOMPARE(out.dtype(), DType::f16);
    QCOMPARE(out.at(0), 3.5);
    QCOMPARE(runOp("DequantizeLinear", {{"output_dtype", std::string("f32")}}, {whole, scale})[0].at(1),
             -1073741824.0);
}

void TestQuantize::dynamic() {
    const auto run = [](const std::vector<double>& values) {
        return runOp("DynamicQuantizeLinear", {},
                     {tensorOf(DType::f32, {static_cast<std::int64_t>(values.size())}, values)});
    };
    // The example in ONNX's specification.
    auto out = run({0, 2, -3, -2.5, 1.34, 0.5});
    QCOMPARE(valuesOf(out[0]), (std::vector<double>{153, 255, 0, 26, 221, 179}));
    QCOMPARE(out[1].at(0), double(5.0F / 255.0F));
    QCOMPARE(out[2].at(0), 153.0);
    out = run({0, 0});
    QCOMPARE(valuesOf(out[0]), (std::vector<double>{0, 0}));
    QCOMPARE(run({})[0].elementCount(), 0);
}

void TestQuantize::integerProducts() {
    Dice dice(2);
    for (int round = 0; round < 60; ++round) {
        const DType ta = dice.one(2) ? DType::i8 : DType::u8;
        const DType tb = dice.one(2) ? DType::i8 : DType::u8;
        const std::int64_t m = dice.integer(1, 5);
        const std::int64_t k = dice.integer(0, 6);
        const std::int64_t n = dice.integer(1, 5);
        const Tensor a = inLayout(dice.tensor(ta, {m, k}, lowest(ta), highest(ta)), dice.layout());
        const Tensor b = inLayout(dice.tensor(tb, {k, n}, lowest(tb), highest(tb)), dice.layout());
        Tensor za;
        Tensor zb;
        if (dice.one(2)) za = dice.tensor(ta, dice.one(2) ? Shape{} : Shape{m}, lowest(ta), highest(ta));
        if (dice.one(2)) zb = dice.tensor(tb, dice.one(2) ? Shape{} : Shape{n}, lowest(tb), highest(tb));
        std::vector<double> expected(static_cast<std::size_t>(m * n));
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t p = 0; p < k; ++p) {
                    const double x = a.at(i * k + p) - (za ? za.at(za.elementCount() == 1 ? 0 : i) : 0);
                    const double y = b.at(p * n + j) - (zb ? zb.at(zb.elementCount() == 1 ? 0 : j) : 0);
                    expected[static_cast<std::size_t>(i * n + j)] += x * y;
                }
        const QString wrong = difference(runOp("MatMulInteger", {}, {a, b, za, zb})[0], {m, n}, expected, {});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestQuantize::quantizedProducts() {
    Dice dice(3);
    for (int round = 0; round < 40; ++round) {
        const DType type = dice.one(2) ? DType::i8 : DType::u8;
        const Tensor a = dice.tensor(type, {2, 3, 4}, lowest(type), highest(type));
        const Tensor b = dice.tensor(type, {4, 5}, lowest(type), highest(type));
        const Tensor scaleA = tensorOf(DType::f32, {3}, {0.5, 0.25, 1});
        const Tensor scaleB = tensorOf(DType::f32, {}, {0.125});
        const Tensor scaleY = tensorOf(DType::f32, {}, {16});
        const Tensor zero = tensorOf(type, {}, {5});
        const Tensor y = runOp("QLinearMatMul", {}, {a, scaleA, zero, b, scaleB, zero, scaleY, zero})[0];
        std::vector<double> expected;
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 5; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < 4; ++p) sum += (a.at(i * 4 + p) - 5) * (b.at(p * 5 + j) - 5);
                const double scaled = std::nearbyint(sum * scaleA.at(i % 3) * 0.125 / 16) + 5;
                expected.push_back(std::clamp(scaled, lowest(type), highest(type)));
            }
        const QString wrong = difference(y, {2, 3, 5}, expected, {});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

void TestQuantize::refusals() {
    const TensorType x{DType::f32, {4, 6}};
    const auto error = [&](const Attributes& attributes, const TensorType& scale) {
        return inferError([&] {
            inferTypes("QuantizeLinear", attributes, std::vector<TensorType>{x, scale});
        });
    };
    QVERIFY(error({}, {DType::f32, {5}}).contains("along dimension 1 it needs 6"));
    QVERIFY(error({}, {DType::f32, {4, 6}}).contains("set block_size for blocks"));
    QVERIFY(error({{"block_size", std::int64_t{4}}}, {DType::f32, {4, 3}}).contains("dimension 1 must be 2"));
    QVERIFY(error({{"block_size", std::int64_t{-1}}}, {DType::f32, {}}).startsWith("attribute"));
    QVERIFY(error({{"axis", std::int64_t{7}}}, {DType::f32, {6}}).contains("Dimension out of range"));
    QVERIFY(error({}, {DType::f32, {6}}).isEmpty());
    QVERIFY(inferError([] {
                inferTypes(
                    "MatMulInteger", {},
                    std::vector<TensorType>{{DType::i8, {2, 3}}, {DType::i8, {3, 4}}, {DType::i8, {3}}});
            }).contains("must be one number or one per row"));
}

TWB_TEST_MAIN(TestQuantize)
#include "test_quantize.moc"
