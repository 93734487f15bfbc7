#pragma once

#include "core/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace twb {

/// Statistics of a tensor. min, max, mean and std count finite elements only; std is the population's.
struct TensorStatistics {
    static constexpr int kBins = 48;

    std::int64_t count = 0;
    std::int64_t finite = 0;
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t zero = 0;
    std::int64_t firstNan = -1;      ///< row-major index; -1: none
    std::int64_t firstInfinite = -1; ///< row-major index; -1: none
    std::int64_t minAt = -1;         ///< row-major index of the smallest element; -1: none is finite
    std::int64_t maxAt = -1;         ///< row-major index of the largest element; -1: none is finite
    double min = 0;
    double max = 0;
    double mean = 0;
    double std = 0;
    std::array<std::int64_t, kBins> histogram{}; ///< of the finite elements, with equal bins from min to max

    double absMax() const noexcept { return std::max(std::abs(min), std::abs(max)); }
};

/// The statistics of a host tensor. Linear in its elements.
TensorStatistics statisticsOf(const Tensor& tensor);

} // namespace twb
