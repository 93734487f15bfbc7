#include "backends/cpu/parallel.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"
#include "ops/view_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace twb {
namespace {

// Ops that move elements without changing their number.

// Trilu

void inferTrilu(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    if (input.shape.rank() < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("{}: input tensor must have at least 2 dimensions",
                             ctx.attributes().flag("upper") ? "triu" : "tril"));
    hostNumber(ctx, 1, "k");
    ctx.output(0, input);
}

void triluKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    copyElements(ctx.inputs[0], out);
    if (out.elementCount() == 0) return;
    const std::int64_t rows = out.shape[out.shape.rank() - 2];
    const std::int64_t columns = out.shape[out.shape.rank() - 1];
    const auto given = hostIntegers(ctx, 1, "k");
    const std::int64_t k = std::clamp(given && !given->empty() ? given->front() : 0, -rows, columns);
    const bool upper = ctx.attributes.flag("upper");
    const auto bytes = static_cast<std::int64_t>(sizeOf(out.dtype));
    const std::int64_t lines = out.elementCount() / columns;
    parallelRanges(lines, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
            // The upper triangle starts at column row + k; the lower one ends there.
            const std::int64_t diagonal = line % rows + k;
            const std::int64_t from = upper ? 0 : std::clamp<std::int64_t>(diagonal + 1, 0, columns);
            const std::int64_t to = upper ? std::clamp<std::int64_t>(diagonal, 0, columns) : columns;
            std::memset(out.as<std::byte>() + (line * columns + from) * bytes, 0,
                        static_cast<std::size_t>((to - from) * bytes));
        }
    });
}

// DepthToSpace and SpaceToDepth

std::int64_t blockOf(const Attributes& attributes) { return attributes.integer("blocksize"); }

void requireImages(const InferContext& ctx) {
    const int rank = ctx.input(0)->shape.rank();
    if (rank != 4)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("{} needs images (N × C × H × W), but its input has {} dimensions",
                             ctx.op().name, rank));
}

std::int64_t divided(const InferContext& ctx, int axis, std::int64_t by) {
    const std::int64_t size = ctx.input(0)->shape[axis];
    if (size != kUnknownDim && size % by != 0)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("{} expects the size of dimension {} to be divisible by {}, but it is {}",
                             ctx.op().name, axis, by, size));
    return size == kUnknownDim ? size : size / by;
}

std::int64_t multiplied(const InferContext& ctx, int axis, std::int64_t by) {
    std::int64_t size = ctx.input(0)->shape[axis];
    if (size != kUnknownDim && __builtin_mul_overflow(size, by, &size))
        ctx.fail("too-large", 0,
                 fmt::format("the size of the result along dimension {} does not fit in 64 bits", axis));
    return size;
}

void inferDepthToSpace(InferContext& ctx) {
    requireImages(ctx);
    const std::int64_t block = blockOf(ctx.attributes());
    const TensorType& in = *ctx.input(0);
    ctx.output(0, {in.dtype, Shape{in.shape[0], divided(ctx, 1, block * block), multiplied(ctx, 2, block),
                                   multiplied(ctx, 3, block)}});
}

void inferSpaceToDepth(InferContext& ctx) {
    requireImages(ctx);
    const std::int64_t block = blockOf(ctx.attributes());
    const TensorType& in = *ctx.input(0);
    ctx.output(0, {in.dtype, Shape{in.shape[0], multiplied(ctx, 1, block * block), divided(ctx, 2, block),
                                   divided(ctx, 3, block)}});
}

/// Copies `from`, a view with six axes, to dense `out`.
void copySeen(const CopyViews& copy, const TensorView& in, Shape shape, Strides strides,
              const TensorView& out) {
    const TensorView from{in.data, in.dtype, std::move(shape), std::move(strides)};
    copy(from, {out.data, out.dtype, from.shape, denseStrides(from.shape)});
}

void depthToSpaceKernel(const KernelContext& ctx) { depthToSpaceViews(ctx, copyElements); }

void spaceToDepthKernel(const KernelContext& ctx) { spaceToDepthViews(ctx, copyElements); }

// ReverseSequence

void inferReverseSequence(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    const Shape& lengths = ctx.input(1)->shape;
    if (input.shape.rank() < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("ReverseSequence needs a batch and a time axis, but its input has {} dimensions",
                             input.shape.rank()));
    const std::int64_t batch = ctx.attributes().integer("batch_axis");
    if (batch == ctx.attributes().integer("time_axis"))
        ctx.fail("attribute", -1, "batch_axis and time_axis must differ: one is 0, the other 1");
    const std::int64_t size = input.shape[static_cast<int>(batch)];
    if (lengths.rank() != 1 || (lengths[0] != size && lengths[0] != kUnknownDim && size != kUnknownDim))
        ctx.fail("shape-mismatch", 1,
                 fmt::format("sequence_lens must be a list of {} lengths, one for each batch entry, but has "
                             "the shape {}",
                             size, lengths.toTorchString()));
    ctx.output(0, input);
}

void reverseSequenceKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const auto batch = static_cast<int>(ctx.attributes.integer("batch_axis"));
    const auto time = static_cast<std::size_t>(ctx.attributes.integer("time_axis"));
    const auto lengths = *hostIntegers(ctx, 1, "");
    const std::int64_t steps = in.shape[static_cast<int>(time)];
    for (std::int64_t length : lengths)
        if (length < 0 || length > steps)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("a sequence of length {} was given, but dimension {} has {} steps; "
                                    "lengths go from 0 to {}",
                                    length, time, steps, steps));
    if (out.elementCount() == 0) return;
    // One of the first two axes is the batch, the other one is time; without the batch axis, time comes
    // first.
    const TensorView from = withoutAxis(in, batch);
    const TensorView to = withoutAxis(out, batch);
    const int axis = static_cast<int>(time) - (batch < static_cast<int>(time) ? 1 : 0);
    const auto a = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        TensorView source = movedBy(from, n * in.strides[static_cast<std::size_t>(batch)]);
        TensorView target = movedBy(to, n * out.strides[static_cast<std::size_t>(batch)]);
        const std::int64_t length = lengths[i];
        source.shape[axis] = target.shape[axis] = steps - length;
        copyElements(movedBy(source, length * from.strides[a]), movedBy(target, length * to.strides[a]));
        if (length == 0) continue;
        source.shape[axis] = target.shape[axis] = length;
        source = movedBy(std::move(source), (length - 1) * from.strides[a]);
        source.strides[a] = -from.strides[a];
        copyElements(source, target);
    }
}

AttributeSpec oneOfTwoAxes(std::string name, std::int64_t value, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), value, std::move(doc));
    spec.minimum = 0;
    spec.maximum = 1;
    return spec;
}

AttributeSpec blockSize() {
    AttributeSpec spec = integerAttribute("blocksize", 2, "Height and width of the blocks");
    spec.minimum = 1;
    spec.maximum = 32768;
    return spec;
}

} // namespace

void depthToSpaceViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t b = blockOf(ctx.attributes);
    const std::int64_t depth = out.shape[1];
    const Strides& s = in.strides;
    // The channel axis is split into (block row, block column, depth) for DCR and into (depth, block row,
    // block column) for CRD.
    const bool depthLast = ctx.attributes.text("mode") == "DCR";
    const std::int64_t depthStep = depthLast ? s[1] : s[1] * b * b;
    const std::int64_t rowStep = depthLast ? s[1] * b * depth : s[1] * b;
    const std::int64_t columnStep = depthLast ? s[1] * depth : s[1];
    copySeen(copy, in, Shape{in.shape[0], depth, in.shape[2], b, in.shape[3], b},
             {s[0], depthStep, s[2], rowStep, s[3], columnStep}, out);
}

void spaceToDepthViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t b = blockOf(ctx.attributes);
    const Strides& s = in.strides;
    if (ctx.attributes.text("mode") == "DCR")
        copySeen(copy, in, Shape{in.shape[0], b, b, in.shape[1], out.shape[2], out.shape[3]},
                 {s[0], s[2], s[3], s[1], s[2] * b, s[3] * b}, out);
    else
        copySeen(copy, in, Shape{in.shape[0], in.shape[1], b, b, out.shape[2], out.shape[3]},
                 {s[0], s[1], s[2], s[3], s[2] * b, s[3] * b}, out);
}

void addRearrangeOps(std::vector<Op>& table) {
    Op trilu = makeOp("Trilu", "Shape", 14, "The upper or lower triangle of matrices, zeros elsewhere");
    trilu.inputs = {port("input", "self", kAll, "T"), hostPort("k")};
    trilu.outputs = {port("output", "", kAll, "T")};
    trilu.attributes = {
        flagAttribute("upper", true, "Keep the upper triangle, otherwise the lower one"),
        integerAttribute("k", 0, "Last diagonal: positive above the main one, negative below")};
    trilu.inPlace = {0};
    trilu.infer = inferTrilu;
    trilu.cost = moveCost;
    trilu.kernel = triluKernel;
    trilu.gradient = [](GradientContext& g) {
        g.give(0, apply("Trilu", {g.gradient()},
                        {{"upper", g.attributes().flag("upper")},
                         {"k", static_cast<std::int64_t>(*g.number(1))}}));
    };
    table.push_back(std::move(trilu));

    Op space = makeOp("DepthToSpace", "Shape", 28, "Moves channels to blocks of pixels (pixel shuffle)");
    space.inputs = {port("input", "self", kAll, "T")};
    space.outputs = {port("output", "", kAll, "T")};
    const AttributeSpec mode =
        choiceAttribute("mode", "DCR", {"DCR", "CRD"},
                        "Order of the channels: depth last, or depth first as in PyTorch's pixel_shuffle");
    space.attributes = {blockSize(), mode};
    space.infer = inferDepthToSpace;
    space.cost = moveCost;
    space.kernel = depthToSpaceKernel;
    space.gradient = [](GradientContext& g) {
        g.give(0, apply("SpaceToDepth", {g.gradient()}, g.attributes()));
    };
    table.push_back(std::move(space));

    Op depth = makeOp("SpaceToDepth", "Shape", 28, "Moves blocks of pixels to channels (pixel unshuffle)");
    depth.inputs = {port("input", "self", kAll, "T")};
    depth.outputs = {port("output", "", kAll, "T")};
    depth.attributes = {blockSize(), mode};
    depth.infer = inferSpaceToDepth;
    depth.cost = moveCost;
    depth.kernel = spaceToDepthKernel;
    depth.gradient = [](GradientContext& g) {
        g.give(0, apply("DepthToSpace", {g.gradient()}, g.attributes()));
    };
    table.push_back(std::move(depth));

    Op reverse = makeOp("ReverseSequence", "Shape", 28,
                        "Reverses the beginning of each sequence of a batch, up to its length");
    reverse.inputs = {port("input", "self", kAll, "T"),
                      port("sequence_lens", "lengths", DTypeSet{DType::i64})};
    reverse.outputs = {port("Y", "", kAll, "T")};
    reverse.attributes = {oneOfTwoAxes("batch_axis", 1, "The axis of the sequences, 0 or 1"),
                          oneOfTwoAxes("time_axis", 0, "Axis that is reversed, 1 or 0")};
    reverse.infer = inferReverseSequence;
    reverse.cost = moveCost;
    reverse.kernel = reverseSequenceKernel;
    reverse.gradient = [](GradientContext& g) {
        g.give(0, apply("ReverseSequence", {g.gradient(), g.input(1)}, g.attributes()));
    };
    table.push_back(std::move(reverse));

    describe(table, "Trilu", "input […, m, n] → output […, m, n]", {operand({3, 3})}).formula =
        "output[i, j] = j − i ≥ k ? input[i, j] : 0; with ≤ if not upper";
    describe(table, "DepthToSpace",
             "input [n, c · b², h, w] → output [n, c, h · b, w · b] with b = blocksize",
             {operand({1, 4, 2, 2})})
        .formula = "Y[c, b·h + i, b·w + j] = X[c of block (i, j), h, w]";
    describe(table, "SpaceToDepth",
             "input [n, c, h · b, w · b] → output [n, c · b², h, w] with b = blocksize",
             {operand({1, 1, 4, 4})})
        .formula = "Y[c of block (i, j), h, w] = X[c, b·h + i, b·w + j]";
    describe(table, "ReverseSequence", "sequence_lens has the size of batch_axis; Y has the shape of input",
             {operand({4, 2}), operand({2}, {2, 4}, DType::i64)})
        .formula = "Y[t, b] = input[sequence_lens[b] − 1 − t, b] for t < sequence_lens[b]";
}

} // namespace twb
