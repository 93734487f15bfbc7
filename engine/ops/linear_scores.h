#pragma once

#include "core/half.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace twb {

// The post-transforms of a linear model's scores. The host and the GPU share this code.

enum class ScoreTransform : std::uint8_t { none, softmax, logistic, softmaxZero, probit };

/// The values of ai.onnx.ml's attribute post_transform.
inline ScoreTransform scoreTransformOf(std::string_view name) {
    return name == "SOFTMAX"        ? ScoreTransform::softmax
           : name == "LOGISTIC"     ? ScoreTransform::logistic
           : name == "SOFTMAX_ZERO" ? ScoreTransform::softmaxZero
           : name == "PROBIT"       ? ScoreTransform::probit
                                    : ScoreTransform::none;
}

/// The quantile function of the normal distribution: Newton's method from Winitzki's approximation (A handy
/// approximation for the error function and its inverse, 2008), in the tail nearer to p, for precision.
TWB_HOST_DEVICE inline double probit(double p) {
    constexpr double pi = 3.14159265358979323846;
    constexpr double rootOfTwo = 1.41421356237309504880;
    const double tail = p < 0.5 ? p : 1 - p;
    if (!(tail >= 0)) return std::numeric_limits<double>::quiet_NaN();
    if (tail == 0)
        return p < 0.5 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    constexpr double a = 0.147;
    const double log = std::log(4 * tail * (1 - tail));
    const double half = 2 / (pi * a) + log / 2;
    const double square = std::sqrt(half * half - log / a) - half;
    double y = std::sqrt(0 < square ? square : 0.0);
    for (int step = 0; step < 4; ++step) y += (std::erfc(y) - 2 * tail) * std::sqrt(pi) / 2 * std::exp(y * y);
    return p < 0.5 ? -rootOfTwo * y : rootOfTwo * y;
}

/// One row of scores. softmaxZero is a softmax in which scores of about 0 stay 0, as in ONNX's
/// implementations.
TWB_HOST_DEVICE inline void transformScores(double* scores, std::int64_t count, ScoreTransform how) {
    if (how == ScoreTransform::none) return;
    if (how == ScoreTransform::logistic || how == ScoreTransform::probit) {
        for (std::int64_t i = 0; i < count; ++i)
            scores[i] = how == ScoreTransform::probit ? probit(scores[i]) : 1 / (1 + std::exp(-scores[i]));
        return;
    }
    double most = scores[0];
    for (std::int64_t i = 1; i < count; ++i) most = most < scores[i] ? scores[i] : most;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool isZero = how == ScoreTransform::softmaxZero && std::fabs(scores[i]) <= 1e-7;
        scores[i] = isZero ? 0 : std::exp(scores[i] - most);
        sum += scores[i];
    }
    for (std::int64_t i = 0; sum != 0 && i < count; ++i) scores[i] /= sum;
}

} // namespace twb
