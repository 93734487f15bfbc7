#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/math_functions.h"

#include <span>
#include <vector>

namespace twb::cuda {
namespace {

template <class T, class F>
void zip(const KernelCall& call, const TensorView& a, const TensorView& b, const F& f) {
    zipElements<T, T, T>(call.queue, a, b, call.outputs[0], f);
}

/// Add, Sub and Mul wrap around for signed and unsigned integers alike.
template <class F> void wrappingKernel(const KernelCall& call) {
    withWrapping(call.outputs[0].dtype,
                 [&](auto zero) { zip<decltype(zero)>(call, call.inputs[0], call.inputs[1], F{}); });
}

/// F with a report of integer divisions by 0.
template <class F> struct Checked {
    Fault* fault;
    Fault::Code code;
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            if (b == 0) raise(fault, code);
        return F{}(a, b);
    }
};

/// Integers report a division by 0. Floats give infinities and need no report.
Fault* faultFor(const KernelCall& call) {
    return isInteger(call.outputs[0].dtype) ? call.queue.fault() : nullptr;
}

void divKernel(const KernelCall& call) {
    withStoredNumber(call.outputs[0].dtype, [&](auto zero) {
        zip<decltype(zero)>(call, call.inputs[0], call.inputs[1],
                            Checked<element::Div>{faultFor(call), Fault::divisionByZero});
    });
}

void modKernel(const KernelCall& call) {
    const TensorView& a = call.inputs[0];
    const TensorView& b = call.inputs[1];
    const DType dtype = call.outputs[0].dtype;
    const bool isFmod = call.attributes.flag("fmod");
    withStoredNumber(dtype, [&](auto zero) {
        using T = decltype(zero);
        if (isFmod)
            zip<T>(call, a, b, Checked<element::Fmod>{faultFor(call), Fault::moduloByZero});
        else
            zip<T>(call, a, b, Checked<element::Remainder>{faultFor(call), Fault::moduloByZero});
    });
}

// Any number of inputs

/// The mean: the last of several sums, divided by their number.
struct AddAndDivide {
    double count;
    template <class T> TWB_HOST_DEVICE T operator()(T a, T b) const {
        return (a + b) / static_cast<T>(count);
    }
};

/// Folds all inputs into the output, from first to last, and applies `last`. f16 and bf16 are f32 in between.
template <class F, class Last>
void fold(const KernelCall& call, std::span<const TensorView> given, const F& f, const Last& last) {
    const TensorView& out = call.outputs[0];
    if (given.size() == 1) return copyView(call.queue, given[0], out);
    const DType between = isHalfWidth(out.dtype) ? DType::f32 : out.dtype;
    const bool isKept = between != out.dtype && given.size() > 2;
    const Scratch kept(call.queue, isKept ? static_cast<std::size_t>(out.shape.byteCount(between)) : 0);
    const TensorView held{isKept ? kept.data() : out.data, between, out.shape, denseStrides(out.shape)};
    const TensorView& final = given.back();
    withStoredNumber(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        using W = Wide<T>;
        if (given.size() == 2) return zipElements<T, T, T>(call.queue, given[0], final, out, last);
        zipElements<T, T, W>(call.queue, given[0], given[1], held, f);
        for (const TensorView& in : given.subspan(2, given.size() - 3))
            zipElements<W, T, W>(call.queue, held, in, held, f);
        zipElements<W, T, T>(call.queue, held, final, out, last);
    });
}

std::vector<TensorView> connected(const KernelCall& call) {
    std::vector<TensorView> given;
    for (const TensorView& in : call.inputs)
        if (in.data) given.push_back(in);
    return given;
}

template <class F> void foldKernel(const KernelCall& call) { fold(call, connected(call), F{}, F{}); }

void meanKernel(const KernelCall& call) {
    const auto given = connected(call);
    fold(call, given, element::Add{}, AddAndDivide{static_cast<double>(given.size())});
}

} // namespace

void addArithmeticKernels(KernelMap& table) {
    add(table, "Add", wrappingKernel<element::Add>);
    add(table, "Sub", wrappingKernel<element::Sub>);
    add(table, "Mul", wrappingKernel<element::Mul>);
    add(table, "Div", divKernel);
    add(table, "Mod", modKernel);
    add(table, "Max", foldKernel<element::Max>);
    add(table, "Min", foldKernel<element::Min>);
    add(table, "Sum", foldKernel<element::Add>);
    add(table, "Mean", meanKernel);
}

} // namespace twb::cuda
