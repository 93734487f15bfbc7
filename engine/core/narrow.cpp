#include "core/narrow.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace twb {
namespace {

/// A float of a sign, an exponent and a fraction.
struct Format {
    int fractionBits;
    int bias;
    std::uint32_t sign;    ///< the sign's bit
    std::uint32_t largest; ///< code of the largest number
    int infinity;          ///< its code; -1: none
    int nan;               ///< its code; -1: none
    bool isUnsignedZero;   ///< the code of -0 is NaN, and NaN has no sign
};

constexpr Format kE4M3FN{3, 7, 0x80, 0x7e, -1, 0x7f, false};
constexpr Format kE4M3FNUZ{3, 8, 0x80, 0x7f, -1, 0x80, true};
constexpr Format kE5M2{2, 15, 0x80, 0x7b, 0x7c, 0x7e, false};
constexpr Format kE5M2FNUZ{2, 16, 0x80, 0x7f, -1, 0x80, true};
constexpr Format kE2M1{1, 1, 0x8, 0x7, -1, -1, false};

template <const Format& F> std::uint8_t encode(float x, bool saturate) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits >> 31 != 0 ? F.sign : 0;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        if (F.nan < 0) return sign != 0 ? 0 : F.sign; // a zero, as in ml_dtypes
        return static_cast<std::uint8_t>(F.isUnsignedZero ? F.nan : static_cast<int>(sign) | F.nan);
    }
    constexpr int shift = 23 - F.fractionBits;
    constexpr std::uint32_t leastNormal = static_cast<std::uint32_t>(127 + 1 - F.bias) << 23;
    std::uint32_t code = 0;
    if (magnitude >= leastNormal) {
        // Ties go to even; a carry out of the fraction raises the exponent.
        const std::uint32_t odd = magnitude >> shift & 1U;
        code = ((magnitude + (1U << (shift - 1)) - 1 + odd) >> shift) -
               (static_cast<std::uint32_t>(127 - F.bias) << F.fractionBits);
    } else {
        // The distance of subnormal numbers becomes 1. Adding 2^23 makes the processor round to whole
        // numbers.
        constexpr auto scale =
            std::bit_cast<float>(static_cast<std::uint32_t>(127 + F.bias - 1 + F.fractionBits) << 23);
        code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * scale + 0x1p23F) - 0x4b000000U;
    }
    if (code > F.largest) {
        if (saturate || F.nan < 0) return static_cast<std::uint8_t>(sign | F.largest);
        if (F.isUnsignedZero) return static_cast<std::uint8_t>(F.nan);
        return static_cast<std::uint8_t>(sign |
                                         static_cast<std::uint32_t>(F.infinity < 0 ? F.nan : F.infinity));
    }
    if (code == 0 && F.isUnsignedZero) return 0;
    return static_cast<std::uint8_t>(sign | code);
}

constexpr std::uint8_t kPowerNan = 0xff;
constexpr std::uint8_t kLargestPower = 0xfe;

/// 2^(code - 127).
std::uint8_t encodePower(float x, Narrowing how) noexcept {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return kPowerNan;
    if (magnitude == 0x7f800000U) return how.saturate ? kLargestPower : kPowerNan;
    if (magnitude == 0) return how.saturate ? 0 : kPowerNan;
    // Below 2^-126, a float has no implicit bit: 2^-127 is the highest bit of the fraction.
    std::uint32_t exponent = magnitude >> 23;
    std::uint32_t fraction = magnitude & 0x7fffffU;
    if (exponent == 0) {
        if (fraction <= 0x400000U) return 0;
        fraction = (fraction & 0x3fffffU) << 1;
    }
    if (how.powers == PowerRounding::up ? fraction != 0
                                        : how.powers == PowerRounding::nearest && fraction >= 0x400000U)
        ++exponent;
    if (exponent > kLargestPower) return how.saturate ? kLargestPower : kPowerNan;
    return static_cast<std::uint8_t>(exponent);
}

double decode(const Format& f, std::uint32_t code) {
    const bool isNegative = (code & f.sign) != 0;
    const std::uint32_t magnitude = code & (f.sign - 1);
    const double sign = isNegative ? -1 : 1;
    if (f.isUnsignedZero ? static_cast<int>(code) == f.nan : magnitude > f.largest)
        return static_cast<int>(magnitude) == f.infinity ? sign * std::numeric_limits<double>::infinity()
                                                         : std::numeric_limits<double>::quiet_NaN();
    const auto fraction = static_cast<int>(magnitude & ((1U << f.fractionBits) - 1));
    const auto exponent = static_cast<int>(magnitude >> f.fractionBits);
    const int whole = exponent == 0 ? fraction : fraction + (1 << f.fractionBits);
    return sign * std::ldexp(whole, (exponent == 0 ? 1 : exponent) - f.bias - f.fractionBits);
}

double decodeAny(DType dtype, std::uint32_t code) {
    switch (dtype) {
    case DType::f8e4m3fn:
        return decode(kE4M3FN, code);
    case DType::f8e4m3fnuz:
        return decode(kE4M3FNUZ, code);
    case DType::f8e5m2:
        return decode(kE5M2, code);
    case DType::f8e5m2fnuz:
        return decode(kE5M2FNUZ, code);
    case DType::f8e8m0:
        return code == kPowerNan ? std::numeric_limits<double>::quiet_NaN()
                                 : std::ldexp(1.0, static_cast<int>(code) - 127);
    case DType::f4e2m1:
        return decode(kE2M1, code & 0xf);
    case DType::i4:
        return static_cast<int>((code & 0xf) ^ 0x8) - 8;
    case DType::u4:
        return code & 0xf;
    case DType::i2:
        return static_cast<int>((code & 0x3) ^ 0x2) - 2;
    default:
        return code & 0x3;
    }
}

constexpr std::size_t kNarrowCount = kDTypeCount - kWideDTypes.size();
using Values = std::array<std::array<float, 256>, kNarrowCount>;

const Values& allValues() {
    static const Values values = [] {
        Values made{};
        for (std::size_t i = 0; i < kNarrowCount; ++i)
            for (std::uint32_t code = 0; code < 256; ++code)
                made[i][code] = static_cast<float>(decodeAny(kAllDTypes[kWideDTypes.size() + i], code));
        return made;
    }();
    return values;
}

} // namespace

std::uint8_t narrowCode(DType dtype, float x, Narrowing how) noexcept {
    switch (dtype) {
    case DType::f8e4m3fn:
        return encode<kE4M3FN>(x, how.saturate);
    case DType::f8e4m3fnuz:
        return encode<kE4M3FNUZ>(x, how.saturate);
    case DType::f8e5m2:
        return encode<kE5M2>(x, how.saturate);
    case DType::f8e5m2fnuz:
        return encode<kE5M2FNUZ>(x, how.saturate);
    case DType::f8e8m0:
        return encodePower(x, how);
    default:
        return encode<kE2M1>(x, true);
    }
}

const float* narrowValues(DType dtype) noexcept {
    return allValues()[static_cast<std::size_t>(dtype) - kWideDTypes.size()].data();
}

float narrowValue(DType dtype, std::uint8_t code) noexcept { return narrowValues(dtype)[code]; }

std::uint8_t codeAt(DType dtype, const void* data, std::int64_t i) noexcept {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    const int bits = bitsOf(dtype);
    if (bits == 8) return bytes[i];
    const int perByte = 8 / bits;
    return static_cast<std::uint8_t>(bytes[i / perByte] >> (i % perByte * bits) & ((1 << bits) - 1));
}

void unpackCodes(DType dtype, const void* data, std::int64_t first, std::int64_t count,
                 std::uint8_t* codes) noexcept {
    if (count <= 0) return;
    if (!isPacked(dtype)) {
        std::memcpy(codes, static_cast<const std::uint8_t*>(data) + first, static_cast<std::size_t>(count));
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) codes[i] = codeAt(dtype, data, first + i);
}

void packCodes(DType dtype, const std::uint8_t* codes, void* data, std::int64_t first,
               std::int64_t count) noexcept {
    if (count <= 0) return;
    const int bits = bitsOf(dtype);
    const int perByte = 8 / bits;
    auto* to = static_cast<std::uint8_t*>(data) + first / perByte;
    for (std::int64_t i = 0; i < count; i += perByte) {
        unsigned byte = 0;
        for (int k = 0; k < perByte && i + k < count; ++k)
            byte |= static_cast<unsigned>(codes[i + k]) << (k * bits);
        *to++ = static_cast<std::uint8_t>(byte);
    }
}

} // namespace twb
