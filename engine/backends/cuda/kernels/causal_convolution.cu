#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"
#include "ops/activation_functions.h"

namespace twb::cuda {
namespace {

/// The past of each line, followed by its elements.
template <class T> struct PaddedLines {
    const T *past, *x; ///< past null: zeros
    std::int64_t before, length;
    TWB_HOST_DEVICE T operator()(std::int64_t line, std::int64_t i) const {
        if (i >= before) return x[line * length + i - before];
        return past ? past[line * before + i] : T{};
    }
};

template <class T> struct ConvolveCausally {
    PaddedLines<T> lines;
    const T *weight, *bias; ///< bias null: zeros
    T* y;
    std::int64_t channels;
    bool isSwish;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t line = i / lines.length;
        const std::int64_t channel = line % channels;
        Wide<T> sum = bias ? widened(bias[channel]) : Wide<T>{0};
        TWB_ROLLED
        for (std::int64_t k = 0; k <= lines.before; ++k)
            sum += widened(weight[channel * (lines.before + 1) + k]) *
                   widened(lines(line, i - line * lines.length + k));
        y[i] = stored<T>(isSwish ? element::Swish{1}(sum) : sum);
    }
};

template <class T> struct LastOfLines {
    PaddedLines<T> lines;
    T* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t line = i / lines.before;
        out[i] = lines(line, lines.length + i - line * lines.before);
    }
};

void causalConvolutionKernel(const KernelCall& call) {
    Queue& queue = call.queue;
    const DenseView x(queue, call.inputs[0]);
    const DenseView weight(queue, call.inputs[1]);
    const DenseView bias(queue, call.input(2));
    const DenseView past(queue, call.input(3));
    withStoredFloat(call.inputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const PaddedLines<T> lines{past.as<T>(), x.as<T>(), weight.shape()[2] - 1, x.shape()[2]};
        if (call.isAsked(0))
            forEach(queue, call.outputs[0].elementCount(),
                    ConvolveCausally<T>{lines, weight.as<T>(), bias.as<T>(), call.outputs[0].as<T>(),
                                        x.shape()[1], call.attributes.text("activation") != "none"});
        if (call.isAsked(1))
            forEach(queue, call.outputs[1].elementCount(), LastOfLines<T>{lines, call.outputs[1].as<T>()});
    });
}

} // namespace

void addCausalConvolutionKernels(KernelMap& table) {
    add(table, "CausalConvWithState", causalConvolutionKernel);
}

} // namespace twb::cuda
