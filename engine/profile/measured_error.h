#pragma once

#include "backends/device_profile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace twb {

/// The error of a profile against each of the measured times. `all`: rows with `ns`; `predict` gives the
/// profile's time of a row in ns.
template <class Measured, class Predict>
std::optional<KnownError> errorOf(const std::vector<Measured>& all, Predict&& predict) {
    if (all.empty()) return {};
    std::vector<double> errors;
    for (const Measured& one : all) {
        const double ns = std::max(static_cast<double>(one.ns), 1.0);
        errors.push_back(std::abs(predict(one) - ns) / ns);
    }
    std::sort(errors.begin(), errors.end());
    return KnownError{errors[errors.size() / 2], errors.back(), static_cast<int>(errors.size())};
}

} // namespace twb
