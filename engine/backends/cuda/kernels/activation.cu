#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "ops/activation_functions.h"
#include "ops/kernel_inputs.h"

#include <limits>

namespace twb::cuda {
namespace {

void reluKernel(const KernelCall& call) { mapNumbers(call, element::Relu{}); }

void geluKernel(const KernelCall& call) {
    if (call.attributes.text("approximate") == "tanh")
        mapFloats(call, element::GeluTanh{});
    else
        mapFloats(call, element::GeluErf{});
}

/// An activation F with the parameter alpha.
template <class F> void alphaKernel(const KernelCall& call) {
    mapFloats(call, F{call.attributes.number("alpha")});
}

void seluKernel(const KernelCall& call) {
    mapFloats(call, element::Selu{call.attributes.number("alpha"), call.attributes.number("gamma")});
}

void hardSigmoidKernel(const KernelCall& call) {
    mapFloats(call, element::HardSigmoid{call.attributes.number("alpha"), call.attributes.number("beta")});
}

void shrinkKernel(const KernelCall& call) {
    mapNumbers(call, element::Shrink{call.attributes.number("bias"), call.attributes.number("lambd")});
}

void pReluKernel(const KernelCall& call) {
    withStoredNumber(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (sizeof(T) >= 4 || isHalf<T>)
            zipElements<T, T, T>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0],
                                 element::PRelu{});
    });
}

void reluGradKernel(const KernelCall& call) {
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0],
                             element::ReluGrad{});
    });
}

void swiGluKernel(const KernelCall& call) {
    const element::SwiGlu f{call.attributes.number("alpha")};
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0], f);
    });
}

/// A bound of Clip on the host: from the input, from the attribute, or `open`.
template <class W> W boundOf(const KernelCall& call, std::size_t port, const char* name, W open) {
    const TensorView given = call.input(port);
    if (given.data) {
        if (given.elementCount() != 1)
            throw Error(ErrorCode::invalidArgument, std::string(name) + " of Clip must be a single number");
        W bound{};
        withAny(given.dtype,
                [&](auto zero) { bound = element::cast<W>(widened(*given.as<const decltype(zero)>())); });
        return bound;
    }
    const AttributeValue* value = call.attributes.find(name);
    if (!value) return open;
    const auto* integer = std::get_if<std::int64_t>(value);
    return integer ? element::cast<W>(*integer) : element::cast<W>(call.attributes.number(name));
}

void clipKernel(const KernelCall& call) {
    withStoredNumber(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using W = Wide<T>;
        using Limits = std::numeric_limits<W>;
        const W lowest = Limits::has_infinity ? static_cast<W>(-Limits::infinity()) : Limits::lowest();
        const W highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
        const element::Clip<W> clip{boundOf<W>(call, 1, "min", lowest), boundOf<W>(call, 2, "max", highest)};
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], clip);
    });
}

} // namespace

void addActivationKernels(KernelMap& table) {
    add(table, "Relu", reluKernel);
    add(table, "Gelu", geluKernel);
    add(table, "Sigmoid", floatKernel<element::Sigmoid>);
    add(table, "Tanh", floatKernel<element::Tanh>);
    add(table, "LeakyRelu", alphaKernel<element::LeakyRelu>);
    add(table, "ThresholdedRelu", alphaKernel<element::ThresholdedRelu>);
    add(table, "Elu", alphaKernel<element::Elu>);
    add(table, "Celu", alphaKernel<element::Celu>);
    add(table, "Swish", alphaKernel<element::Swish>);
    add(table, "SwiGLU", swiGluKernel);
    add(table, "Selu", seluKernel);
    add(table, "HardSigmoid", hardSigmoidKernel);
    add(table, "HardSwish", floatKernel<element::HardSwish>);
    add(table, "Softplus", floatKernel<element::Softplus>);
    add(table, "Softsign", floatKernel<element::Softsign>);
    add(table, "Mish", floatKernel<element::Mish>);
    add(table, "Shrink", shrinkKernel);
    add(table, "PRelu", pReluKernel);
    add(table, "ReluGrad", reluGradKernel);
    add(table, "Clip", clipKernel);
}

} // namespace twb::cuda
