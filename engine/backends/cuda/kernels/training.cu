#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "core/error.h"
#include "ops/host_number.h"
#include "ops/philox.h"

#include <cmath>

namespace twb::cuda {
namespace {

// Dropout

template <class T> struct DropElements {
    Walk<1> walk;
    const T* in;
    T* out;
    element::Bool* mask; ///< null: not requested
    double ratio;        ///< 0: nothing is dropped
    std::uint64_t seed;
    std::uint64_t iteration;
    Wide<T> scale;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const T x = in[walk.at(i)[0]];
        const bool keeps = ratio == 0 || uniform01<double>(randomWords(seed, static_cast<std::uint64_t>(i),
                                                                       iteration)) >= ratio;
        out[i] = ratio == 0 ? x : stored<T>(keeps ? widened(x) * scale : Wide<T>(0));
        if (mask) mask[i] = element::Bool(keeps);
    }
};

void dropoutKernel(const KernelCall& call) {
    const KernelContext ctx = call.context();
    const TensorView& in = call.inputs[0];
    const bool isTraining = call.input(2).data ? hostNumberOf(ctx, 2, "training_mode") != 0.0
                                               : call.attributes.flag("training_mode");
    const double ratio = isTraining ? hostNumberOf(ctx, 1, "ratio").value_or(0) : 0;
    if (!(ratio >= 0 && ratio <= 1))
        throw Error(ErrorCode::invalidArgument,
                    "dropout probability has to be between 0 and 1, but got " + std::to_string(ratio));
    withStoredFloat(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, call.outputs[0].elementCount(),
                DropElements<T>{walkOf(in), in.as<const T>(), call.outputs[0].as<T>(),
                                call.isAsked(1) ? call.outputs[1].as<element::Bool>() : nullptr, ratio,
                                static_cast<std::uint64_t>(call.attributes.integer("seed")),
                                static_cast<std::uint64_t>(call.iteration),
                                static_cast<Wide<T>>(1 / (1 - ratio))});
    });
}

// Optimizers: parameters X, gradients G and one or two state tensors, element by element.

struct AdagradStep {
    double rate, epsilon, norm;
    template <class T> TWB_HOST_DEVICE void operator()(T& x, T gradient, T& h, T&) const {
        const T g = static_cast<T>(norm) * x + gradient;
        h += g * g;
        x -= static_cast<T>(rate) * g / (std::sqrt(h) + static_cast<T>(epsilon));
    }
};

struct AdamStep {
    double rate, alpha, beta, epsilon, norm, post;
    template <class T> TWB_HOST_DEVICE void operator()(T& x, T gradient, T& v, T& h) const {
        const T g = static_cast<T>(norm) * x + gradient;
        v = static_cast<T>(alpha) * v + static_cast<T>(1 - alpha) * g;
        h = static_cast<T>(beta) * h + static_cast<T>(1 - beta) * g * g;
        x -= static_cast<T>(rate) * v / (std::sqrt(h) + static_cast<T>(epsilon));
        x *= static_cast<T>(1 - post);
    }
};

struct MomentumStep {
    double rate, alpha, beta, norm;
    bool isNesterov;
    template <class T> TWB_HOST_DEVICE void operator()(T& x, T gradient, T& v, T&) const {
        const T g = static_cast<T>(norm) * x + gradient;
        v = static_cast<T>(alpha) * v + static_cast<T>(beta) * g;
        x -= static_cast<T>(rate) * (isNesterov ? g + static_cast<T>(alpha) * v : v);
    }
};

template <class T, class Step> struct UpdateParameter {
    Walk<4> walk; ///< x, g, first and second state as inputs
    const T *x, *g, *first, *second;
    T *newX, *newFirst, *newSecond; ///< the last one is null if there is only one state
    Step update;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const auto at = walk.at(i);
        T parameter = x[at[0]];
        T one = first[at[2]];
        T other = second ? second[at[3]] : T{0};
        update(parameter, g[at[1]], one, other);
        newX[i] = parameter;
        newFirst[i] = one;
        if (newSecond) newSecond[i] = other;
    }
};

template <class Step> void optimize(const KernelCall& call, std::size_t states, const Step& step) {
    const std::size_t count = (call.inputs.size() - 2) / (2 + states);
    for (std::size_t n = 0; n < count; ++n) {
        const auto input = [&](std::size_t group) -> const TensorView& {
            return call.inputs[2 + group * count + n];
        };
        const auto output = [&](std::size_t group) -> const TensorView& {
            return call.outputs[group * count + n];
        };
        withFloat(output(0).dtype, [&](auto zero) {
            using T = decltype(zero);
            forEach(call.queue, output(0).elementCount(),
                    UpdateParameter<T, Step>{
                        walkOf<4>(output(0).shape, {&input(0), &input(1), &input(2), &input(1 + states)}),
                        input(0).template as<const T>(), input(1).template as<const T>(),
                        input(2).template as<const T>(),
                        states > 1 ? input(3).template as<const T>() : nullptr, output(0).template as<T>(),
                        output(1).template as<T>(), states > 1 ? output(2).template as<T>() : nullptr, step});
        });
    }
}

/// The learning rate and the number of updates so far, which are host values.
double hostScalar(const KernelCall& call, int port, const char* name) {
    return hostNumberOf(call.context(), port, name).value_or(0);
}

void adagradKernel(const KernelCall& call) {
    const double decay = 1 + hostScalar(call, 1, "T") * call.attributes.number("decay_factor");
    optimize(call, 1,
             AdagradStep{hostScalar(call, 0, "R") / decay, call.attributes.number("epsilon"),
                         call.attributes.number("norm_coefficient")});
}

void adamKernel(const KernelCall& call) {
    const double alpha = call.attributes.number("alpha");
    const double beta = call.attributes.number("beta");
    const double step = hostScalar(call, 1, "T");
    double rate = hostScalar(call, 0, "R");
    if (step > 0) rate *= std::sqrt(1 - std::pow(beta, step)) / (1 - std::pow(alpha, step));
    optimize(call, 2,
             AdamStep{rate, alpha, beta, call.attributes.number("epsilon"),
                      call.attributes.number("norm_coefficient"),
                      call.attributes.number("norm_coefficient_post")});
}

void momentumKernel(const KernelCall& call) {
    const double beta = hostScalar(call, 1, "T") > 0 ? call.attributes.number("beta") : 1;
    optimize(call, 1,
             MomentumStep{hostScalar(call, 0, "R"), call.attributes.number("alpha"), beta,
                          call.attributes.number("norm_coefficient"),
                          call.attributes.text("mode") == "nesterov"});
}

} // namespace

void addTrainingKernels(KernelMap& table) {
    add(table, "Dropout", dropoutKernel);
    add(table, "Adagrad", adagradKernel);
    add(table, "Adam", adamKernel);
    add(table, "Momentum", momentumKernel);
}

} // namespace twb::cuda
