#pragma once

#include "ops/element_functions.h"

#include <cmath>
#include <cstdint>

namespace twb {

/// A p-norm: the summand of each element and the function of the sum.
struct Norm {
    std::int64_t p;
    TWB_HOST_DEVICE double term(double x) const {
        const double size = std::fabs(x);
        return p == 1 ? size : p == 2 ? size * size : std::pow(size, static_cast<double>(p));
    }
    TWB_HOST_DEVICE double root(double sum) const {
        return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / static_cast<double>(p));
    }
};

} // namespace twb
