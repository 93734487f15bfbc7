#include "core/narrow.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

std::vector<DType> narrowDTypes() {
    std::vector<DType> out;
    for (const DType dtype : kAllDTypes)
        if (isNarrow(dtype)) out.push_back(dtype);
    return out;
}

/// Every code of a dtype, once.
Tensor allCodes(DType dtype) {
    const int count = 1 << bitsOf(dtype);
    std::vector<std::uint8_t> codes;
    for (int code = 0; code < count; ++code) codes.push_back(static_cast<std::uint8_t>(code));
    Tensor out = Tensor::onHost({dtype, Shape{count}});
    packCodes(dtype, codes.data(), out.data(), 0, count);
    return out;
}

Attributes to(DType dtype) { return {{"to", std::string(name(dtype))}}; }

Tensor cast(const Tensor& x, DType dtype, Attributes more = {}) {
    more.set("to", std::string(name(dtype)));
    return runOp("Cast", more, {x})[0];
}

bool areEqual(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

} // namespace

class TestNarrowDTypes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyCodeCastsToWiderDTypes();
    void everyCodeCastsToNarrowDTypes();
    void roundsOnce();
    void saturatesUnlessToldNot();
    void integersKeepTheirLowBits();
    void largeTensors();
    void constants();
    void movesWhole();
    void transposes();
    void quantizes();
    void quantizesToFloats();
    void dequantizesInBlocks();
    void otherOpsRefuse();
    void countsPackedBytes();
};

void TestNarrowDTypes::everyCodeCastsToWiderDTypes() {
    for (const DType from : narrowDTypes()) {
        const Tensor codes = allCodes(from);
        const std::vector<double> values = valuesOf(codes);
        for (const DType wide : kWideDTypes) {
            const Tensor out = cast(codes, wide);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double value = values[i];
                const double got = out.at(static_cast<std::int64_t>(i));
                double expected = value;
                if (wide == DType::boolean)
                    expected = value != 0 ? 1 : 0;
                else if (wide == DType::f16)
                    expected = static_cast<float>(Half(static_cast<float>(value)));
                else if (!isFloating(wide)) // as from f32
                    expected = cast(tensorOf(DType::f32, {}, {value}), wide).at(0);
                // Integers keep their low bits instead.
                if (isInteger(wide) && holdsIntegers(from) && value < 0) continue;
                QVERIFY2(
                    areEqual(got, expected),
                    qPrintable(
                        QString("%1 to %2: %3").arg(name(from).data()).arg(name(wide).data()).arg(value)));
            }
        }
    }
    QCOMPARE(cast(tensorOf(DType::i4, {}, {-1}), DType::u8).at(0), 255.0);
    QCOMPARE(cast(tensorOf(DType::i2, {}, {-2}), DType::i64).at(0), -2.0);
}

/// The result is that of the cast through f32, which holds all narrow numbers.
void TestNarrowDTypes::everyCodeCastsToNarrowDTypes() {
    for (const DType from : narrowDTypes())
        for (const DType other : narrowDTypes()) {
            if (other == from) continue; // keeps infinity, which a cast through f32 saturates
            const Tensor codes = allCodes(from);
            const DType between = holdsIntegers(from) ? DType::i32 : DType::f32;
            const std::vector<double> got = valuesOf(cast(codes, other));
            const std::vector<double> expected = valuesOf(cast(cast(codes, between), other));
            QCOMPARE(got.size(), expected.size());
            for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(areEqual(got[i], expected[i]));
            // CastLike takes the dtype of the other tensor.
            const Tensor like = runOp("CastLike", {}, {codes, allCodes(other)})[0];
            QCOMPARE(like.dtype(), other);
            QCOMPARE(std::memcmp(like.data(), cast(codes, other).data(),
                                 static_cast<std::size_t>(like.byteCount())),
                     0);
        }
}

/// f64 and i64 numbers just beside the middle of two neighbours, which f32 would round to the middle.
void TestNarrowDTypes::roundsOnce() {
    const double low = 1;
    const double high = 1.125;
    const double middle = (low + high) / 2;
    const Tensor x =
        tensorOf(DType::f64, {3}, {middle, std::nextafter(middle, 2), std::nextafter(middle, 0)});
    QCOMPARE(valuesOf(cast(x, DType::f8e4m3fn)), (std::vector<double>{low, high, low}));
    // 2^62 · 1.5 and its neighbour: between 2^62 and 2^63.
    const std::int64_t tie = std::int64_t{3} << 61;
    const Tensor whole = Tensor::of<std::int64_t>({3}, {tie, tie - 1, -(tie - 1)});
    const Attributes nearest{{"round_mode", std::string("nearest")}};
    QCOMPARE(valuesOf(cast(whole, DType::f8e8m0, nearest)), (std::vector<double>{0x1p63, 0x1p62, 0x1p62}));
    const Tensor large = Tensor::of<std::uint64_t>({1}, {(std::uint64_t{3} << 62) - 1});
    QCOMPARE(cast(large, DType::f8e8m0, nearest).at(0), 0x1p63);
    // f16 numbers, and bool.
    QCOMPARE(valuesOf(cast(tensorOf(DType::f16, {2}, {448, 65504}), DType::f8e5m2)),
             (std::vector<double>{448, 57344}));
    QCOMPARE(valuesOf(cast(tensorOf(DType::boolean, {2}, {1, 0}), DType::f8e4m3fnuz)),
             (std::vector<double>{1, 0}));
    QCOMPARE(valuesOf(cast(tensorOf(DType::boolean, {3}, {1, 0, 1}), DType::u2)),
             (std::vector<double>{1, 0, 1}));
}

void TestNarrowDTypes::saturatesUnlessToldNot() {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor x = tensorOf(DType::f32, {5}, {1e6, -inf, nan, 448, -0.0});
    const auto check = [&](DType dtype, bool saturate, const std::vector<double>& expected) {
        const std::vector<double> got = valuesOf(cast(x, dtype, {{"saturate", saturate}}));
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(areEqual(got[i], expected[i]));
    };
    check(DType::f8e4m3fn, true, {448, -448, nan, 448, 0});
    check(DType::f8e4m3fn, false, {nan, nan, nan, 448, 0});
    check(DType::f8e4m3fnuz, true, {240, -240, nan, 240, 0});
    check(DType::f8e4m3fnuz, false, {nan, nan, nan, nan, 0});
    check(DType::f8e5m2, true, {57344, -57344, nan, 448, 0});
    check(DType::f8e5m2, false, {inf, -inf, nan, 448, 0});
    check(DType::f8e5m2fnuz, false, {nan, nan, nan, 448, 0});
    const Tensor most = tensorOf(DType::f32, {2}, {std::numeric_limits<float>::max(), 3});
    const auto power = [&](bool saturate, const char* mode) {
        return valuesOf(
            cast(most, DType::f8e8m0, {{"saturate", saturate}, {"round_mode", std::string(mode)}}));
    };
    QCOMPARE(power(true, "up"), (std::vector<double>{0x1p127, 4}));
    QCOMPARE(power(true, "down"), (std::vector<double>{0x1p127, 2}));
    QVERIFY(std::isnan(power(false, "nearest")[0]));
}

void TestNarrowDTypes::integersKeepTheirLowBits() {
    const Tensor x = tensorOf(DType::i32, {5}, {7, 8, -9, 18, -1});
    QCOMPARE(valuesOf(cast(x, DType::i4)), (std::vector<double>{7, -8, 7, 2, -1}));
    QCOMPARE(valuesOf(cast(x, DType::u4)), (std::vector<double>{7, 8, 7, 2, 15}));
    QCOMPARE(valuesOf(cast(x, DType::i2)), (std::vector<double>{-1, 0, -1, -2, -1}));
    QCOMPARE(valuesOf(cast(x, DType::u2)), (std::vector<double>{3, 0, 3, 2, 3}));
    // Floats are truncated first.
    const Tensor y = tensorOf(DType::f32, {5}, {1.9, -1.9, 9, -9.5, std::nan("")});
    QCOMPARE(valuesOf(cast(y, DType::i4)), (std::vector<double>{1, -1, -7, 7, 0}));
    QCOMPARE(valuesOf(cast(y, DType::u2)), (std::vector<double>{1, 3, 1, 3, 0}));
}

/// Threads write whole bytes.
void TestNarrowDTypes::largeTensors() {
    Dice dice(3);
    for (const DType dtype : {DType::i4, DType::u2, DType::f8e4m3fn}) {
        const Shape shape{301, 3001};
        const Tensor x = dice.tensor(DType::i32, shape, 0, 1);
        const Tensor there = cast(x, dtype);
        QCOMPARE(valuesOf(cast(there, DType::i32)), valuesOf(x));
        const Tensor strided = inLayout(cast(x, DType::f32), Layout::swapped);
        QCOMPARE(valuesOf(cast(strided, dtype)), valuesOf(x));
    }
}

void TestNarrowDTypes::constants() {
    const auto constant = [](DType dtype, const AttributeValue& value) {
        Attributes attributes{{"dtype", std::string(name(dtype))}};
        attributes.set("value", value);
        return runOp("Constant", attributes, {})[0];
    };
    QCOMPARE(valuesOf(constant(DType::i4, std::vector<std::int64_t>{-8, 7, 3})),
             (std::vector<double>{-8, 7, 3}));
    QCOMPARE(valuesOf(constant(DType::f8e5m2, std::vector<double>{1.25, -57344, HUGE_VAL})),
             (std::vector<double>{1.25, -57344, HUGE_VAL}));
    QCOMPARE(constant(DType::f4e2m1, std::int64_t{6}).at(0), 6.0);
    QCOMPARE(runOp("Constant",
                   {{"dtype", std::string("u2")},
                    {"value", std::int64_t{3}},
                    {"shape", std::vector<std::int64_t>{3, 3}}},
                   {})[0]
                 .byteCount(),
             std::int64_t{3});
    QVERIFY(inferError([&] { constant(DType::i4, std::int64_t{8}); }).contains("i4 cannot hold"));
    QVERIFY(inferError([&] { constant(DType::u2, std::vector<double>{-1}); }).contains("u2 cannot hold"));
}

void TestNarrowDTypes::movesWhole() {
    Dice dice(5);
    for (const DType dtype : narrowDTypes()) {
        const Tensor x = cast(dice.tensor(DType::f32, Shape{3, 5}, 0, 3), dtype);
        const std::vector<double> values = valuesOf(x);
        QCOMPARE(valuesOf(runOp("Identity", {}, {x})[0]), values);
        const Tensor flat = runOp("Reshape", {{"shape", std::vector<std::int64_t>{-1}}}, {x})[0];
        QCOMPARE(flat.shape(), (Shape{15}));
        QCOMPARE(valuesOf(flat), values);
        QCOMPARE(valuesOf(runOp("Unsqueeze", {{"axes", std::vector<std::int64_t>{0}}}, {x})[0]), values);
        QCOMPARE(valuesOf(runOp("Flatten", {{"axis", std::int64_t{0}}}, {x})[0]), values);
        QCOMPARE(valuesOf(runOp("Shape", {}, {x})[0]), (std::vector<double>{3, 5}));
    }
    QCOMPARE(runOp("BitCast", to(DType::i4), {tensorOf(DType::u4, {3}, {15, 7, 8})})[0].toIntegers(),
             (std::vector<std::int64_t>{-1, 7, -8}));
    QCOMPARE(runOp("BitCast", to(DType::f8e5m2), {tensorOf(DType::u8, {1}, {0x7b})})[0].at(0), 57344.0);
    QVERIFY(inferError([&] {
                runOp("BitCast", to(DType::i8), {tensorOf(DType::u4, {2}, {1, 2})});
            }).contains("an element of u4 has 4 bits and one of i8 has 8"));
}

void TestNarrowDTypes::transposes() {
    Dice dice(6);
    for (const DType dtype : narrowDTypes()) {
        const Tensor x = cast(dice.tensor(DType::f32, Shape{3, 5, 2}, 0, 3), dtype);
        const Attributes order{{"perm", std::vector<std::int64_t>{2, 0, 1}}};
        QCOMPARE(valuesOf(runOp("Transpose", order, {x})[0]),
                 valuesOf(runOp("Transpose", order, {cast(x, DType::f32)})[0]));
    }
}

/// Against the formula, for the tensor, an axis and blocks of it.
void TestNarrowDTypes::quantizes() {
    Dice dice(7);
    for (const DType dtype : {DType::i4, DType::u4, DType::i2, DType::u2}) {
        const Shape shape{5, 7, 3};
        const Tensor x = dice.tensor(DType::f32, shape, -40, 40);
        for (const int form : {0, 1, 2}) {
            const Shape scaleShape = form == 0 ? Shape{} : form == 1 ? Shape{7} : Shape{5, 3, 3};
            const Tensor scale =
                tensorOf(DType::f32, scaleShape,
                         std::vector<double>(static_cast<std::size_t>(scaleShape.elementCount()), 4));
            const Tensor zero = cast(dice.tensor(DType::i32, scaleShape, 0, 1), dtype);
            const Attributes attributes{{"axis", std::int64_t{1}},
                                        {"block_size", std::int64_t{form == 2 ? 3 : 0}}};
            const Tensor y = runOp("QuantizeLinear", attributes, {x, scale, zero})[0];
            QCOMPARE(y.dtype(), dtype);
            const Tensor back = runOp("DequantizeLinear", attributes, {y, scale, zero})[0];
            const auto zeroAt = [&](std::int64_t i) {
                const std::int64_t row = i / 3 % 7;
                return zero.at(form == 0 ? 0 : form == 1 ? row : (i / 21 * 3 + row / 3) * 3 + i % 3);
            };
            for (std::int64_t i = 0; i < x.elementCount(); ++i) {
                const double expected =
                    std::clamp(std::nearbyint(x.at(i) / 4) + zeroAt(i), static_cast<double>(leastOf(dtype)),
                               static_cast<double>(largestOf(dtype)));
                QCOMPARE(y.at(i), expected);
                QCOMPARE(back.at(i), (expected - zeroAt(i)) * 4);
            }
        }
    }
}

void TestNarrowDTypes::quantizesToFloats() {
    const Tensor x = tensorOf(DType::f32, {4}, {2, 17, -1000, 3e6});
    const Tensor scale = tensorOf(DType::f32, {}, {2});
    const auto quantized = [&](const char* dtype, bool saturate) {
        return valuesOf(runOp("QuantizeLinear",
                              {{"output_dtype", std::string(dtype)}, {"saturate", saturate}}, {x, scale})[0]);
    };
    QCOMPARE(quantized("f8e5m2", true), (std::vector<double>{1, 8, -512, 57344}));
    QCOMPARE(quantized("f8e5m2", false)[3], HUGE_VAL);
    QCOMPARE(quantized("f8e4m3fn", true), (std::vector<double>{1, 8, -448, 448}));
    QCOMPARE(quantized("f4e2m1", true), (std::vector<double>{1, 6, -6, 6}));
    const Tensor y = tensorOf(DType::f8e4m3fn, {3}, {0.5, -448, 3.5});
    QCOMPARE(valuesOf(runOp("DequantizeLinear", {}, {y, scale})[0]), (std::vector<double>{1, -896, 7}));
    // f16 results are rounded from f32.
    const Tensor half = tensorOf(DType::f16, {}, {0.1});
    const Tensor out = runOp("DequantizeLinear", {}, {y, half})[0];
    QCOMPARE(out.dtype(), DType::f16);
    QCOMPARE(out.at(2), static_cast<double>(static_cast<float>(Half(static_cast<float>(3.5 * half.at(0))))));
    // Scales that are powers of two, as in the MX formats.
    const Tensor power = tensorOf(DType::f8e8m0, {}, {4});
    QCOMPARE(valuesOf(runOp("DequantizeLinear", {{"output_dtype", std::string("f32")}}, {y, power})[0]),
             (std::vector<double>{2, -1792, 14}));
    QVERIFY(inferError([&] { runOp("DequantizeLinear", {}, {y, power}); }).contains("output_dtype"));
}

/// Blocks of 32 along the last axis, as language models store their weights.
void TestNarrowDTypes::dequantizesInBlocks() {
    Dice dice(8);
    const Shape shape{130, 256};
    const Tensor x = cast(dice.tensor(DType::i32, shape, -8, 7), DType::i4);
    const Tensor scale = dice.tensor(DType::f32, Shape{130, 8}, 0.5, 2);
    const Attributes blocks{{"axis", std::int64_t{-1}}, {"block_size", std::int64_t{32}}};
    const Tensor y = runOp("DequantizeLinear", blocks, {x, scale})[0];
    for (std::int64_t i = 0; i < y.elementCount(); ++i)
        QCOMPARE(static_cast<float>(y.at(i)),
                 static_cast<float>(x.at(i)) * static_cast<float>(scale.at(i / 32)));
}

/// The op table says which ops take narrow dtypes, so that others refuse them before a run.
void TestNarrowDTypes::otherOpsRefuse() {
    for (const Op& op : opTable())
        for (const PortSpec& port : op.inputs)
            if (port.types.contains(DType::i4) || port.types.contains(DType::f8e4m3fn)) {
                static const std::set<std::string> kTakers{"Cast",
                                                           "CastLike",
                                                           "BitCast",
                                                           "Identity",
                                                           "Reshape",
                                                           "Squeeze",
                                                           "Unsqueeze",
                                                           "Flatten",
                                                           "Transpose",
                                                           "Shape",
                                                           "Size",
                                                           "To",
                                                           "Probe",
                                                           "Save",
                                                           "Opaque",
                                                           "QuantizeLinear",
                                                           "DequantizeLinear",
                                                           "If",
                                                           "Loop",
                                                           "Carried",
                                                           "Broadcast",
                                                           "AllGather",
                                                           "SendReceive",
                                                           "Barrier"};
                QVERIFY2(kTakers.contains(op.name), op.name.c_str());
            }
}

void TestNarrowDTypes::countsPackedBytes() {
    const Op& op = *findOp("DequantizeLinear");
    const TensorType inputs[] = {{DType::i4, Shape{1024, 1024}}, {DType::f32, Shape{1024, 32}}};
    const TensorType outputs[] = {{DType::f32, Shape{1024, 1024}}};
    const Cost cost = costOf(op, inputs, outputs, completeAttributes(op, {}));
    QCOMPARE(cost.bytes, 1024.0 * 512 + 1024 * 32 * 4 + 1024 * 1024 * 4);
}

TWB_TEST_MAIN(TestNarrowDTypes)
#include "test_narrow_dtypes.moc"
