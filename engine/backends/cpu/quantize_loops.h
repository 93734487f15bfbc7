#pragma once

#include <cstdint>

namespace twb {

struct BFloat16;

// Conversions between f32, quantized integers and bf16 on the calling thread, with AVX2 where the CPU has it.

/// out[i] = saturate(round(in[i] / scale) + zero), with halves rounded to even. NaN gives 0. `zero` is in the
/// range of the result's type.
void quantizeRow(const float* in, float scale, std::int32_t zero, std::uint8_t* out,
                 std::int64_t count) noexcept;
void quantizeRow(const float* in, float scale, std::int32_t zero, std::int8_t* out,
                 std::int64_t count) noexcept;

/// out[i] = (in[i] − zero) · scale[i · step], with `step` 0 or 1. in[i] − zero must not overflow.
void dequantizeRow(const std::uint8_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept;
void dequantizeRow(const std::int8_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept;
void dequantizeRow(const std::int32_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept;

/// Rounded to nearest, ties to even. NaN stays NaN.
void vectorToBFloat16(const float* in, BFloat16* out, std::int64_t count) noexcept;
void vectorFromBFloat16(const BFloat16* in, float* out, std::int64_t count) noexcept;

// quantize_loops.cpp is compiled once for each of these instruction sets. The integers are u8 or, if
// `isSigned`, i8; with `bytes` 4 they are i32.

namespace baseline {
void quantize(const float* in, float scale, std::int32_t zero, bool isSigned, std::uint8_t* out,
              std::int64_t count) noexcept;
void dequantize(const void* in, int bytes, bool isSigned, std::int32_t zero, const float* scale,
                std::int64_t step, float* out, std::int64_t count) noexcept;
void toBFloat16(const float* in, std::uint16_t* out, std::int64_t count) noexcept;
void fromBFloat16(const std::uint16_t* in, float* out, std::int64_t count) noexcept;
} // namespace baseline

namespace avx2 {
void quantize(const float* in, float scale, std::int32_t zero, bool isSigned, std::uint8_t* out,
              std::int64_t count) noexcept;
void dequantize(const void* in, int bytes, bool isSigned, std::int32_t zero, const float* scale,
                std::int64_t step, float* out, std::int64_t count) noexcept;
void toBFloat16(const float* in, std::uint16_t* out, std::int64_t count) noexcept;
void fromBFloat16(const std::uint16_t* in, float* out, std::int64_t count) noexcept;
} // namespace avx2

} // namespace twb
