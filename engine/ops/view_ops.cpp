#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"
#include "ops/view_copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace twb {
namespace {

// Ops that give the same elements, possibly repeated, in another shape, and ops that return a shape.

Shape unknownShape(int rank) {
    return Shape(std::vector<std::int64_t>(static_cast<std::size_t>(rank), kUnknownDim));
}

/// The axes [start, end) that Shape returns.
std::pair<int, int> rangeOfShape(const Attributes& attributes, int rank) {
    const auto clamped = [rank](std::int64_t axis) {
        return static_cast<int>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
    };
    const int start = clamped(attributes.integer("start"));
    const int end = attributes.has("end") ? clamped(attributes.integer("end")) : rank;
    return {start, std::max(start, end)};
}

void inferShape(InferContext& ctx) {
    const auto [start, end] = rangeOfShape(ctx.attributes(), ctx.input(0)->shape.rank());
    ctx.output(0, {DType::i64, Shape{end - start}});
}

void shapeKernel(const KernelContext& ctx) {
    const Shape& shape = ctx.inputs[0].shape;
    const auto [start, end] = rangeOfShape(ctx.attributes, shape.rank());
    for (int axis = start; axis < end; ++axis) ctx.outputs[0].as<std::int64_t>()[axis - start] = shape[axis];
}

void sizeKernel(const KernelContext& ctx) {
    *ctx.outputs[0].as<std::int64_t>() = ctx.inputs[0].elementCount();
}

/// Reading a shape reads no element.
Cost shapeCost(std::span<const TensorType>, std::span<const TensorType> outputs, const Attributes&) {
    return streamingCost({}, outputs, 0);
}

/// Distinct axes of a tensor of `rank` dimensions.
std::array<bool, kMaxRank> markedAxes(const InferContext& ctx, const std::vector<std::int64_t>& axes,
                                      int rank, int port) {
    std::array<bool, kMaxRank> marked{};
    for (std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axisOrFail(ctx, axis, rank, port));
        if (marked[at])
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("dim {} appears multiple times in the list of dims", at));
        marked[at] = true;
    }
    return marked;
}

void inferSqueeze(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    const int port = ctx.input(1) ? 1 : -1;
    if (ctx.isDeferred(1)) {
        const int length = hostLength(ctx, 1);
        if (length > rank)
            ctx.fail("shape-mismatch", 1,
                     fmt::format("axes has {} entries, but data has {} dimensions", length, rank));
        ctx.output(0, {data.dtype, unknownShape(rank - length)});
        return;
    }
    std::array<bool, kMaxRank> dropped{};
    if (const auto axes = ctx.integers(1)) {
        dropped = markedAxes(ctx, *axes, rank, port);
        for (int axis = 0; axis < rank; ++axis)
            if (dropped[static_cast<std::size_t>(axis)] && data.shape[axis] != 1 &&
                data.shape[axis] != kUnknownDim)
                ctx.fail("shape-mismatch", 0,
                         fmt::format("cannot select an axis to squeeze out which has size not equal to one: "
                                     "dimension {} of {} has size {}",
                                     axis, data.shape.toTorchString(), data.shape[axis]));
    } else {
        for (int axis = 0; axis < rank; ++axis) {
            if (data.shape[axis] == kUnknownDim)
                ctx.fail("shape-mismatch", 0,
                         fmt::format("whether dimension {} has size 1 is not known before the run, so the "
                                     "result's number of dimensions is not known either; set the attribute "
                                     "\"axes\"",
                                     axis));
            dropped[static_cast<std::size_t>(axis)] = data.shape[axis] == 1;
        }
    }
    std::vector<std::int64_t> dims;
    for (int axis = 0; axis < rank; ++axis)
        if (!dropped[static_cast<std::size_t>(axis)]) dims.push_back(data.shape[axis]);
    ctx.output(0, {data.dtype, Shape(std::move(dims))});
}

void inferUnsqueeze(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int port = ctx.input(1) ? 1 : -1;
    const int length = port == 1 ? hostLength(ctx, 1) : 0;
    if (ctx.isDeferred(1)) {
        ctx.output(0, {data.dtype, unknownShape(data.shape.rank() + length)});
        return;
    }
    const auto axes = ctx.integers(1);
    if (!axes) ctx.fail("attribute", -1, "Unsqueeze needs axes: connect them, or set the attribute \"axes\"");
    const std::int64_t rank = data.shape.rank() + static_cast<std::int64_t>(axes->size());
    if (rank > kMaxRank)
        ctx.fail("shape-mismatch", port,
                 fmt::format("the result of Unsqueeze has {} dimensions, but a tensor has {} at most", rank,
                             kMaxRank));
    const auto inserted = markedAxes(ctx, *axes, static_cast<int>(rank), port);
    std::vector<std::int64_t> dims;
    int from = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis)
        dims.push_back(inserted[axis] ? 1 : data.shape[from++]);
    ctx.output(0, {data.dtype, Shape(std::move(dims))});
}

void inferFlatten(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    std::int64_t axis = ctx.attributes().integer("axis");
    if (axis < -rank || axis > rank)
        ctx.fail("attribute", -1,
                 fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                             -rank, rank, axis));
    if (axis < 0) axis += rank;
    const auto product = [&](int from, int to) {
        std::int64_t size = 1;
        bool known = true;
        bool overflow = false;
        for (int i = from; i < to; ++i) {
            if (data.shape[i] == 0) return std::int64_t{0};
            if (data.shape[i] == kUnknownDim)
                known = false;
            else
                overflow = __builtin_mul_overflow(size, data.shape[i], &size) || overflow;
        }
        if (overflow)
            ctx.fail("too-large", 0, "the result of Flatten has more elements than 64 bits can count");
        return known ? size : kUnknownDim;
    };
    const int split = static_cast<int>(axis);
    ctx.output(0, {data.dtype, Shape{product(0, split), product(split, rank)}});
}

void inferExpand(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int port = ctx.input(1) ? 1 : -1;
    const int length = port == 1 ? hostLength(ctx, 1) : 0;
    if (ctx.isDeferred(1)) {
        ctx.output(0, {data.dtype, unknownShape(std::max(data.shape.rank(), length))});
        return;
    }
    const auto sizes = ctx.integers(1);
    if (!sizes)
        ctx.fail("attribute", -1, "Expand needs a shape: connect one, or set the attribute \"shape\"");
    const Shape wanted(*sizes);
    for (std::int64_t size : wanted)
        if (size < 0)
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("invalid shape dimension {}", size));
    const auto shape = broadcast(data.shape, wanted);
    if (!shape) {
        int axis = std::max(data.shape.rank(), wanted.rank()) - 1;
        const auto own = [&](const Shape& s) {
            return axis - (std::max(data.shape.rank(), wanted.rank()) - s.rank());
        };
        while (own(data.shape) >= 0 && own(wanted) >= 0 &&
               broadcast(Shape{data.shape[own(data.shape)]}, Shape{wanted[own(wanted)]}))
            --axis;
        ctx.fail("shape-mismatch", port < 0 ? 0 : port,
                 fmt::format("The expanded size of the tensor ({}) must match the existing size ({}) at "
                             "non-singleton dimension {}.  Target sizes: {}.  Tensor sizes: {}",
                             wanted[own(wanted)], data.shape[own(data.shape)], axis, wanted.toTorchString(),
                             data.shape.toTorchString()));
    }
    ctx.output(0, {data.dtype, *shape});
}

void expandKernel(const KernelContext& ctx) { expandViews(ctx, copyElements); }

void inferTile(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    const int port = ctx.input(1) ? 1 : -1;
    const char* const kind = port < 0 ? "attribute" : "shape-mismatch";
    if (ctx.isDeferred(1)) {
        ctx.output(0, {data.dtype, unknownShape(rank)});
        return;
    }
    const auto repeats = ctx.integers(1);
    if (!repeats)
        ctx.fail("attribute", -1, "Tile needs repeats: connect them, or set the attribute \"repeats\"");
    if (repeats->size() != static_cast<std::size_t>(rank))
        ctx.fail(kind, port,
                 fmt::format("repeats has {} entries, but the tensor has {} dimensions; give one for each",
                             repeats->size(), rank));
    Shape shape = data.shape;
    for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t times = (*repeats)[static_cast<std::size_t>(axis)];
        if (times < 0)
            ctx.fail(kind, port,
                     fmt::format("Trying to create tensor with negative dimension: repeats [{}]",
                                 fmt::join(*repeats, ", ")));
        if (shape[axis] == kUnknownDim)
            shape[axis] = times == 0 ? 0 : kUnknownDim;
        else if (__builtin_mul_overflow(shape[axis], times, &shape[axis]))
            ctx.fail("too-large", port,
                     fmt::format("the size of the result along dimension {} does not fit in 64 bits", axis));
    }
    ctx.output(0, {data.dtype, std::move(shape)});
}

void tileKernel(const KernelContext& ctx) { tileViews(ctx, copyElements); }

Op makeShapeOp(std::string name, int opset, std::string doc, std::string outputName) {
    Op op = makeOp(std::move(name), "Shape", opset, std::move(doc));
    op.inputs = {port("data", "self", kAll, "T")};
    op.outputs = {port(std::move(outputName), "", kAll, "T")};
    op.cost = moveCost;
    return op;
}

} // namespace

void expandViews(const KernelContext& ctx, const CopyViews& copy) {
    copy(broadcastView(ctx.inputs[0], ctx.outputs[0].shape), ctx.outputs[0]);
}

void tileViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    // Each axis becomes two: repetitions and elements. Axes of size 1 are left out, so that the number of
    // axes stays within the limit for every tensor that fits into memory.
    TensorView from{in.data, in.dtype, {}, {}};
    std::vector<std::int64_t> dims;
    const auto axis = [&](std::int64_t size, std::int64_t stride) {
        if (size == 1) return;
        dims.push_back(size);
        from.strides.push_back(stride);
    };
    for (int i = 0; i < in.shape.rank(); ++i) {
        axis(out.shape[i] / in.shape[i], 0);
        axis(in.shape[i], in.strides[static_cast<std::size_t>(i)]);
    }
    from.shape = Shape(std::move(dims));
    copy(from, {out.data, out.dtype, from.shape, denseStrides(from.shape)});
}

/// Sums over the repetitions.
static void tileGradient(GradientContext& g) {
    const Shape from = g.input().shape();
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> repetitions;
    for (int axis = 0; axis < from.rank(); ++axis) {
        repetitions.push_back(2 * axis);
        sizes.push_back(from[axis] == 0 ? 0 : g.output().shape()[axis] / from[axis]);
        sizes.push_back(from[axis]);
    }
    g.give(0, reshape(sumOver(reshape(g.gradient(), Shape(std::move(sizes))), repetitions), from));
}

void addViewOps(std::vector<Op>& table) {
    Op shape = makeOp("Shape", "Shape", 25, "The sizes of a tensor, as a list of integers");
    shape.inputs = {port("data", "self", kStored)};
    shape.outputs = {port("shape", "", DTypeSet{DType::i64})};
    AttributeSpec end = integerAttribute("end", 0, "End axis, excluded; absent: after the last axis");
    end.defaultValue.reset();
    shape.attributes = {integerAttribute("start", 0, "First axis, negative from the end"), end};
    shape.readsTypesOnly = true;
    shape.infer = inferShape;
    shape.cost = shapeCost;
    shape.kernel = shapeKernel;
    shape.noGradient = "reads only the sizes of its input";
    table.push_back(std::move(shape));

    Op size = makeOp("Size", "Shape", 25, "Number of elements of a tensor");
    size.inputs = {port("data", "self", kStored)};
    size.outputs = {port("size", "", DTypeSet{DType::i64})};
    size.readsTypesOnly = true;
    size.infer = [](InferContext& ctx) { ctx.output(0, {DType::i64, Shape{}}); };
    size.cost = shapeCost;
    size.kernel = sizeKernel;
    size.noGradient = "reads only the sizes of its input";
    table.push_back(std::move(size));

    Op squeeze = makeShapeOp("Squeeze", 25, "Removes axes of size 1", "squeezed");
    squeeze.inputs[0].types = squeeze.outputs[0].types = kStored;
    squeeze.inputs.push_back(hostPort("axes"));
    squeeze.attributes = {
        integersAttribute("axes", "Axes to remove, negative from the end; absent: all of size 1")};
    squeeze.inPlace = {0};
    squeeze.infer = inferSqueeze;
    squeeze.kernel = reshapeKernel;
    squeeze.gradient = reshapeBack;
    table.push_back(std::move(squeeze));

    Op unsqueeze = makeShapeOp("Unsqueeze", 25, "Inserts axes of size 1", "expanded");
    unsqueeze.inputs[0].types = unsqueeze.outputs[0].types = kStored;
    unsqueeze.inputs.push_back(hostPort("axes"));
    unsqueeze.attributes = {
        integersAttribute("axes", "Positions of the new axes in the result, negative from the end")};
    unsqueeze.inPlace = {0};
    unsqueeze.infer = inferUnsqueeze;
    unsqueeze.kernel = reshapeKernel;
    unsqueeze.gradient = reshapeBack;
    table.push_back(std::move(unsqueeze));

    Op flatten =
        makeShapeOp("Flatten", 25,
                    "Flattens to a matrix: the axes before `axis` become rows, the others columns", "output");
    flatten.inputs = {port("input", "self", kStored, "T")};
    flatten.outputs[0].types = kStored;
    flatten.attributes = {
        integerAttribute("axis", 1, "The first axis that becomes a column, negative from the end")};
    flatten.inPlace = {0};
    flatten.infer = inferFlatten;
    flatten.kernel = reshapeKernel;
    flatten.gradient = reshapeBack;
    table.push_back(std::move(flatten));

    Op expand = makeShapeOp("Expand", 13, "Broadcasts axes of size 1", "output");
    expand.inputs = {port("input", "self", kAll, "T"), hostPort("shape")};
    expand.attributes = {shapeAttribute("shape", std::nullopt, 0, "Shape to broadcast with; 1 keeps a size")};
    expand.infer = inferExpand;
    expand.kernel = expandKernel;
    expand.gradient = [](GradientContext& g) { g.give(0, g.gradient()); };
    table.push_back(std::move(expand));

    Op tile = makeShapeOp("Tile", 13, "Repeats the whole tensor along its axes", "output");
    tile.inputs = {port("input", "self", kAll, "T"), hostPort("repeats")};
    tile.attributes = {shapeAttribute("repeats", std::nullopt, 0, "Repetitions along each axis")};
    tile.infer = inferTile;
    tile.kernel = tileKernel;
    tile.gradient = tileGradient;
    table.push_back(std::move(tile));

    describe(table, "Shape", "data of rank r → shape [r]").formula = "shapeᵢ = size of axis i";
    describe(table, "Size", "→ size, a scalar").formula = "size = Π dᵢ";
    describe(table, "Squeeze", "data → squeezed: without its axes of size 1", {operand({1, 3, 1})},
             {{"axes", Integers{0}}})
        .formula = "squeezed[j] = data[0, j]";
    describe(table, "Unsqueeze", "data → expanded: with axes of size 1", {operand({3, 4})},
             {{"axes", Integers{0}}})
        .formula = "expanded[0, j] = data[j]";
    describe(table, "Flatten", "input [d₀, …, dₙ] → output [Π d before axis, Π d from axis on]",
             {operand({2, 3, 4})})
        .formula = "Keeps the order of the elements";
    describe(table, "Expand", "input broadcasts to output [shape]", {operand({3, 1})},
             {{"shape", Integers{3, 4}}})
        .formula = "output[i, j] = input[i, 0]";
    describe(table, "Tile", "input [d₀, …] · repeats [rank] → output [d₀ · repeats₀, …]", {operand({2, 3})},
             {{"repeats", Integers{1, 2}}})
        .formula = "output[i] = input[i mod d]";
}

} // namespace twb
