#pragma once

#include "ops/element_functions.h"

#include <cmath>
#include <cstdint>

namespace twb {

/// The determinant of the row-major n × n matrix `a`, by in-place Gaussian elimination with partial pivoting.
TWB_HOST_DEVICE inline double determinant(double* a, std::int64_t n) {
    double product = 1;
    for (std::int64_t k = 0; k < n; ++k) {
        std::int64_t pivot = k;
        for (std::int64_t row = k + 1; row < n; ++row)
            if (std::fabs(a[row * n + k]) > std::fabs(a[pivot * n + k])) pivot = row;
        if (a[pivot * n + k] == 0) return 0;
        for (std::int64_t c = k; pivot != k && c < n; ++c) {
            const double kept = a[k * n + c]; // std::swap is not available in device code
            a[k * n + c] = a[pivot * n + c];
            a[pivot * n + c] = kept;
        }
        product *= pivot != k ? -a[k * n + k] : a[k * n + k];
        for (std::int64_t row = k + 1; row < n; ++row) {
            const double factor = a[row * n + k] / a[k * n + k];
            for (std::int64_t c = k + 1; c < n; ++c) a[row * n + c] -= factor * a[k * n + c];
        }
    }
    return product;
}

} // namespace twb
