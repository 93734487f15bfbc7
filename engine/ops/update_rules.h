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

/// The tensors of an optimizer's state; null if the rule has fewer.
template <class T> struct UpdateStates {
    T* first;
    T* second;
    T* third;
};

/// torch.optim.SGD. State: momentum_buffer.
template <bool HasMomentum> struct SgdRule {
    double momentum, weightDecay;
    bool isNesterov;

    template <class T> struct Step {
        T rate, momentum, weightDecay, ahead;
        TWB_HOST_DEVICE void operator()(std::int64_t i, T& p, T g, const UpdateStates<T>& states) const {
            g += weightDecay * p;
            if constexpr (HasMomentum) {
                const T buffer = momentum * states.first[i] + g;
                states.first[i] = buffer;
                g = ahead != T(0) ? g + ahead * buffer : buffer;
            }
            p -= rate * g;
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t) const {
        return {static_cast<T>(rate), static_cast<T>(momentum), static_cast<T>(weightDecay),
                static_cast<T>(isNesterov ? momentum : 0)};
    }
};

/// torch.optim.Adam and, if `isDecoupled`, torch.optim.AdamW. States: exp_avg, exp_avg_sq.
struct AdamRule {
    double beta1, beta2, epsilon, weightDecay;
    bool isDecoupled;

    template <class T> struct Step {
        T rate, root, gain1, beta2, gain2, epsilon, shrink, weightDecay;
        TWB_HOST_DEVICE void operator()(std::int64_t i, T& p, T g, const UpdateStates<T>& states) const {
            const T before = p * shrink;
            g += weightDecay * before;
            const T average = states.first[i] + gain1 * (g - states.first[i]);
            const T square = beta2 * states.second[i] + gain2 * g * g;
            states.first[i] = average;
            states.second[i] = square;
            p = before - rate * average / (std::sqrt(square) / root + epsilon);
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
template <bool HasMomentum, bool IsCentered> struct RmsPropRule {
    double alpha, epsilon, weightDecay, momentum;

    template <class T> struct Step {
        T rate, alpha, gain, epsilon, weightDecay, momentum;
        TWB_HOST_DEVICE void operator()(std::int64_t i, T& p, T g, const UpdateStates<T>& states) const {
            g += weightDecay * p;
            const T square = alpha * states.first[i] + gain * g * g;
            states.first[i] = square;
            T spread = square;
            if constexpr (IsCentered) {
                const T average = states.third[i] + gain * (g - states.third[i]);
                states.third[i] = average;
                spread -= average * average;
            }
            T step = g / (std::sqrt(spread) + epsilon);
            if constexpr (HasMomentum) {
                step = momentum * states.second[i] + step;
                states.second[i] = step;
            }
            p -= rate * step;
        }
    };
    template <class T> TWB_HOST_DEVICE Step<T> at(double rate, std::int64_t) const {
        return {static_cast<T>(rate),    static_cast<T>(alpha),       static_cast<T>(1 - alpha),
                static_cast<T>(epsilon), static_cast<T>(weightDecay), static_cast<T>(momentum)};
    }
};

/// torch.optim.Adagrad. State: sum.
struct AdagradRule {
    double decay, epsilon, weightDecay;

    template <class T> struct Step {
        T rate, epsilon, weightDecay;
        TWB_HOST_DEVICE void operator()(std::int64_t i, T& p, T g, const UpdateStates<T>& states) const {
            g += weightDecay * p;
            const T sum = states.first[i] + g * g;
            states.first[i] = sum;
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
        TWB_HOST_DEVICE void operator()(std::int64_t i, T& p, T g, const UpdateStates<T>& states) const {
            const T average = states.first[i];
            const T direction = beta1 * average + gain1 * g;
            p = shrink * p - rate * static_cast<T>((direction > T(0)) - (direction < T(0)));
            states.first[i] = beta2 * average + gain2 * g;
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
