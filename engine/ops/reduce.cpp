#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <array>

namespace twb {
namespace {

/// Shape after the axes marked in `reduced` are taken out, or kept as 1.
Shape reducedShape(const Shape& shape, const std::array<bool, kMaxRank>& reduced, bool keepDims) {
    std::vector<std::int64_t> dims;
    dims.reserve(static_cast<std::size_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!reduced[static_cast<std::size_t>(axis)])
            dims.push_back(shape[axis]);
        else if (keepDims)
            dims.push_back(1);
    }
    return Shape(std::move(dims));
}

void inferReduce(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    const bool keepDims = ctx.attributes().flag("keepdims");
    const bool noop = ctx.attributes().flag("noop_with_empty_axes");
    std::array<bool, kMaxRank> reduced{};
    if (ctx.input(1)) {
        const int length = hostLength(ctx, 1);
        if (ctx.isDeferred(1) && length > 0) {
            // Axes are distinct, so their number fixes the rank; which sizes stay is not known.
            const int left = keepDims ? rank : rank - length;
            if (left < 0)
                ctx.fail("shape-mismatch", 1,
                         fmt::format("axes has {} entries, but data has {} dimensions", length, rank));
            ctx.output(0, {data.dtype,
                           Shape(std::vector<std::int64_t>(static_cast<std::size_t>(left), kUnknownDim))});
            return;
        }
    }
    const int port = ctx.input(1) ? 1 : -1;
    const auto axes = ctx.integers(1).value_or(std::vector<std::int64_t>{});
    if (axes.empty()) {
        if (!noop) reduced.fill(true);
        ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
        return;
    }
    for (std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axisOrFail(ctx, axis, rank, port));
        if (reduced[at])
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("dim {} appears multiple times in the list of dims", at));
        reduced[at] = true;
    }
    ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
}

void inferArgMax(InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), shape.rank(), -1);
    if (shape.rank() > 0 && shape[axis] == 0)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("argmax(): Expected reduction dim {} to have non-zero size.", axis));
    std::array<bool, kMaxRank> reduced{};
    reduced[static_cast<std::size_t>(axis)] = true;
    ctx.output(0, {DType::i64, reducedShape(shape, reduced, ctx.attributes().flag("keepdims"))});
}

Cost reduceCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    cost.flops = countOf(inputs[0].shape);
    return cost;
}

Op makeReduction(std::string name, int opset, std::string doc, std::string formula, DTypeSet types) {
    Op op = makeOp(std::move(name), "Reduce", opset, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", types, "T"), hostPort("axes")};
    op.outputs = {port("reduced", "", types, "T")};
    op.attributes = {
        integersAttribute("axes", "Axes to reduce, negative ones from the end; absent: all"),
        flagAttribute("keepdims", true, "Keep reduced axes with size 1"),
        flagAttribute("noop_with_empty_axes", false, "Without axes, reduce nothing instead of everything")};
    op.infer = inferReduce;
    op.cost = reduceCost;
    return op;
}

} // namespace

void addReductions(std::vector<Op>& table) {
    Op sum = makeReduction("ReduceSum", 13, "Sum over axes", "Y = Σ X", kNumbers);
    sum.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(sum));
    Op mean = makeReduction("ReduceMean", 18, "Mean over axes; integers are cut towards 0", "Y = Σ X / n",
                            kNumbers);
    mean.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(mean));
    table.push_back(makeReduction("ReduceMax", 20, "Largest element over axes; NaN wins", "Y = max X",
                                  kNumbers | DTypeSet{DType::boolean}));

    Op argMax = makeOp("ArgMax", "Reduce", 13, "Where along an axis the largest element is; NaN wins",
                       "Y = argmax X");
    argMax.inputs = {port("data", "self", kNumbers)};
    argMax.outputs = {port("reduced", "", DTypeSet{DType::i64})};
    argMax.attributes = {
        integerAttribute("axis", 0, "The axis to search along, negative from the end"),
        flagAttribute("keepdims", true, "Keep the axis with size 1"),
        flagAttribute("select_last_index", false, "Of equal largest elements take the last, not the first")};
    argMax.infer = inferArgMax;
    argMax.cost = reduceCost;
    table.push_back(std::move(argMax));
}

} // namespace twb
