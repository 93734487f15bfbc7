#include "backends/cpu/instruction_set.h"
#include "backends/cpu/quantize_loops.h"
#include "core/half.h"

namespace twb {
namespace {

void quantize(const float* in, float scale, std::int32_t zero, bool isSigned, std::uint8_t* out,
              std::int64_t count) noexcept {
    hasAvx2() ? avx2::quantize(in, scale, zero, isSigned, out, count)
              : baseline::quantize(in, scale, zero, isSigned, out, count);
}

void dequantize(const void* in, int bytes, bool isSigned, std::int32_t zero, const float* scale,
                std::int64_t step, float* out, std::int64_t count) noexcept {
    hasAvx2() ? avx2::dequantize(in, bytes, isSigned, zero, scale, step, out, count)
              : baseline::dequantize(in, bytes, isSigned, zero, scale, step, out, count);
}

} // namespace

void quantizeRow(const float* in, float scale, std::int32_t zero, std::uint8_t* out,
                 std::int64_t count) noexcept {
    quantize(in, scale, zero, false, out, count);
}

void quantizeRow(const float* in, float scale, std::int32_t zero, std::int8_t* out,
                 std::int64_t count) noexcept {
    quantize(in, scale, zero, true, reinterpret_cast<std::uint8_t*>(out), count);
}

void dequantizeRow(const std::uint8_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept {
    dequantize(in, 1, false, zero, scale, step, out, count);
}

void dequantizeRow(const std::int8_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept {
    dequantize(in, 1, true, zero, scale, step, out, count);
}

void dequantizeRow(const std::int32_t* in, std::int32_t zero, const float* scale, std::int64_t step,
                   float* out, std::int64_t count) noexcept {
    dequantize(in, 4, true, zero, scale, step, out, count);
}

void vectorToBFloat16(const float* in, BFloat16* out, std::int64_t count) noexcept {
    auto* const bits = reinterpret_cast<std::uint16_t*>(out);
    hasAvx2() ? avx2::toBFloat16(in, bits, count) : baseline::toBFloat16(in, bits, count);
}

void vectorFromBFloat16(const BFloat16* in, float* out, std::int64_t count) noexcept {
    const auto* const bits = reinterpret_cast<const std::uint16_t*>(in);
    hasAvx2() ? avx2::fromBFloat16(bits, out, count) : baseline::fromBFloat16(bits, out, count);
}

} // namespace twb
