#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "ops/math_functions.h"

namespace twb::cuda {
namespace {

template <class F> void testKernel(const KernelCall& call, const F& f) {
    withStoredFloat(call.inputs[0].dtype, [&](auto zero) {
        mapElements<decltype(zero), element::Bool>(call.queue, call.inputs[0], call.outputs[0], f);
    });
}

void isNaNKernel(const KernelCall& call) { testKernel(call, element::IsNaN{}); }

void isInfKernel(const KernelCall& call) {
    testKernel(call, element::IsInf{call.attributes.flag("detect_positive"),
                                    call.attributes.flag("detect_negative")});
}

void negKernel(const KernelCall& call) {
    withWrapping(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], element::Neg{});
    });
}

} // namespace

void addMathKernels(KernelMap& table) {
    add(table, "Sin", floatKernel<element::Sin>);
    add(table, "Cos", floatKernel<element::Cos>);
    add(table, "Tan", floatKernel<element::Tan>);
    add(table, "Asin", floatKernel<element::Asin>);
    add(table, "Acos", floatKernel<element::Acos>);
    add(table, "Atan", floatKernel<element::Atan>);
    add(table, "Sinh", floatKernel<element::Sinh>);
    add(table, "Cosh", floatKernel<element::Cosh>);
    add(table, "Asinh", floatKernel<element::Asinh>);
    add(table, "Acosh", floatKernel<element::Acosh>);
    add(table, "Atanh", floatKernel<element::Atanh>);
    add(table, "Erf", numberKernel<element::Erf>);
    add(table, "Erfinv", floatKernel<element::Erfinv>);
    add(table, "Floor", floatKernel<element::Floor>);
    add(table, "Ceil", floatKernel<element::Ceil>);
    add(table, "Round", floatKernel<element::Round>);
    add(table, "Sign", numberKernel<element::Sign>);
    add(table, "Reciprocal", floatKernel<element::Reciprocal>);
    add(table, "Exp", floatKernel<element::Exp>);
    add(table, "Log", floatKernel<element::Log>);
    add(table, "Sqrt", floatKernel<element::Sqrt>);
    add(table, "Abs", numberKernel<element::Abs>);
    add(table, "Neg", negKernel);
    add(table, "IsNaN", isNaNKernel);
    add(table, "IsInf", isInfKernel);
}

} // namespace twb::cuda
