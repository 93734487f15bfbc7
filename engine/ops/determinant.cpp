#include "backends/cpu/parallel.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/elimination.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

namespace twb {
namespace {

void inferDet(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const int rank = x.shape.rank();
    if (rank < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("linalg.det: The input tensor A must have at least 2 dimensions."));
    const std::int64_t rows = x.shape[rank - 2];
    const std::int64_t columns = x.shape[rank - 1];
    if (rows != columns && rows != kUnknownDim && columns != kUnknownDim)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("linalg.det: A must be batches of square matrices, but they are {} by {} matrices",
                        rows, columns));
    ctx.output(0, {x.dtype, Shape(std::vector<std::int64_t>(x.shape.begin(), x.shape.end() - 2))});
}

void detKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const std::int64_t count = out.elementCount();
    if (count == 0) return;
    const std::int64_t n = ctx.inputs[0].shape[ctx.inputs[0].shape.rank() - 1];
    // A copy, since elimination works in place.
    const Tensor work = Tensor::onHost({DType::f64, ctx.inputs[0].shape});
    convertElements(ctx.inputs[0], work.view());
    auto* const a = static_cast<double*>(work.data());
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        parallelRanges(count, count * n * n * n, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                out.as<T>()[i] = static_cast<T>(determinant(a + i * n * n, n));
        });
    });
}

/// The cofactors: determinants of the matrix without a row and a column. They are right for a singular
/// matrix, too, where the inverse is not.
void detGradient(GradientContext& g) {
    const Shape& x = g.input().shape();
    const int rank = x.rank();
    const std::int64_t n = x[rank - 1];
    constexpr std::int64_t most = 32;
    if (n > most)
        g.refuse(fmt::format("the matrices have {} rows, but the gradient takes at most {}", n, most));
    Shape lifted = x;
    lifted[rank - 2] = lifted[rank - 1] = 1;
    const GraphTensor gradient = reshape(g.gradient(), lifted);
    if (n < 2) return g.give(0, expand(gradient, x));
    std::vector<double> rest; // for each index, the others
    std::vector<double> signs;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            if (i != j) rest.push_back(static_cast<double>(j));
            signs.push_back((i + j) % 2 == 0 ? 1 : -1);
        }
    const GraphTensor others = constant(g, DType::i64, {n, n - 1}, rest);
    const GraphTensor both = gather(gather(g.input(), others, rank - 2), others, rank);
    std::vector<std::int64_t> order(static_cast<std::size_t>(rank) + 2);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(rank) - 1], order[static_cast<std::size_t>(rank)]);
    const GraphTensor minors = apply("Det", {transpose(both, order)});
    g.give(0, gradient * (minors * constant(g, g.input().type().dtype, {n, n}, signs)));
}

} // namespace

void addDeterminant(std::vector<Op>& table) {
    Op op = makeOp("Det", "Linear algebra", 22, "The determinant of each of a stack of square matrices",
                   "Y = det X");
    op.torch = "torch.linalg.det({0})";
    op.inputs = {port("X", "A", kFloats, "T")};
    op.outputs = {port("Y", "", kFloats, "T")};
    op.tolerance = {1e-5, 1e-5};
    op.infer = inferDet;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        const Shape& shape = inputs[0].shape;
        cost.flops = countOf(shape) * static_cast<double>(shape[shape.rank() - 1]) * 2 / 3;
        return cost;
    };
    op.kernel = viaFloat<detKernel>;
    op.gradient = detGradient;
    table.push_back(std::move(op));

    describe(table, "Det", "X […, m, m] → Y […]", {operand({3, 3})});
}

} // namespace twb
