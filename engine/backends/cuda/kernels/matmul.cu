#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/integer_matmul.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"

namespace twb::cuda {
namespace {

void matMulKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const MatrixStack a(call.queue, call.inputs[0], true);
    const MatrixStack b(call.queue, call.inputs[1], false);
    if (isInteger(out.dtype)) return multiplyIntegers(call.queue, a, b, out);
    multiplyStacks(call.queue, a, b, out);
}

// Gemm

/// Integers with fractional factors are computed in double and truncated, as in ONNX's reference.
template <class T> struct ScaleIntegers {
    double alpha, beta;
    TWB_HOST_DEVICE T operator()(T product, T added) const {
        return element::cast<T>(alpha * static_cast<double>(product) + beta * static_cast<double>(added));
    }
};

void gemmOfIntegers(const KernelCall& call, const MatrixStack& a, const MatrixStack& b, bool addsC) {
    const TensorView& out = call.outputs[0];
    const double alpha = call.attributes.number("alpha");
    const double beta = addsC ? call.attributes.number("beta") : 0;
    multiplyIntegers(call.queue, a, b, out);
    const TensorView& c = addsC ? call.inputs[2] : out;
    if (alpha == 1 && !addsC) return;
    if (alpha == 1 && beta == 1)
        return withBits(out.dtype, [&](auto zero) {
            using T = decltype(zero);
            zipElements<T, T, T>(call.queue, out, c, out, element::Add{});
        });
    withInteger(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(call.queue, out, c, out, ScaleIntegers<T>{alpha, beta});
    });
}

void gemmKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const bool isStack = call.inputs[0].shape.rank() > 2;
    const DenseView stack(call.queue, isStack ? call.inputs[0] : TensorView{});
    const MatrixStack a(call.queue,
                        isStack ? asOneMatrix(stack.view())
                                : transposedIf(call.inputs[0], call.attributes.flag("transA")),
                        true);
    const MatrixStack b(call.queue, transposedIf(call.inputs[1], call.attributes.flag("transB")), false);
    const double beta = call.attributes.number("beta");
    const TensorView c = call.input(2);
    const bool addsC = c.data && beta != 0;
    if (isInteger(out.dtype)) return gemmOfIntegers(call, a, b, addsC);
    Product product = productOf(a, b, out);
    product.alpha = call.attributes.number("alpha");
    if (addsC) {
        if (beta == 1 && product.k > 0 && isRow(c, product.n) &&
            multiplyAndEnd(call.queue, product, {c.data, Activation::none}) == Ended::all)
            return;
        copyView(call.queue, c, out);
        product.beta = beta;
    }
    multiply(call.queue, product);
}

} // namespace

void addMatMulKernels(KernelMap& table) {
    add(table, "MatMul", matMulKernel);
    add(table, "Gemm", gemmKernel);
}

} // namespace twb::cuda
