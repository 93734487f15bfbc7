#include "backends/cpu/vector_math.h"

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/vector_dots.h"
#include "backends/cpu/vector_loops.h"
#include "core/half.h"

namespace twb {
namespace {

/// The functions for this CPU.
const VectorLoops& loops() noexcept {
    const VectorLoops* const chosen = kernelsForThisCpu(avx2::vectorLoops, avx512::vectorLoops);
    return chosen ? *chosen : baseline::vectorLoops;
}

} // namespace

void VectorMap::operator()(const float* in, float* out, std::int64_t count) const noexcept {
    loops().map(*this, in, out, count);
}

void vectorPow(const float* base, const float* exponent, std::int64_t step, float* out,
               std::int64_t count) noexcept {
    if (count > 0) loops().pow(base, exponent, step, out, count);
}

float vectorMax(const float* in, std::int64_t count) noexcept { return loops().max(in, count); }

double vectorExpSum(const float* in, float shift, float* out, std::int64_t count) noexcept {
    return loops().expSum(in, shift, out, count);
}

void vectorDots(const float* x, std::int64_t length, const float* rows, std::int64_t stride, float* out,
                std::int64_t count) noexcept {
    loops().dots(x, length, rows, stride, out, count);
}

void vectorAddRows(Summand summand, const float* in, std::int64_t rows, std::int64_t stride,
                   std::int64_t width, double* sums) noexcept {
    loops().addRows(summand, in, rows, stride, width, sums);
}

void vectorMostOfRows(bool largest, const float* in, std::int64_t rows, std::int64_t stride,
                      std::int64_t width, float* most) noexcept {
    loops().mostOfRows(largest, in, rows, stride, width, most);
}

void vectorScale(const float* in, float factor, float* out, std::int64_t count) noexcept {
    loops().scale(in, factor, out, count);
}

void vectorScaleEach(const float* in, float factor, const float* factors, float* out,
                     std::int64_t count) noexcept {
    loops().scaleEach(in, factor, factors, out, count);
}

void vectorSubtract(const float* in, float first, float second, float* out, std::int64_t count) noexcept {
    loops().subtract(in, first, second, out, count);
}

std::int64_t vectorPanelColumns() noexcept { return loops().panelColumns; }

void vectorMultiplyRows(const float* x, std::int64_t xStride, std::int64_t rows, std::int64_t inner,
                        const float* panel, float* y, std::int64_t yStride) noexcept {
    loops().multiplyRows(x, xStride, rows, inner, panel, y, yStride);
}

void vectorLstmUnits(const float* inputs, std::int64_t inputStep, const float* gates, std::int64_t gateStep,
                     std::int64_t count, float* c, float* h) noexcept {
    loops().lstmUnits(inputs, inputStep, gates, gateStep, count, c, h);
}

void vectorToHalf(const float* in, Half* out, std::int64_t count) noexcept {
    if (hasAvx2()) return avx2::toHalf(in, reinterpret_cast<std::uint16_t*>(out), count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = Half(in[i]);
}

void vectorFromHalf(const Half* in, float* out, std::int64_t count) noexcept {
    if (hasAvx2()) return avx2::fromHalf(reinterpret_cast<const std::uint16_t*>(in), out, count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

} // namespace twb
