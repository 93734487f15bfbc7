#include "widgets/panels/rolling_band.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto rank = static_cast<std::size_t>(std::ceil(q * double(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

} // namespace

RollingBand rollingBand(std::span<const double> values, std::size_t window) {
    RollingBand out;
    out.median.reserve(values.size());
    out.p95.reserve(values.size());
    std::vector<double> sorted; // the values in the window
    const auto insert = [&](double value) {
        if (!std::isnan(value)) sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
    };
    const auto erase = [&](double value) {
        if (!std::isnan(value)) sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), value));
    };
    const std::size_t before = window / 2;
    const std::size_t after = window > 0 ? window - before : 0; // includes the value at this index
    std::size_t first = 0;
    std::size_t end = 0;
    for (std::size_t at = 0; at < values.size(); ++at) {
        for (; end < std::min(values.size(), at + after); ++end) insert(values[end]);
        for (; first + before < at; ++first) erase(values[first]);
        out.median.push_back(quantile(sorted, 0.5));
        out.p95.push_back(quantile(sorted, 0.95));
    }
    return out;
}

} // namespace twb
