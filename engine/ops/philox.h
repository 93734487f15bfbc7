#pragma once

#include "ops/element_functions.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace twb {

/// Philox4x32-10: Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011). A
/// function from (counter, key) to four random words, so element i of a tensor needs no state and no order.
struct PhiloxWords {
    std::uint32_t w[4];
};

TWB_HOST_DEVICE inline PhiloxWords philox4x32(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter.w[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter.w[2];
        counter = {
            {static_cast<std::uint32_t>(p1 >> 32) ^ counter.w[1] ^ key0, static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ counter.w[3] ^ key1, static_cast<std::uint32_t>(p0)}};
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return counter;
}

/// The words of element `index`: counter (index mod 2^32, index / 2^32, stream mod 2^32, stream / 2^32), key
/// (seed mod 2^32, seed / 2^32). Each stream is another sequence: one per iteration, for example.
TWB_HOST_DEVICE inline PhiloxWords randomWords(std::uint64_t seed, std::uint64_t index,
                                               std::uint64_t stream = 0) {
    return philox4x32({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
                      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// In [0, 1). float: the upper 24 bits of word 0, times 2^-24. double: the upper 53 bits of word 1 · 2^32 +
/// word 0, times 2^-53.
template <class T> TWB_HOST_DEVICE T uniform01(PhiloxWords words) {
    if constexpr (std::is_same_v<T, float>)
        return static_cast<float>(words.w[0] >> 8) * 0x1p-24F;
    else
        return static_cast<double>(((std::uint64_t{words.w[1]} << 32) | words.w[0]) >> 11) * 0x1p-53;
}

/// Standard normal, in double: Box–Muller, √(−2 ln u₁) · cos(2π u₂) with u₁ = (word 0 + 1) · 2^-32 in (0, 1]
/// and u₂ = word 1 · 2^-32.
TWB_HOST_DEVICE inline double standardNormal(PhiloxWords words) {
    constexpr double twoPi = 6.28318530717958647693;
    const double u1 = (static_cast<double>(words.w[0]) + 1.0) * 0x1p-32;
    const double u2 = static_cast<double>(words.w[1]) * 0x1p-32;
    return std::sqrt(-2.0 * std::log(u1)) * std::cos(twoPi * u2);
}

} // namespace twb
