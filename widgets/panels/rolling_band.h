#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

/// Rolling statistics of a sequence.
struct RollingBand {
    std::vector<double> median;
    std::vector<double> p95; ///< 95th percentile, by nearest rank
};

/// At each index: of the `window` values around it (fewer at the ends) that are not NaN; NaN if there are
/// none. Nearest rank, as in the ledger. At worst O(n · window) moves of numbers.
RollingBand rollingBand(std::span<const double> values, std::size_t window);

} // namespace twb
