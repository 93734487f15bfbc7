#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/families.h"
#include "ops/schema.h"
#include "ops/unary_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace twb {
namespace {

/// Neighbouring columns that one pass of Softmax takes along: as many as fit in a few cache lines.
constexpr std::int64_t kSoftmaxBlock = 64;

void inferSoftmax(InferContext& ctx) {
    const TensorType& self = *ctx.input(0);
    axisOrFail(ctx, ctx.attributes().integer("axis"), self.shape.rank(), -1);
    ctx.output(0, self);
}

void geluKernel(const KernelContext& ctx) {
    if (ctx.attributes.text("approximate") == "tanh")
        unaryFloatKernel<element::GeluTanh>(ctx);
    else
        unaryFloatKernel<element::GeluErf>(ctx);
}

/// Softmax of `columns` neighbouring sequences of `length` elements that are `stride` apart, in place or not.
/// The largest element is taken off first, so that no exponential overflows.
template <class T>
void softmaxColumns(const T* in, T* out, std::int64_t length, std::int64_t stride, std::int64_t columns) {
    std::array<T, kSoftmaxBlock> largest;
    std::array<double, kSoftmaxBlock> sum;
    std::fill_n(largest.begin(), columns, -std::numeric_limits<T>::infinity());
    std::fill_n(sum.begin(), columns, 0.0);
    for (std::int64_t i = 0; i < length; ++i)
        for (std::int64_t c = 0; c < columns; ++c) {
            T& most = largest[static_cast<std::size_t>(c)];
            most = std::max(most, in[i * stride + c]);
        }
    for (std::int64_t i = 0; i < length; ++i)
        for (std::int64_t c = 0; c < columns; ++c) {
            const T e = std::exp(in[i * stride + c] - largest[static_cast<std::size_t>(c)]);
            out[i * stride + c] = e;
            sum[static_cast<std::size_t>(c)] += e;
        }
    for (std::int64_t i = 0; i < length; ++i)
        for (std::int64_t c = 0; c < columns; ++c)
            out[i * stride + c] = static_cast<T>(out[i * stride + c] / sum[static_cast<std::size_t>(c)]);
}

void softmaxKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    TensorView in = ctx.inputs[0];
    if (out.elementCount() == 0) return;
    if (!isDense(in)) {
        copyElements(in, out);
        in = out;
    }
    const int rank = std::max(out.shape.rank(), 1);
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), rank);
    const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[axis];
    std::int64_t inner = 1;
    for (int i = axis + 1; i < out.shape.rank(); ++i) inner *= out.shape[i];
    const std::int64_t outer = out.elementCount() / (length * inner);
    const std::int64_t blocks = (inner + kSoftmaxBlock - 1) / kSoftmaxBlock;
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        // An exponential is worth about ten plain operations.
        parallelRanges(outer * blocks, 10 * out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t column = i % blocks * kSoftmaxBlock;
                const std::int64_t first = i / blocks * length * inner + column;
                softmaxColumns(in.as<const T>() + first, out.as<T>() + first, length, inner,
                               std::min(kSoftmaxBlock, inner - column));
            }
        });
    });
}

} // namespace

void addActivations(std::vector<Op>& table) {
    table.push_back(makeUnary("Relu", "Activation", 14, "Negative numbers become 0", "Y = max(0, X)", kSigned,
                              1, viaFloat<unaryNumberKernel<element::Relu>>));

    Op gelu = makeUnary("Gelu", "Activation", 20, "Gaussian error linear unit",
                        "Y = X / 2 · (1 + erf(X / √2))", kFloats, 20, viaFloat<geluKernel>);
    gelu.attributes = {choiceAttribute("approximate", "none", {"none", "tanh"},
                                       "none: by the error function; tanh: the approximation by tanh")};
    gelu.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(gelu));

    Op softmax = makeUnary("Softmax", "Activation", 13, "Shares that add up to 1 along an axis",
                           "Y = exp(X) / Σ exp(X)", kFloats, 15, viaFloat<softmaxKernel>);
    softmax.inputs[0].name = "input";
    softmax.outputs[0].name = "output";
    softmax.attributes = {integerAttribute("axis", -1, "The axis along which the result adds up to 1")};
    softmax.tolerance = {2e-6, 1e-7};
    softmax.infer = inferSoftmax;
    table.push_back(std::move(softmax));

    Op sigmoid =
        makeUnary("Sigmoid", "Activation", 13, "Squeezes numbers into 0 … 1", "Y = 1 / (1 + exp(−X))",
                  kFloats, 12, viaFloat<unaryFloatKernel<element::Sigmoid>>);
    sigmoid.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(sigmoid));

    Op tanh = makeUnary("Tanh", "Activation", 13, "Squeezes numbers into −1 … 1", "Y = tanh(X)", kFloats, 15,
                        viaFloat<unaryFloatKernel<element::Tanh>>);
    tanh.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(tanh));
}

} // namespace twb
