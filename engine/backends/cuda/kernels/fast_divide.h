#pragma once

#include "core/half.h"

#include <cstdint>

// Controls unrolling: loops over axes must stay loops, since unrolled they would dominate the kernel. Loops
// over a thread's registers must be unrolled, since registers cannot be indexed.
#if defined(__CUDA_ARCH__)
#define TWB_ROLLED _Pragma("unroll 1")
#define TWB_UNROLLED _Pragma("unroll")
#else
#define TWB_ROLLED
#define TWB_UNROLLED
#endif

namespace twb::cuda {

/// Division of numbers below 2^31 by a constant, as a multiplication: Granlund, Montgomery: Division by
/// Invariant Integers using Multiplication (1994).
class FastDivide {
public:
    FastDivide() = default;
    TWB_HOST_DEVICE explicit FastDivide(std::uint32_t divisor) {
        while ((std::uint64_t{1} << m_shift) < divisor) ++m_shift;
        const std::uint64_t power = std::uint64_t{1} << m_shift;
        m_factor = static_cast<std::uint32_t>(((power - divisor) << 32) / divisor + 1);
    }
    TWB_HOST_DEVICE std::uint32_t operator()(std::uint32_t n) const {
#if defined(__CUDA_ARCH__)
        return (__umulhi(n, m_factor) + n) >> m_shift;
#else
        const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * m_factor) >> 32);
        return (high + n) >> m_shift;
#endif
    }

private:
    std::uint32_t m_factor = 0;
    std::uint32_t m_shift = 0;
};

} // namespace twb::cuda
