#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace twb {

/// Σ term(x[i]) over `count` dense elements, in double, in several independent lanes for SIMD. The order of
/// additions depends only on the count.
template <class T, class Term> double laneSum(const T* x, std::int64_t count, const Term& term) {
    std::array<double, 8> lanes{};
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (std::int64_t k = 0; k < 8; ++k)
            lanes[static_cast<std::size_t>(k)] += term(static_cast<double>(x[i + k]));
    for (; i < count; ++i) lanes[0] += term(static_cast<double>(x[i]));
    double sum = 0;
    for (double lane : lanes) sum += lane;
    return sum;
}

} // namespace twb
