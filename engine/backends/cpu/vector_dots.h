#pragma once

#include <cstdint>

namespace twb {

/// out[i] = Σ x[k] · rows[i · stride + k] over `length` elements, on the calling thread, with AVX2 or AVX-512
/// where the CPU has it.
void vectorDots(const float* x, std::int64_t length, const float* rows, std::int64_t stride, float* out,
                std::int64_t count) noexcept;

} // namespace twb
