#pragma once

#include "core/attributes.h"
#include "ops/element_functions.h"

#include <cmath>
#include <cstdint>

namespace twb {

// The update of one element of a parameter by an optimizer, shared by the kernels of the CPU and the GPU. The
// formulas are those of torch.optim (PyTorch 2), in the order of its single-tensor implementations. A rule is
// made once per launch from the attributes; at() adds the numbers that change from step to step. `step`
// counts from 1.

/// torch.optim.SGD. State: momentum_buffer.
struct SgdRule {
    double momentum, weightDecay;
    bool isNesterov, hasMomentum;

    template <class T> struct Step {
        T rate, momentum, weightDecay;
        bool isNesterov, hasMomentum;
        TWB_HOST_DEVICE void operator()(T& p, T g, T& buffer, T&, T&) const {
            g += weightDecay * p;
            if (hasMomentum) {
                buffer = momentum * buffer + g;
                g = isNesterov ? g + momentum * buffer : buffer;
            }
            p -= rate * g;
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t) const {
        return {static_cast<T>(rate), static_cast<T>(momentum), static_cast<T>(weightDecay), isNesterov,
                hasMomentum};
    }
};

/// torch.optim.Adam and, if `isDecoupled`, torch.optim.AdamW. States: exp_avg, exp_avg_sq.
struct AdamRule {
    double beta1, beta2, epsilon, weightDecay;
    bool isDecoupled;

    template <class T> struct Step {
        T rate, root, gain1, beta2, gain2, epsilon, shrink, weightDecay;
        TWB_HOST_DEVICE void operator()(T& p, T g, T& average, T& square, T&) const {
            p *= shrink;
            g += weightDecay * p;
            average += gain1 * (g - average);
            square = beta2 * square + gain2 * g * g;
            p -= rate * average / (std::sqrt(square) / root + epsilon);
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t step) const {
        const double count = static_cast<double>(step);
        return {static_cast<T>(rate / (1 - std::pow(beta1, count))),
                static_cast<T>(std::sqrt(1 - std::pow(beta2, count))),
                static_cast<T>(1 - beta1),
                static_cast<T>(beta2),
                static_cast<T>(1 - beta2),
                static_cast<T>(epsilon),
                static_cast<T>(isDecoupled ? 1 - rate * weightDecay : 1),
                static_cast<T>(isDecoupled ? 0 : weightDecay)};
    }
};

/// torch.optim.RMSprop. States: square_avg, momentum_buffer, grad_avg.
struct RmsPropRule {
    double alpha, epsilon, weightDecay, momentum;
    bool hasMomentum, isCentered;

    template <class T> struct Step {
        T rate, alpha, gain, epsilon, weightDecay, momentum;
        bool hasMomentum, isCentered;
        TWB_HOST_DEVICE void operator()(T& p, T g, T& square, T& buffer, T& average) const {
            g += weightDecay * p;
            square = alpha * square + gain * g * g;
            T spread = square;
            if (isCentered) {
                average += gain * (g - average);
                spread -= average * average;
            }
            const T step = g / (std::sqrt(spread) + epsilon);
            if (hasMomentum) {
                buffer = momentum * buffer + step;
                p -= rate * buffer;
            } else {
                p -= rate * step;
            }
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t) const {
        return {static_cast<T>(rate),
                static_cast<T>(alpha),
                static_cast<T>(1 - alpha),
                static_cast<T>(epsilon),
                static_cast<T>(weightDecay),
                static_cast<T>(momentum),
                hasMomentum,
                isCentered};
    }
};

/// torch.optim.Adagrad. State: sum.
struct AdagradRule {
    double decay, epsilon, weightDecay;

    template <class T> struct Step {
        T rate, epsilon, weightDecay;
        TWB_HOST_DEVICE void operator()(T& p, T g, T& sum, T&, T&) const {
            g += weightDecay * p;
            sum += g * g;
            p -= rate * g / (std::sqrt(sum) + epsilon);
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t step) const {
        return {static_cast<T>(rate / (1 + static_cast<double>(step - 1) * decay)), static_cast<T>(epsilon),
                static_cast<T>(weightDecay)};
    }
};

/// Lion: Chen et al.: Symbolic Discovery of Optimization Algorithms (2023), algorithm 2. State: exp_avg.
struct LionRule {
    double beta1, beta2, weightDecay;

    template <class T> struct Step {
        T rate, beta1, gain1, beta2, gain2, shrink;
        TWB_HOST_DEVICE void operator()(T& p, T g, T& average, T&, T&) const {
            p *= shrink;
            const T direction = beta1 * average + gain1 * g;
            p -= rate * static_cast<T>((direction > T(0)) - (direction < T(0)));
            average = beta2 * average + gain2 * g;
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t) const {
        return {static_cast<T>(rate),  static_cast<T>(beta1),     static_cast<T>(1 - beta1),
                static_cast<T>(beta2), static_cast<T>(1 - beta2), static_cast<T>(1 - rate * weightDecay)};
    }
};

/// torch.amp.GradScaler.update(): after an overflow the scale shrinks, after `interval` good steps it grows.
TWB_HOST_DEVICE inline void updateLossScale(float& scale, std::int32_t& goodSteps, bool isOverflow,
                                            double growth, double backoff, std::int64_t interval) {
    if (isOverflow) {
        scale *= static_cast<float>(backoff);
        goodSteps = 0;
        return;
    }
    if (++goodSteps < interval) return;
    const float grown = scale * static_cast<float>(growth);
    if (std::isfinite(grown)) scale = grown;
    goodSteps = 0;
}

/// The learning rate after `step` steps: base · factor, with the closed forms of torch.optim.lr_scheduler.
struct ScheduleRule {
    enum class Kind { constant, step, cosine, exponential, oneCycle };
    Kind kind = Kind::constant;
    double base = 0;
    double warmup = 0;      ///< steps of linear warm-up from base · warmupStart (LinearLR)
    double warmupStart = 0; ///< factor at step 0
    double period = 1;   ///< step: steps between two decays; cosine, one cycle: all steps after the warm-up
    double gamma = 1;    ///< step, exponential: factor of a decay
    double least = 0;    ///< cosine: the last rate
    double rising = 0.3; ///< one cycle: share of the steps that rise
    double start = 25;   ///< one cycle: base / start is the first rate
    double end = 1e4;    ///< one cycle: base / (start · end) is the last rate

    TWB_HOST_DEVICE static double between(double from, double to, double share) {
        return to + (from - to) / 2 * (1 + std::cos(3.14159265358979323846 * share));
    }
    TWB_HOST_DEVICE double at(std::int64_t steps) const {
        double at = static_cast<double>(steps);
        if (at < warmup) return base * (warmupStart + (1 - warmupStart) * at / warmup);
        at -= warmup;
        switch (kind) {
        case Kind::constant:
            return base;
        case Kind::step:
            return base * std::pow(gamma, std::floor(at / period));
        case Kind::exponential:
            return base * std::pow(gamma, at);
        case Kind::cosine:
            return between(base, least, at < period ? at / period : 1);
        case Kind::oneCycle: {
            const double top = rising * period - 1;
            if (at <= top) return between(base / start, base, top > 0 ? at / top : 1);
            const double share = (at - top) / (period - 1 - top);
            return between(base, base / (start * end), share < 1 ? share : 1);
        }
        }
        return base;
    }
};

/// From the complete attributes of a LearningRate.
ScheduleRule scheduleRule(const Attributes& attributes);

} // namespace twb
