#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace twb {
namespace {

// Ops that select elements by their values: OneHot, NonZero, Compress.

// OneHot

void inferOneHot(InferContext& ctx) {
    const Shape& indices = ctx.input(0)->shape;
    const TensorType& values = *ctx.input(2);
    if (values.shape.rank() != 1 || (values.shape[0] != 2 && values.shape[0] != kUnknownDim))
        ctx.fail("shape-mismatch", 2,
                 fmt::format("values must be the two numbers off and on, but has the shape {}",
                             values.shape.toTorchString()));
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), indices.rank() + 1, -1);
    const auto given = hostNumber(ctx, 1, "depth");
    if (!given && !ctx.isDeferred(1))
        ctx.fail("attribute", -1, "OneHot needs a depth: connect one, or set the attribute \"depth\"");
    std::int64_t depth = kUnknownDim;
    if (given) {
        depth = element::cast<std::int64_t>(*given);
        if (depth < 0)
            ctx.fail(ctx.input(1) ? "shape-mismatch" : "attribute", ctx.input(1) ? 1 : -1,
                     fmt::format("depth must be 0 or more, but is {}", *given));
    }
    std::vector<std::int64_t> dims = indices.dims();
    dims.insert(dims.begin() + axis, depth);
    ctx.output(0, {values.dtype, Shape(std::move(dims))});
}

void oneHotKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const TensorView& values = ctx.inputs[2];
    const int rank = out.shape.rank();
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), rank);
    if (out.elementCount() == 0) return;
    const DenseInput given(ctx.inputs[0]);
    const TensorView& indices = given.view();
    const std::int64_t depth = out.shape[axis];
    std::int64_t inner = 1;
    for (int i = axis + 1; i < rank; ++i) inner *= out.shape[i];
    const std::int64_t outer = out.elementCount() / (depth * inner);
    withElementSize(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const T off = values.as<const T>()[0];
        const T on = values.as<const T>()[values.strides[0]];
        withAny(indices.dtype, [&](auto index) {
            using I = decltype(index);
            parallelRanges(outer, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
                std::fill(out.as<T>() + begin * depth * inner, out.as<T>() + end * depth * inner, off);
                for (std::int64_t i = begin * inner; i < end * inner; ++i) {
                    auto at = element::cast<std::int64_t>(indices.as<const I>()[i]);
                    if (at < 0) at += depth;
                    // An index out of range leaves all elements off.
                    if (at >= 0 && at < depth) out.as<T>()[(i / inner * depth + at) * inner + i % inner] = on;
                }
            });
        });
    });
}

/// The gradient of `values` is [sum of the output's gradient where the output is the off value, the same
/// where it is the on value].
void oneHotGradient(GradientContext& g) {
    const Shape& out = g.output().shape();
    const std::int64_t axis = g.attributes().integer("axis");
    const std::int64_t depth = out[static_cast<int>(axis < 0 ? axis + out.rank() : axis)];
    const GraphTensor isOn = apply("OneHot", {g.input(0), {}, constant(g, DType::boolean, {2}, {0, 1})},
                                   {{"axis", axis}, {"depth", depth}});
    const auto total = [&](GraphTensor x) { return reshape(sumTo(x, {}), {1}); };
    g.give(2, concat(g, {total(where(isOn, 0, g.gradient())), total(where(isOn, g.gradient()))}, 0));
}

// NonZero

template <class F> void withElements(const TensorView& view, const F& f) {
    withAny(view.dtype, [&](auto zero) {
        using T = decltype(zero);
        const StridedLoop<1> loop(view.shape, {&view});
        std::int64_t at = 0;
        loop.rows(0, loop.total(), [&](const auto& offsets, std::int64_t count) {
            const T* from = view.as<const T>() + offsets[0];
            for (std::int64_t i = 0; i < count; ++i, ++at)
                f(at, widened(from[i * loop.innerStride(0)]) != decltype(widened(zero))(0));
        });
    });
}

std::int64_t countNonZero(const TensorView& view) {
    std::int64_t count = 0;
    withElements(view, [&](std::int64_t, bool set) { count += set ? 1 : 0; });
    return count;
}

/// Row-major indices of the nonzero elements.
std::vector<std::int64_t> nonZeroPlaces(const TensorView& view) {
    std::vector<std::int64_t> out;
    withElements(view, [&](std::int64_t at, bool set) {
        if (set) out.push_back(at);
    });
    return out;
}

void inferNonZero(InferContext& ctx) {
    const Tensor* value = ctx.value(0);
    ctx.output(0, {DType::i64,
                   Shape{ctx.input(0)->shape.rank(), value ? countNonZero(value->view()) : kUnknownDim}});
}

void nonZeroKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const std::vector<std::int64_t> places = nonZeroPlaces(in);
    const std::int64_t count = std::min(out.shape[1], static_cast<std::int64_t>(places.size()));
    auto* const to = out.as<std::int64_t>();
    const std::int64_t columns = out.shape[1];
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t rest = places[static_cast<std::size_t>(i)];
        for (int axis = in.shape.rank() - 1; axis >= 0; --axis) {
            to[axis * columns + i] = rest % in.shape[axis];
            rest /= in.shape[axis];
        }
    }
}

// Compress

void inferCompress(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& condition = ctx.input(1)->shape;
    if (condition.rank() != 1)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("condition must be a list of bools, but has the shape {}",
                             condition.toTorchString()));
    const bool flat = !ctx.attributes().has("axis");
    if (!flat && data.shape.rank() == 0)
        ctx.fail("shape-mismatch", 0,
                 "Compress along an axis needs data with an axis; remove the attribute \"axis\" to select "
                 "single elements");
    const int axis = flat ? 0 : axisOrFail(ctx, ctx.attributes().integer("axis"), data.shape.rank(), -1);
    std::int64_t size = kUnknownDim;
    if (!flat)
        size = data.shape[axis];
    else if (data.shape.isKnown())
        size = data.shape.elementCount();
    if (size != kUnknownDim && condition[0] > size)
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("condition has {} entries, but there are {} to choose from", condition[0], size));
    const Tensor* value = ctx.value(1);
    const std::int64_t count = value ? countNonZero(value->view()) : kUnknownDim;
    Shape shape = flat ? Shape{count} : data.shape;
    if (!flat) shape[axis] = count;
    ctx.output(0, {data.dtype, std::move(shape)});
}

void compressKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseInput given(ctx.inputs[0]);
    const TensorView& data = given.view();
    const std::vector<std::int64_t> places = nonZeroPlaces(ctx.inputs[1]);
    std::int64_t outer = 1;
    std::int64_t size = data.elementCount();
    std::int64_t inner = 1;
    if (ctx.attributes.has("axis")) {
        const int rank = data.shape.rank();
        const int axis = *normalizeAxis(ctx.attributes.integer("axis"), rank);
        size = data.shape[axis];
        for (int i = axis + 1; i < rank; ++i) inner *= data.shape[i];
        outer = data.elementCount() / (size * inner);
    }
    const auto count = static_cast<std::int64_t>(places.size());
    if (outer * count * inner != out.elementCount())
        throw Error(ErrorCode::failed,
                    "the condition of Compress has changed since the size of its result was computed");
    gatherBlocks(data.as<const std::byte>(), out.as<std::byte>(), places.data(), outer, count, size, inner,
                 sizeOf(out.dtype));
}

void compressGradient(GradientContext& g) {
    std::vector<double> places;
    const std::vector<std::int64_t> condition = *g.integers(1);
    for (std::size_t i = 0; i < condition.size(); ++i)
        if (condition[i] != 0) places.push_back(static_cast<double>(i));
    const Shape& in = g.input().shape();
    const bool flat = !g.attributes().has("axis");
    const std::int64_t given = flat ? 0 : g.attributes().integer("axis");
    const auto axis = static_cast<int>(given < 0 ? given + in.rank() : given);
    const Shape all = flat ? Shape{in.elementCount()} : in;
    Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(all.rank()), 1));
    line[axis] = static_cast<std::int64_t>(places.size());
    const GraphTensor at = expand(constant(g, DType::i64, line, places), g.gradient().shape());
    const GraphTensor dx =
        apply("ScatterElements", {full(g, {g.input().type().dtype, all}, 0), at, g.gradient()},
              {{"axis", std::int64_t{axis}}});
    g.give(0, reshape(dx, in));
}

} // namespace

void addSelectionOps(std::vector<Op>& table) {
    Op oneHot =
        makeOp("OneHot", "Indexing", 28, "One-hot encoding along a new axis: on at each index, off elsewhere",
               "output[i, j] = (j == indices[i]) ? on : off");
    PortSpec depth = optionalPort("depth", "num_classes", kNumbers);
    depth.hostValue = true;
    oneHot.inputs = {port("indices", "self", kNumbers), std::move(depth),
                     port("values", "values", kAll, "T3")};
    oneHot.outputs = {port("output", "", kAll, "T3")};
    AttributeSpec depthValue = integerAttribute("depth", 0, "Size of the new axis");
    depthValue.defaultValue.reset();
    depthValue.minimum = 0;
    oneHot.attributes = {
        integerAttribute("axis", -1, "Position of the new axis in the result, negative from the end"),
        std::move(depthValue)};
    oneHot.infer = inferOneHot;
    oneHot.cost = moveCost;
    oneHot.kernel = oneHotKernel;
    oneHot.gradient = oneHotGradient;
    table.push_back(std::move(oneHot));

    Op nonZero =
        makeOp("NonZero", "Selection", 13, "Indices of the nonzero elements, one column per element");
    nonZero.torch = "torch.nonzero({0}).t()";
    nonZero.inputs = {port("X", "self", kAll)};
    nonZero.inputs[0].shapesOutput = true;
    nonZero.outputs = {port("Y", "", DTypeSet{DType::i64})};
    nonZero.infer = inferNonZero;
    nonZero.kernel = nonZeroKernel;
    nonZero.noGradient = "gives indices";
    table.push_back(std::move(nonZero));

    Op compress =
        makeOp("Compress", "Selection", 28, "Selects the slices along an axis whose condition is true");
    compress.inputs = {port("input", "self", kAll, "T"), port("condition", "mask", kBool)};
    compress.inputs[1].shapesOutput = true;
    compress.outputs = {port("output", "", kAll, "T")};
    AttributeSpec axis = integerAttribute("axis", 0, "Axis of the slices; absent: selects from all elements");
    axis.defaultValue.reset();
    compress.attributes = {std::move(axis)};
    compress.infer = inferCompress;
    compress.cost = gatherCost;
    compress.kernel = compressKernel;
    compress.gradient = compressGradient;
    table.push_back(std::move(compress));

    describe(table, "OneHot", "indices [i…] · values [2], off and on → output [i…, depth]",
             {operand({3}, {0, 2, 1}, DType::i64), std::nullopt, operand({2}, {0, 1})},
             {{"depth", std::int64_t{3}}});
    describe(table, "NonZero",
             "X of rank r with n elements that are not 0 → Y [r, n]; n is known only at run time",
             {operand({2, 3}, {1, 0, 2, 0, 0, 3})})
        .formula = "Y[:, k] = the index of the k-th element of X that is not 0";
    describe(table, "Compress", "condition [k] → output with the slices where condition is true",
             {operand({4}), operand({4}, {1, 0, 1, 1}, DType::boolean)})
        .formula = "output = input[condition]";
}

} // namespace twb
