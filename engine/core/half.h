#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define TWB_HOST_DEVICE __host__ __device__
#else
#define TWB_HOST_DEVICE
#endif

namespace twb {

/// Rounds to float towards 0 and sets the last bit if the result is inexact ("round to odd"). Rounding the
/// result again gives the same value as rounding `value` once (Boldo, Melquiond 2005).
TWB_HOST_DEVICE inline float roundToOdd(double value) {
    const auto near = static_cast<float>(value);
    if (static_cast<double>(near) == value || value != value) return near;
    auto bits = std::bit_cast<std::uint32_t>(near);
    if (std::fabs(static_cast<double>(near)) > std::fabs(value)) --bits;
    return std::bit_cast<float>(bits | 1U);
}

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction. A storage type: arithmetic is done in float.
/// Conversions round to nearest, ties to even; a value that is too large becomes infinite. NaN stays NaN; a
/// GPU's own instructions give other NaN bits.
struct Half {
    std::uint16_t bits = 0;

    Half() = default;
    TWB_HOST_DEVICE explicit Half(float value) : bits(bitsOf(value)) {}
    template <class T>
    requires std::is_arithmetic_v<T> TWB_HOST_DEVICE explicit Half(T value)
        : Half(roundToOdd(static_cast<double>(value))) {}

    TWB_HOST_DEVICE explicit operator float() const {
#if defined(__CUDA_ARCH__)
        float out;
        asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
        return out;
#else
        const std::uint32_t sign = (bits & 0x8000U) << 16;
        std::uint32_t rest = (bits & 0x7fffU) << 13;
        const std::uint32_t exponent = rest & 0x0f800000U;
        rest += 0x38000000U; // exponent bias from 15 to 127
        if (exponent == 0x0f800000U) {
            rest += 0x38000000U; // infinity and NaN
        } else if (exponent == 0) {
            // Subnormal: add one exponent step, then subtract the implicit leading 1.
            rest = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest + 0x00800000U) - 0x1p-14F);
        }
        return std::bit_cast<float>(sign | rest);
#endif
    }

private:
    TWB_HOST_DEVICE static std::uint16_t bitsOf(float value) {
#if defined(__CUDA_ARCH__)
        std::uint16_t out;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
        return out;
#else
        auto x = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t sign = (x >> 16) & 0x8000U;
        x &= 0x7fffffffU;
        std::uint32_t out = 0;
        if (x > 0x7f800000U) {
            out = 0x7e00U | ((x >> 13) & 0x3ffU); // NaN stays NaN
        } else if (x >= 0x477ff000U) {
            out = 0x7c00U; // from 65520 on the nearest value is infinity
        } else if (x < 0x38800000U) {
            // Below 2^-14, adding 1/2 makes the processor round to the subnormals' spacing.
            out = std::bit_cast<std::uint32_t>(std::bit_cast<float>(x) + 0.5F) - 0x3f000000U;
        } else {
            out = (x - 0x38000000U + 0xfffU + ((x >> 13) & 1U)) >> 13;
        }
        return static_cast<std::uint16_t>(sign | out);
#endif
    }
};

/// The upper half of a float: 8 bits of exponent, 7 of fraction. Otherwise like Half.
struct BFloat16 {
    std::uint16_t bits = 0;

    BFloat16() = default;
    TWB_HOST_DEVICE explicit BFloat16(float value) : bits(bitsOf(value)) {}
    template <class T>
    requires std::is_arithmetic_v<T> TWB_HOST_DEVICE explicit BFloat16(T value)
        : BFloat16(roundToOdd(static_cast<double>(value))) {}

    TWB_HOST_DEVICE explicit operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }

private:
    TWB_HOST_DEVICE static std::uint16_t bitsOf(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        std::uint16_t out;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(value));
        return out;
#else
        const auto x = std::bit_cast<std::uint32_t>(value);
        if (value != value) return static_cast<std::uint16_t>((x >> 16) | 0x40U);
        return static_cast<std::uint16_t>((x + 0x7fffU + ((x >> 16) & 1U)) >> 16);
#endif
    }
};

template <class T> inline constexpr bool isHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

} // namespace twb
