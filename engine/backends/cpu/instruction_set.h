#pragma once

namespace twb {

/// Whether this CPU has AVX-512.
inline bool hasAvx512() noexcept { return __builtin_cpu_supports("avx512f"); }
/// Whether this CPU has AVX2, FMA and conversions of f16 (F16C).
inline bool hasAvx2() noexcept {
#ifdef __clang__ // does not know f16c, which all known CPUs with AVX2 have
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#endif
}

/// The kernels for this CPU; null without AVX2.
template <class Kernels>
const Kernels* kernelsForThisCpu(const Kernels& avx2, const Kernels& avx512) noexcept {
    return hasAvx512() ? &avx512 : hasAvx2() ? &avx2 : nullptr;
}

} // namespace twb
