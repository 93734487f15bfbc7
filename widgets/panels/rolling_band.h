#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

/// What values around each place of a sequence are like.
struct RollingBand {
    std::vector<double> median;
    std::vector<double> p95; ///< the least value that 95 % of them do not exceed
};

/// At each place, of the `window` values around it (fewer at the ends) that are not NaN; NaN where there is
/// none. Nearest rank, as in the ledger. O(n · window) moves of numbers at worst.
RollingBand rollingBand(std::span<const double> values, std::size_t window);

} // namespace twb
