#pragma once

#include "core/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace twb {

/// What there is to say of a tensor as a whole. min, max, mean and std are of the finite elements; std
/// is the population's.
struct TensorStatistics {
    static constexpr int kBins = 48;

    std::int64_t count = 0;
    std::int64_t finite = 0;
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t zero = 0;
    std::int64_t firstNan = -1;      ///< element, counted row by row; -1: none
    std::int64_t firstInfinite = -1; ///< the same
    double min = 0;
    double max = 0;
    double mean = 0;
    double std = 0;
    std::array<std::int64_t, kBins> histogram{}; ///< of the finite elements, even bins from min to max

    double absMax() const noexcept { return std::max(std::abs(min), std::abs(max)); }
};

/// Of a host tensor. Linear in its elements.
TensorStatistics statisticsOf(const Tensor& tensor);

} // namespace twb
