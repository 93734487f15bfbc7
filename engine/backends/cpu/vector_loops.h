#pragma once

#include "backends/cpu/vector_math.h"

namespace twb {

/// The functions of vector_math.h for one instruction set; vector_loops.cpp is compiled once for each.
struct VectorLoops {
    void (*map)(const VectorMap& map, const float* in, float* out, std::int64_t count) noexcept;
    void (*pow)(const float* base, const float* exponent, std::int64_t step, float* out,
                std::int64_t count) noexcept;
    float (*max)(const float* in, std::int64_t count) noexcept;
    double (*expSum)(const float* in, float shift, float* out, std::int64_t count) noexcept;
    void (*dots)(const float* x, std::int64_t length, const float* rows, std::int64_t stride, float* out,
                 std::int64_t count) noexcept;
    void (*addRows)(Summand summand, const float* in, std::int64_t rows, std::int64_t stride,
                    std::int64_t width, double* sums) noexcept;
    void (*mostOfRows)(bool largest, const float* in, std::int64_t rows, std::int64_t stride,
                       std::int64_t width, float* most) noexcept;
    void (*scale)(const float* in, float factor, float* out, std::int64_t count) noexcept;
    void (*scaleEach)(const float* in, float factor, const float* factors, float* out,
                      std::int64_t count) noexcept;
    void (*subtract)(const float* in, float first, float second, float* out, std::int64_t count) noexcept;
    std::int64_t panelColumns; ///< vectorPanelColumns()
    void (*multiplyRows)(const float* x, std::int64_t xStride, std::int64_t rows, std::int64_t inner,
                         const float* panel, float* y, std::int64_t yStride) noexcept;
    void (*lstmUnits)(const float* inputs, std::int64_t inputStep, const float* gates, std::int64_t gateStep,
                      std::int64_t count, float* c, float* h) noexcept;
};

namespace baseline {
extern const VectorLoops vectorLoops;
}

/// For CPUs with AVX2, FMA and F16C.
namespace avx2 {
extern const VectorLoops vectorLoops;
void toHalf(const float* in, std::uint16_t* out, std::int64_t count) noexcept;
void fromHalf(const std::uint16_t* in, float* out, std::int64_t count) noexcept;
} // namespace avx2

/// For CPUs with AVX-512.
namespace avx512 {
extern const VectorLoops vectorLoops;
}

} // namespace twb
