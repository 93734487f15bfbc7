#pragma once

#include "core/dtype.h"

#include <cstdint>

namespace twb {

// Narrow dtypes: floats of 8 and 4 bits, integers of 4 and 2 bits. An element is a code, the bits in the low
// end of a byte. Formats: float8e4m3fn and float8e5m2 as in "FP8 Formats for Deep Learning" (Micikevicius et
// al. 2022), their fnuz forms as in "8-bit Numerical Formats for Deep Neural Networks" (Noune et al. 2022),
// float8e8m0 and float4e2m1 as in OCP Microscaling Formats 1.0. A packed dtype's first element is in the
// lowest bits of its byte, as in ONNX; unused bits of the last byte are 0.

/// Rounding of a number between two float8e8m0 values.
enum class PowerRounding : std::uint8_t { up, down, nearest };

/// How a number becomes a narrow float.
struct Narrowing {
    /// Numbers beyond the largest one, and infinity, become the largest one; else infinity, or NaN where
    /// there is no infinity. A float4e2m1 always saturates.
    bool saturate = true;
    PowerRounding powers = PowerRounding::up; ///< for float8e8m0; the others round to nearest, ties to even
};

/// The code of a number in a narrow float (ONNX Cast-28). NaN becomes NaN, in float4e2m1 a zero. A float8e8m0
/// has no sign and no zero: it ignores the sign of `x`; 0 becomes its least number, or NaN if not saturating.
std::uint8_t narrowCode(DType dtype, float x, Narrowing how) noexcept;
/// The code of an integer in a narrow integer: its low bits.
constexpr std::uint8_t narrowCode(DType dtype, std::int64_t x) noexcept {
    return static_cast<std::uint8_t>(x & (dtype == DType::i4 || dtype == DType::u4 ? 0xf : 0x3));
}
/// The value of a code, exactly. Bits above the dtype's are ignored.
float narrowValue(DType dtype, std::uint8_t code) noexcept;
/// narrowValue of all 256 bytes.
const float* narrowValues(DType dtype) noexcept;
/// The least and largest value of a narrow integer.
constexpr std::int64_t leastOf(DType dtype) noexcept {
    return dtype == DType::i4 ? -8 : dtype == DType::i2 ? -2 : 0;
}
constexpr std::int64_t largestOf(DType dtype) noexcept {
    return dtype == DType::i4 ? 7 : dtype == DType::u4 ? 15 : dtype == DType::i2 ? 1 : 3;
}

/// The code of element `i` of a dense tensor.
std::uint8_t codeAt(DType dtype, const void* data, std::int64_t i) noexcept;
/// Elements [first, first + count) of a dense tensor as one code per byte.
void unpackCodes(DType dtype, const void* data, std::int64_t first, std::int64_t count,
                 std::uint8_t* codes) noexcept;
/// Writes elements [first, first + count) of a dense tensor from one code per byte. `first` starts a byte,
/// and the last element ends one or is the tensor's last.
void packCodes(DType dtype, const std::uint8_t* codes, void* data, std::int64_t first,
               std::int64_t count) noexcept;

} // namespace twb
