#include "backends/cuda/kernels/product_chain.h"

#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/convolution_end.h"
#include "backends/cuda/kernels/matrix.h"
#include "backends/cuda/kernels/product_end.h"
#include "backends/cuda/kernels/view_copy.h"

#include <array>
#include <vector>

namespace twb::cuda {
namespace {

/// The operand of an Add that comes from outside the chain.
const TensorView& addedBy(const OpChain::Member& add, const OpChain& chain,
                          std::span<const TensorView> inputs) {
    return inputs[add.operands.at(add.operands.at(0) < chain.inputs ? 0 : 1)];
}

/// The operands of the chain's product and of a following Add.
struct Operands {
    TensorView a, b, row;
    double alpha = 1;

    Operands(const OpChain& chain, std::span<const TensorView> inputs) {
        const OpChain::Member& product = chain.members.front();
        a = inputs[product.operands.at(0)];
        b = inputs[product.operands.at(1)];
        if (product.op == "Gemm") {
            a = transposedIf(a, product.attributes.flag("transA"));
            b = transposedIf(b, product.attributes.flag("transB"));
            alpha = product.attributes.number("alpha");
            if (product.operands.size() > 2 && product.attributes.number("beta") != 0)
                row = inputs[product.operands[2]];
        }
        const OpChain::Member& second = chain.members.at(1);
        if (second.op == "Add") row = addedBy(second, chain, inputs);
    }
};

void runConvolutionChain(const OpChain& chain, const KernelCall& call) {
    const OpChain::Member& convolution = chain.members.front();
    std::vector<TensorView> inputs;
    for (const std::size_t k : convolution.operands) inputs.push_back(call.inputs[k]);
    ConvolutionEnd end;
    if (const OpChain::Member& second = chain.members.at(1); second.op == "Add")
        end.other = addedBy(second, chain, call.inputs);
    const OpChain::Member& last = chain.members.back();
    end.activation = activationOf(last.op, last.attributes);
    convolveAndEnd({inputs, call.outputs, convolution.attributes, call.memory, call.queue}, end);
}

} // namespace

void runProductChain(const OpChain& chain, const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    if (chain.members.front().op == "Conv") return runConvolutionChain(chain, call);
    Queue& queue = call.queue;
    const Operands operands(chain, call.inputs);
    const DenseView dense(queue, operands.a.shape.rank() > 2 ? operands.a : TensorView{});
    const MatrixStack a(queue, dense ? asOneMatrix(dense.view()) : operands.a, true);
    const MatrixStack b(queue, operands.b, false);
    const DenseView row(queue, operands.row);
    const OpChain::Member& last = chain.members.back();
    Product product = productOf(a, b, out);
    product.alpha = operands.alpha;
    const ProductEnd end{row.view().data, activationOf(last.op, last.attributes)};
    const Ended ended = multiplyAndEnd(queue, product, end);
    if (ended == Ended::none) {
        if (row) {
            copyView(queue, row.view(), out);
            product.beta = 1;
        }
        multiply(queue, product);
    }
    if (ended == Ended::all || end.activation == Activation::none) return;
    const std::array both{out};
    findKernel(last.op)->run({both, both, last.attributes, nullptr, queue});
}

} // namespace twb::cuda
