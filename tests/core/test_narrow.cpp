#include "core/narrow.h"
#include "core/tensor.h"
#include "support/test_main.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

using namespace twb;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr DType kFloats8[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz};

struct Limits {
    float largest;
    float leastNormal;
    float least; ///< subnormal
    int nans;    ///< codes
};
/// From the papers and OCP's specification, and as ml_dtypes' finfo has them.
Limits limitsOf(DType dtype) {
    switch (dtype) {
    case DType::f8e4m3fn:
        return {448, 0x1p-6F, 0x1p-9F, 2};
    case DType::f8e4m3fnuz:
        return {240, 0x1p-7F, 0x1p-10F, 1};
    case DType::f8e5m2:
        return {57344, 0x1p-14F, 0x1p-16F, 6};
    case DType::f8e5m2fnuz:
        return {57344, 0x1p-15F, 0x1p-17F, 1};
    default:
        return {6, 1, 0.5F, 0};
    }
}

int codesOf(DType dtype) { return 1 << bitsOf(dtype); }

/// The positive finite codes, which are in the order of their values.
int finiteCodes(DType dtype) {
    int count = 0;
    while (count < codesOf(dtype) / 2 && std::isfinite(narrowValue(dtype, static_cast<std::uint8_t>(count))))
        ++count;
    return count;
}

std::uint8_t codeOf(DType dtype, float x, Narrowing how = {}) { return narrowCode(dtype, x, how); }

} // namespace

class TestNarrow : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void valuesOfFloats();
    void everyCodeComesBack();
    void roundsToNearestEven();
    void leavesTheRange();
    void powers();
    void integers();
    void packing();
    void sizes();
};

void TestNarrow::valuesOfFloats() {
    for (const DType dtype :
         {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1}) {
        const Limits limits = limitsOf(dtype);
        const int finite = finiteCodes(dtype);
        QCOMPARE(narrowValue(dtype, 0), 0.0F);
        QCOMPARE(narrowValue(dtype, 1), limits.least);
        QCOMPARE(narrowValue(dtype, static_cast<std::uint8_t>(finite - 1)), limits.largest);
        int nans = 0;
        for (int code = 0; code < codesOf(dtype); ++code)
            nans += std::isnan(narrowValue(dtype, static_cast<std::uint8_t>(code))) ? 1 : 0;
        QCOMPARE(nans, limits.nans);
        // Below the least normal number, neighbours have the distance of the least number; in each power of
        // two above it, there are as many numbers as there are fractions.
        const int perPower = static_cast<int>(limits.leastNormal / limits.least);
        for (int code = 1; code < finite; ++code) {
            const float value = narrowValue(dtype, static_cast<std::uint8_t>(code));
            const float before = narrowValue(dtype, static_cast<std::uint8_t>(code - 1));
            const float power = std::max(std::ldexp(1.0F, std::ilogb(before == 0 ? limits.least : before)),
                                         limits.leastNormal);
            QCOMPARE(value - before, power / static_cast<float>(perPower));
            const auto mirrored = static_cast<std::uint8_t>(code + codesOf(dtype) / 2);
            QCOMPARE(narrowValue(dtype, mirrored), -value);
        }
    }
    QCOMPARE(narrowValue(DType::f8e5m2, 0x7c), kInfinity);
    QCOMPARE(narrowValue(DType::f8e5m2, 0xfc), -kInfinity);
    QVERIFY(std::isnan(narrowValue(DType::f8e4m3fnuz, 0x80)));
    const float fours[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    for (std::uint8_t code = 0; code < 8; ++code) QCOMPARE(narrowValue(DType::f4e2m1, code), fours[code]);
}

void TestNarrow::everyCodeComesBack() {
    for (const DType dtype : kAllDTypes) {
        if (!isNarrowFloat(dtype)) continue;
        for (int code = 0; code < codesOf(dtype); ++code) {
            const auto byte = static_cast<std::uint8_t>(code);
            const float value = narrowValue(dtype, byte);
            for (const bool saturate : {false, true}) {
                const std::uint8_t back = codeOf(dtype, value, {.saturate = saturate});
                if (std::isnan(value))
                    QVERIFY(std::isnan(narrowValue(dtype, back)));
                else if (std::isinf(value) && saturate)
                    QCOMPARE(narrowValue(dtype, back), std::copysign(57344.0F, value));
                else
                    QCOMPARE(back, byte);
            }
        }
    }
}

/// Halfway numbers go to the even code; numbers next to them to the nearer neighbour.
void TestNarrow::roundsToNearestEven() {
    for (const DType dtype :
         {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1}) {
        const bool hasMinusZero = dtype != DType::f8e4m3fnuz && dtype != DType::f8e5m2fnuz;
        const int half = codesOf(dtype) / 2;
        for (int code = 0; code + 1 < finiteCodes(dtype); ++code) {
            const float low = narrowValue(dtype, static_cast<std::uint8_t>(code));
            const float high = narrowValue(dtype, static_cast<std::uint8_t>(code + 1));
            const float middle = (low + high) / 2; // exact
            const auto check = [&](float x, int expected) {
                QCOMPARE(codeOf(dtype, x), static_cast<std::uint8_t>(expected));
                QCOMPARE(codeOf(dtype, -x),
                         static_cast<std::uint8_t>(expected == 0 && !hasMinusZero ? 0 : expected + half));
            };
            check(middle, code % 2 == 0 ? code : code + 1);
            check(std::nextafter(middle, 0.0F), code);
            check(std::nextafter(middle, kInfinity), code + 1);
        }
    }
}

void TestNarrow::leavesTheRange() {
    for (const DType dtype : kFloats8) {
        const float largest = limitsOf(dtype).largest;
        const auto code = static_cast<std::uint8_t>(finiteCodes(dtype) - 1);
        // The first number that would round beyond the largest: half of the last distance above it.
        const float below = narrowValue(dtype, static_cast<std::uint8_t>(code - 1));
        const float edge = largest + (largest - below) / 2;
        const auto signBit = static_cast<std::uint8_t>(0x80);
        for (const float x : {edge, 1e6F, std::numeric_limits<float>::max(), kInfinity}) {
            QCOMPARE(codeOf(dtype, x), code);
            QCOMPARE(codeOf(dtype, -x), static_cast<std::uint8_t>(code | signBit));
            for (const float signedX : {x, -x}) {
                const float out = narrowValue(dtype, codeOf(dtype, signedX, {.saturate = false}));
                // e4m3fn's largest code is even, so the halfway number still rounds to it.
                if (dtype == DType::f8e4m3fn && x == edge)
                    QCOMPARE(out, std::copysign(largest, signedX));
                else if (dtype == DType::f8e5m2)
                    QCOMPARE(out, std::copysign(kInfinity, signedX));
                else
                    QVERIFY(std::isnan(out));
            }
        }
        QCOMPARE(codeOf(dtype, std::nextafter(edge, 0.0F), {.saturate = false}), code);
        for (const bool saturate : {false, true})
            QVERIFY(std::isnan(narrowValue(
                dtype, codeOf(dtype, std::numeric_limits<float>::quiet_NaN(), {.saturate = saturate}))));
    }
    QCOMPARE(codeOf(DType::f8e4m3fn, -std::numeric_limits<float>::quiet_NaN()), std::uint8_t{0xff});
    QCOMPARE(codeOf(DType::f8e4m3fnuz, -0.0F), std::uint8_t{0});
    QCOMPARE(codeOf(DType::f8e4m3fn, -0.0F), std::uint8_t{0x80});
    for (const bool saturate : {false, true}) {
        QCOMPARE(codeOf(DType::f4e2m1, kInfinity, {.saturate = saturate}), std::uint8_t{0x7});
        QCOMPARE(codeOf(DType::f4e2m1, -100, {.saturate = saturate}), std::uint8_t{0xf});
    }
}

/// ONNX's table of Cast to float8e8m0.
void TestNarrow::powers() {
    const DType dtype = DType::f8e8m0;
    for (int code = 0; code < 255; ++code) {
        const float power = std::ldexp(1.0F, code - 127);
        QCOMPARE(narrowValue(dtype, static_cast<std::uint8_t>(code)), power);
        if (code == 254) break;
        const auto check = [&](float x, int up, int down, int nearest) {
            QCOMPARE(codeOf(dtype, x, {true, PowerRounding::up}), static_cast<std::uint8_t>(up));
            QCOMPARE(codeOf(dtype, x, {true, PowerRounding::down}), static_cast<std::uint8_t>(down));
            QCOMPARE(codeOf(dtype, x, {true, PowerRounding::nearest}), static_cast<std::uint8_t>(nearest));
        };
        const float middle = power * 1.5F;
        check(power, code, code, code);
        check(std::nextafter(power, kInfinity), code + 1, code, code);
        check(std::nextafter(middle, 0.0F), code + 1, code, code);
        check(middle, code + 1, code, code + 1);
        check(std::nextafter(power * 2, 0.0F), code + 1, code, code + 1);
    }
    const Narrowing exact{false, PowerRounding::nearest};
    const float most = std::numeric_limits<float>::max();
    QCOMPARE(codeOf(dtype, most), std::uint8_t{0xfe});
    QCOMPARE(codeOf(dtype, kInfinity), std::uint8_t{0xfe});
    QCOMPARE(codeOf(dtype, 0), std::uint8_t{0});
    QCOMPARE(codeOf(dtype, 0x1p-149F), std::uint8_t{0});
    QCOMPARE(codeOf(dtype, std::numeric_limits<float>::quiet_NaN()), std::uint8_t{0xff});
    for (const float x : {most, kInfinity, 0.0F, std::numeric_limits<float>::quiet_NaN()})
        QCOMPARE(codeOf(dtype, x, exact), std::uint8_t{0xff});
    QCOMPARE(codeOf(dtype, 0x1p-149F, exact), std::uint8_t{0});
}

void TestNarrow::integers() {
    for (const DType dtype : {DType::i4, DType::u4, DType::i2, DType::u2})
        for (std::int64_t value = leastOf(dtype); value <= largestOf(dtype); ++value) {
            QCOMPARE(narrowValue(dtype, narrowCode(dtype, value)), static_cast<float>(value));
            // Higher bits are dropped.
            QCOMPARE(narrowCode(dtype, value + 16 * 5), narrowCode(dtype, value));
        }
    QCOMPARE(leastOf(DType::i4), std::int64_t{-8});
    QCOMPARE(largestOf(DType::u4), std::int64_t{15});
    QCOMPARE(leastOf(DType::i2), std::int64_t{-2});
    QCOMPARE(largestOf(DType::u2), std::int64_t{3});
}

/// The first element is in the lowest bits, and unused bits are 0.
void TestNarrow::packing() {
    std::uint8_t bytes[2] = {0xff, 0xff};
    const std::uint8_t nibbles[] = {0x1, 0x2, 0xf};
    packCodes(DType::u4, nibbles, bytes, 0, 3);
    QCOMPARE(bytes[0], std::uint8_t{0x21});
    QCOMPARE(bytes[1], std::uint8_t{0x0f});
    const std::uint8_t pairs[] = {1, 2, 3, 0, 2};
    packCodes(DType::u2, pairs, bytes, 0, 5);
    QCOMPARE(bytes[0], std::uint8_t{0b00111001});
    QCOMPARE(bytes[1], std::uint8_t{0b00000010});
    for (std::int64_t first = 0; first < 5; ++first) {
        std::uint8_t codes[5] = {};
        unpackCodes(DType::u2, bytes, first, 5 - first, codes);
        for (std::int64_t i = first; i < 5; ++i) {
            QCOMPARE(codes[i - first], pairs[i]);
            QCOMPARE(codeAt(DType::u2, bytes, i), pairs[i]);
        }
    }
    // Parts that end within the tensor write whole bytes.
    packCodes(DType::u2, pairs + 4, bytes, 4, 1);
    QCOMPARE(bytes[1], std::uint8_t{2});
}

void TestNarrow::sizes() {
    QCOMPARE((Shape{3, 3}.byteCount(DType::i4)), std::int64_t{5});
    QCOMPARE((Shape{3, 3}.byteCount(DType::u2)), std::int64_t{3});
    QCOMPARE((Shape{3, 3}.byteCount(DType::f8e5m2)), std::int64_t{9});
    QCOMPARE((Shape{3, 0}.byteCount(DType::i4)), std::int64_t{0});
    QCOMPARE(Shape{}.byteCount(DType::u4), std::int64_t{1});
    // As many elements as 63 bits count, in half as many bytes.
    QCOMPARE((Shape{std::numeric_limits<std::int64_t>::max()}.byteCount(DType::u4)), std::int64_t{1} << 62);
    Tensor tensor = Tensor::onHost({DType::i4, Shape{2, 2}});
    const std::uint8_t codes[] = {0x8, 0x7, 0xf, 0x0};
    packCodes(DType::i4, codes, tensor.data(), 0, 4);
    QCOMPARE(tensor.toIntegers(), (std::vector<std::int64_t>{-8, 7, -1, 0}));
    for (const DType dtype : kAllDTypes) QVERIFY(parseDType(torchName(dtype)) == std::optional(dtype));
}

TWB_TEST_MAIN(TestNarrow)
#include "test_narrow.moc"
