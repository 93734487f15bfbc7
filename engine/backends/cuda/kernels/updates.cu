#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "ops/parameter_start.h"
#include "ops/update_rules.h"

namespace twb::cuda {
namespace {

// Updates in place. Numbers such as the learning rate and the step are read on the device, so that a CUDA
// graph of an iteration stays valid.

/// A number in device memory, f32 or f64, or a fixed one.
struct DeviceNumber {
    const void* at = nullptr;
    bool isDouble = false;
    double fixed = 0;

    TWB_HOST_DEVICE double get() const {
        if (!at) return fixed;
        return isDouble ? *static_cast<const double*>(at)
                        : static_cast<double>(*static_cast<const float*>(at));
    }
};

DeviceNumber numberAt(const TensorView& view, double fixed) {
    return {view.data, view.dtype == DType::f64, fixed};
}

/// No pointer: nothing is skipped.
TWB_HOST_DEVICE bool isSkipped(const element::Bool* skip) { return skip && static_cast<bool>(*skip); }

template <class T, class Rule> struct ApplyRule {
    Walk<1> walk; ///< of the gradient
    const T* gradient;
    T* parameter;
    UpdateStates<T> states;
    DeviceNumber rate;
    DeviceNumber scale;       ///< factor of the gradient
    const std::int64_t* step; ///< null: the rule does not read it
    const element::Bool* skip;
    Rule rule;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        if (isSkipped(skip)) return;
        const auto update = rule.template at<T>(rate.get(), step ? *step : 0);
        update(i, parameter[i], static_cast<T>(scale.get()) * gradient[walk.at(i)[0]], states);
    }
};

constexpr std::size_t kRate = 2;
constexpr std::size_t kSkip = 3;
constexpr std::size_t kGradientScale = 4;
constexpr std::size_t kStep = 5;

template <class Rule> void apply(const KernelCall& call, bool readsStep, const Rule& rule) {
    const TensorView& parameter = call.outputs[0];
    withFloat(parameter.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto state = [&](std::size_t i) -> T* {
            return call.isAsked(i) ? call.outputs[i].template as<T>() : nullptr;
        };
        const TensorView skip = call.input(kSkip);
        forEach(call.queue, parameter.elementCount(),
                ApplyRule<T, Rule>{walkOf(call.inputs[1]),
                                   call.inputs[1].template as<const T>(),
                                   parameter.as<T>(),
                                   {state(1), state(2), state(3)},
                                   numberAt(call.input(kRate), call.attributes.number("lr")),
                                   numberAt(call.input(kGradientScale), 1),
                                   readsStep ? call.inputs[kStep].template as<const std::int64_t>() : nullptr,
                                   skip.data ? skip.as<const element::Bool>() : nullptr,
                                   rule});
    });
}

void sgdKernel(const KernelCall& call) {
    const Attributes& a = call.attributes;
    const double momentum = a.number("momentum");
    const double decay = a.number("weight_decay");
    if (momentum != 0 && call.isAsked(1))
        apply(call, false, SgdRule<true>{momentum, decay, a.flag("nesterov")});
    else
        apply(call, false, SgdRule<false>{0, decay, false});
}

template <bool IsDecoupled> void adamKernel(const KernelCall& call) {
    const Attributes& a = call.attributes;
    apply(call, true,
          AdamRule{a.number("beta1"), a.number("beta2"), a.number("eps"), a.number("weight_decay"),
                   IsDecoupled});
}

template <bool HasMomentum, bool IsCentered> void rmsPropOf(const KernelCall& call) {
    const Attributes& a = call.attributes;
    apply(call, false,
          RmsPropRule<HasMomentum, IsCentered>{a.number("alpha"), a.number("eps"), a.number("weight_decay"),
                                               a.number("momentum")});
}

void rmsPropKernel(const KernelCall& call) {
    const bool hasMomentum = call.attributes.number("momentum") != 0 && call.isAsked(2);
    const bool isCentered = call.attributes.flag("centered") && call.isAsked(3);
    if (isCentered)
        hasMomentum ? rmsPropOf<true, true>(call) : rmsPropOf<false, true>(call);
    else
        hasMomentum ? rmsPropOf<true, false>(call) : rmsPropOf<false, false>(call);
}

void adagradKernel(const KernelCall& call) {
    const Attributes& a = call.attributes;
    apply(call, true, AdagradRule{a.number("lr_decay"), a.number("eps"), a.number("weight_decay")});
}

void lionKernel(const KernelCall& call) {
    const Attributes& a = call.attributes;
    apply(call, false, LionRule{a.number("beta1"), a.number("beta2"), a.number("weight_decay")});
}

template <class T> struct AssignElements {
    Walk<1> walk;
    const T* value;
    T* target;
    const element::Bool* skip;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        if (!isSkipped(skip)) target[i] = value[walk.at(i)[0]];
    }
};

const element::Bool* skipOf(const KernelCall& call, std::size_t port) {
    return call.input(port).data ? call.inputs[port].as<const element::Bool>() : nullptr;
}

void assignKernel(const KernelCall& call) {
    withBits(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, call.outputs[0].elementCount(),
                AssignElements<T>{walkOf(call.inputs[1]), call.inputs[1].as<const T>(),
                                  call.outputs[0].as<T>(), skipOf(call, 2)});
    });
}

template <class T> struct Average {
    Walk<1> walk;
    const T* value;
    T* average;
    const element::Bool* skip;
    T gain;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        if (!isSkipped(skip)) average[i] += gain * (value[walk.at(i)[0]] - average[i]);
    }
};

void averageKernel(const KernelCall& call) {
    withFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, call.outputs[0].elementCount(),
                Average<T>{walkOf(call.inputs[1]), call.inputs[1].template as<const T>(),
                           call.outputs[0].as<T>(), skipOf(call, 2),
                           static_cast<T>(1 - call.attributes.number("decay"))});
    });
}

struct CountStep {
    std::int64_t* step;
    const element::Bool* skip;
    TWB_HOST_DEVICE void operator()(std::int64_t) const {
        if (!isSkipped(skip)) ++*step;
    }
};

void countKernel(const KernelCall& call) {
    forEach(call.queue, 1, CountStep{call.outputs[0].as<std::int64_t>(), skipOf(call, 1)});
}

struct ScaleStep {
    float* scale;
    std::int32_t* tracker;
    const element::Bool* isOverflow;
    double growth, backoff;
    std::int64_t interval;
    TWB_HOST_DEVICE void operator()(std::int64_t) const {
        updateLossScale(*scale, *tracker, static_cast<bool>(*isOverflow), growth, backoff, interval);
    }
};

void scaleKernel(const KernelCall& call) {
    const Attributes& a = call.attributes;
    forEach(call.queue, 1,
            ScaleStep{call.outputs[0].as<float>(), call.outputs[1].as<std::int32_t>(),
                      call.inputs[2].as<const element::Bool>(), a.number("growth_factor"),
                      a.number("backoff_factor"), a.integer("growth_interval")});
}

template <class T, class V> struct RecordNumber {
    T* record;
    std::int64_t at;
    const V* value;
    TWB_HOST_DEVICE void operator()(std::int64_t) const { record[at] = static_cast<T>(widened(*value)); }
};

void recordKernel(const KernelCall& call) {
    const TensorView& record = call.outputs[0];
    const std::int64_t length = record.elementCount();
    if (length == 0) return;
    withFloat(record.dtype, [&](auto zero) {
        using T = decltype(zero);
        withStoredFloat(call.inputs[1].dtype, [&](auto stored) {
            using V = decltype(stored);
            forEach(call.queue, 1,
                    RecordNumber<T, V>{record.template as<T>(), call.iteration % length,
                                       call.inputs[1].template as<const V>()});
        });
    });
}

struct NextRate {
    ScheduleRule rule;
    const std::int64_t* step;
    DeviceNumber factor;
    void* out;
    bool isDouble;
    TWB_HOST_DEVICE void operator()(std::int64_t) const {
        const double rate = rule.at(*step) * factor.get();
        if (isDouble)
            *static_cast<double*>(out) = rate;
        else
            *static_cast<float*>(out) = static_cast<float>(rate);
    }
};

void rateKernel(const KernelCall& call) {
    forEach(call.queue, 1,
            NextRate{scheduleRule(call.attributes), call.inputs[0].as<const std::int64_t>(),
                     numberAt(call.input(1), 1), call.outputs[0].data, call.outputs[0].dtype == DType::f64});
}

template <class T> struct StartParameter {
    T* out;
    std::uint64_t seed;
    ParameterStart start;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = stored<T>(start.element<Wide<T>>(randomWords(seed, static_cast<std::uint64_t>(i))));
    }
};

void parameterKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                StartParameter<T>{out.as<T>(), static_cast<std::uint64_t>(call.attributes.integer("seed")),
                                  parameterStart(call.attributes, out.shape)});
    });
}

} // namespace

void addUpdateKernels(KernelMap& table) {
    add(table, "SGDUpdate", sgdKernel);
    add(table, "AdamUpdate", adamKernel<false>);
    add(table, "AdamWUpdate", adamKernel<true>);
    add(table, "RMSpropUpdate", rmsPropKernel);
    add(table, "AdagradUpdate", adagradKernel);
    add(table, "LionUpdate", lionKernel);
    add(table, "Assign", assignKernel);
    add(table, "AverageUpdate", averageKernel);
    add(table, "StepUpdate", countKernel);
    add(table, "ScaleUpdate", scaleKernel);
    add(table, "Record", recordKernel);
    add(table, "LearningRate", rateKernel);
    add(table, "Parameter", parameterKernel);
}

} // namespace twb::cuda
