#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/narrow.h"
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
#include <cstddef>
#include <cstring>
#include <numeric>

namespace twb {
namespace {

void inferReshape(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int port = ctx.input(1) ? 1 : -1;
    const char* const kind = port < 0 ? "attribute" : "shape-mismatch";
    if (port == 1) {
        const int length = hostLength(ctx, 1);
        if (ctx.isDeferred(1)) {
            ctx.output(0, {data.dtype,
                           Shape(std::vector<std::int64_t>(static_cast<std::size_t>(length), kUnknownDim))});
            return;
        }
    }
    const auto wanted = ctx.integers(1);
    if (!wanted)
        ctx.fail("attribute", -1, "Reshape needs a shape: connect one, or set the attribute \"shape\"");
    const bool allowZero = ctx.attributes().flag("allowzero");
    const std::string wantedText = fmt::format("[{}]", fmt::join(*wanted, ", "));

    // Sizes copied from the input occur on both sides and cancel out, so -1 can be resolved even if a copied
    // size is unknown.
    Shape result(*wanted);
    std::int64_t inferred = -1;
    std::int64_t given = 1;
    bool countKnown = true;
    std::vector<std::int64_t> left = data.shape.dims();
    bool overflow = false;
    for (int i = 0; i < result.rank(); ++i) {
        std::int64_t size = result[i];
        if (size == -1) {
            if (inferred >= 0) ctx.fail(kind, port, "only one dimension can be inferred");
            inferred = i;
            continue;
        }
        if (size < -1) ctx.fail(kind, port, fmt::format("invalid shape dimension {}", size));
        if (size == 0 && !allowZero) {
            if (i >= data.shape.rank())
                ctx.fail(
                    kind, port,
                    fmt::format("shape '{}' copies dimension {} of its input, which has {} dimensions; set "
                                "allowzero for a size of 0",
                                wantedText, i, data.shape.rank()));
            result[i] = data.shape[i];
            left[static_cast<std::size_t>(i)] = 1;
            if (data.shape[i] == 0) given = 0;
            continue;
        }
        overflow = overflow || __builtin_mul_overflow(given, size, &given);
    }
    std::int64_t count = 1;
    for (int i = 0; i < data.shape.rank(); ++i) {
        const std::int64_t size = left[static_cast<std::size_t>(i)];
        if (size == kUnknownDim)
            countKnown = false;
        else if (__builtin_mul_overflow(count, size, &count))
            overflow = true;
    }
    const bool copiedZero = data.shape.isKnown() && data.shape.elementCount() == 0;
    if (copiedZero) count = 0;
    if (overflow)
        ctx.fail(kind, port,
                 fmt::format("the shape {} has more elements than 64 bits can count", wantedText));
    const auto failSize = [&] {
        ctx.fail(kind, port,
                 fmt::format("shape '{}' is invalid for input of size {}", wantedText,
                             data.shape.isKnown() ? std::to_string(data.shape.elementCount())
                                                  : data.shape.toTorchString()));
    };
    if (inferred >= 0) {
        if (given == 0 && countKnown && count != 0) failSize();
        if (given == 0)
            ctx.fail(
                kind, port,
                fmt::format(
                    "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension "
                    "size -1 can be any value and is ambiguous",
                    wantedText));
        if (!countKnown)
            result[static_cast<int>(inferred)] = kUnknownDim;
        else {
            if (count % given != 0) failSize();
            result[static_cast<int>(inferred)] = count / given;
        }
    } else if (countKnown && count != given) {
        failSize();
    }
    ctx.output(0, {data.dtype, std::move(result)});
}

/// The checked `perm`, or the reversed order if it is absent.
std::vector<int> permutationOf(const InferContext& ctx, int rank) {
    std::vector<int> perm(static_cast<std::size_t>(rank));
    if (!ctx.attributes().has("perm")) {
        for (int i = 0; i < rank; ++i) perm[static_cast<std::size_t>(i)] = rank - 1 - i;
        return perm;
    }
    const auto given = ctx.attributes().integers("perm");
    if (given.size() != perm.size())
        ctx.fail(
            "attribute", -1,
            fmt::format(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                "of the desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
                rank, given.size()));
    std::array<bool, kMaxRank> seen{};
    for (std::size_t i = 0; i < perm.size(); ++i) {
        perm[i] = axisOrFail(ctx, given[i], rank, -1);
        bool& taken = seen[static_cast<std::size_t>(perm[i])];
        if (taken) ctx.fail("attribute", -1, "permute(): duplicate dims are not allowed.");
        taken = true;
    }
    return perm;
}

void inferTranspose(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    std::vector<std::int64_t> dims;
    for (int axis : permutationOf(ctx, data.shape.rank())) dims.push_back(data.shape[axis]);
    ctx.output(0, {data.dtype, Shape(std::move(dims))});
}

void transposeKernel(const KernelContext& ctx) { transposeViews(ctx, copyElements); }

/// Packed elements move as one code per byte.
void transposeStored(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (!isPacked(in.dtype)) return transposeKernel(ctx);
    const Tensor from = Tensor::onHost({DType::u8, in.shape});
    const Tensor to = Tensor::onHost({DType::u8, out.shape});
    const std::int64_t count = in.elementCount();
    unpackCodes(in.dtype, in.data, 0, count, static_cast<std::uint8_t*>(from.data()));
    const TensorView inputs[] = {from.view()};
    const TensorView outputs[] = {to.view()};
    transposeKernel({inputs, outputs, ctx.attributes});
    packCodes(out.dtype, static_cast<const std::uint8_t*>(to.data()), out.data, 0, count);
}

void inferConcat(InferContext& ctx) {
    Shape shape = ctx.input(0)->shape;
    const int rank = shape.rank();
    for (int i = 0; i < ctx.inputCount(); ++i)
        if (ctx.input(i)->shape.rank() == 0)
            ctx.fail("shape-mismatch", i,
                     fmt::format("zero-dimensional tensor (at position {}) cannot be concatenated", i));
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), rank, -1);
    for (int i = 1; i < ctx.inputCount(); ++i) {
        const Shape& other = ctx.input(i)->shape;
        if (other.rank() != rank)
            ctx.fail("shape-mismatch", i,
                     fmt::format("Tensors must have same number of dimensions: got {} and {}", rank,
                                 other.rank()));
        for (int d = 0; d < rank; ++d) {
            if (d == axis) {
                if (shape[d] == kUnknownDim || other[d] == kUnknownDim)
                    shape[d] = kUnknownDim;
                else if (__builtin_add_overflow(shape[d], other[d], &shape[d]))
                    ctx.fail(
                        "too-large", i,
                        fmt::format("the size of the result along dimension {} does not fit in 64 bits", d));
            } else if (shape[d] == kUnknownDim) {
                shape[d] = other[d];
            } else if (other[d] != kUnknownDim && other[d] != shape[d]) {
                ctx.fail("shape-mismatch", i,
                         fmt::format(
                             "Sizes of tensors must match except in dimension {}. Expected size {} but got "
                             "size {} for tensor number {} in the list.",
                             axis, shape[d], other[d], i));
            }
        }
    }
    ctx.output(0, {ctx.input(0)->dtype, std::move(shape)});
}

/// Writes the result in one pass, row by row, if each tensor's part of a row is contiguous; false without an
/// effect. A row has the elements of the joined axis and of those that lie within it in memory.
bool concatRows(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (isPacked(out.dtype)) return false;
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), out.shape.rank());
    const bool isRowMajor = isDense(out);
    if (!isRowMajor && !(axis == 1 && isChannelsLast(out))) return false;
    std::size_t elementBytes = sizeOf(out.dtype); // of one index of the joined axis
    if (isRowMajor)
        for (int inner = axis + 1; inner < out.shape.rank(); ++inner)
            elementBytes *= static_cast<std::size_t>(out.shape[inner]);
    const std::size_t rowBytes = elementBytes * static_cast<std::size_t>(out.shape[axis]);
    if (rowBytes == 0) return false;
    const std::int64_t rows = out.shape.byteCount(out.dtype) / static_cast<std::int64_t>(rowBytes);
    constexpr std::int64_t leastRows = 64; // that the threads share
    if (rows < leastRows) return false;
    struct Part {
        const std::byte* from;
        std::size_t bytes;
    };
    std::vector<Part> parts;
    for (const TensorView& in : ctx.inputs) {
        if (!in.data || in.shape[axis] == 0) continue;
        if (!(isRowMajor ? isDense(in) : isChannelsLast(in))) return false;
        parts.push_back({in.as<const std::byte>(), elementBytes * static_cast<std::size_t>(in.shape[axis])});
    }
    parallelRanges(rows, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        auto* to = out.as<std::byte>() + static_cast<std::size_t>(begin) * rowBytes;
        for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row)
            for (const Part& part : parts) {
                std::memcpy(to, part.from + row * part.bytes, part.bytes);
                to += part.bytes;
            }
    });
    return true;
}

void concatKernel(const KernelContext& ctx) {
    if (!concatRows(ctx)) concatViews(ctx, copyElements);
}

} // namespace

void transposeViews(const KernelContext& ctx, const CopyViews& copy) {
    TensorView in = ctx.inputs[0];
    const int rank = in.shape.rank();
    std::vector<std::int64_t> perm;
    if (ctx.attributes.has("perm"))
        perm = ctx.attributes.integers("perm");
    else
        for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
    for (int i = 0; i < rank; ++i) {
        const int axis = *normalizeAxis(perm[static_cast<std::size_t>(i)], rank);
        in.shape[i] = ctx.inputs[0].shape[axis];
        in.strides[static_cast<std::size_t>(i)] = ctx.inputs[0].strides[static_cast<std::size_t>(axis)];
    }
    copy(in, ctx.outputs[0]);
}

void concatViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), out.shape.rank());
    const auto step =
        static_cast<std::int64_t>(sizeOf(out.dtype)) * out.strides[static_cast<std::size_t>(axis)];
    auto* at = out.as<std::byte>();
    for (const TensorView& in : ctx.inputs) {
        if (!in.data) continue;
        copy(in, {at, out.dtype, in.shape, out.strides});
        at += in.shape[axis] * step;
    }
}

static void transposeGradient(GradientContext& g) {
    const int rank = g.input().shape().rank();
    std::vector<std::int64_t> back(static_cast<std::size_t>(rank));
    if (g.attributes().has("perm")) {
        const std::vector<std::int64_t> permutation = g.attributes().integers("perm");
        for (int axis = 0; axis < rank; ++axis)
            back[static_cast<std::size_t>(permutation[static_cast<std::size_t>(axis)])] = axis;
    } else {
        std::iota(back.rbegin(), back.rend(), 0);
    }
    g.give(0, transpose(g.gradient(), back));
}

static void concatGradient(GradientContext& g) {
    const std::int64_t given = g.attributes().integer("axis");
    const std::int64_t axis = given < 0 ? given + g.output().shape().rank() : given;
    std::int64_t start = 0;
    for (int i = 0; i < g.inputCount(); ++i) {
        const std::int64_t end = start + g.input(i).shape()[static_cast<int>(axis)];
        if (g.isWanted(i)) g.give(i, slice(g.gradient(), axis, start, end));
        start = end;
    }
}

void addShapeOps(std::vector<Op>& table) {
    Op reshape = makeOp("Reshape", "Shape", 25, "The same elements in another shape");
    reshape.inputs = {port("data", "self", kStored, "T"), hostPort("shape")};
    reshape.outputs = {port("reshaped", "", kStored, "T")};
    reshape.attributes = {
        shapeAttribute("shape", std::nullopt, -1, "New sizes; one -1 is computed, 0 copies the input's size"),
        flagAttribute("allowzero", false, "Read a 0 in the shape as a size of 0, not as a copy")};
    reshape.inPlace = {0};
    reshape.infer = inferReshape;
    reshape.cost = moveCost;
    reshape.kernel = reshapeKernel;
    reshape.gradient = reshapeBack;
    table.push_back(std::move(reshape));

    Op transpose = makeOp("Transpose", "Shape", 25, "Axes in another order");
    transpose.inputs = {port("data", "self", kStored, "T")};
    transpose.outputs = {port("transposed", "", kStored, "T")};
    transpose.attributes = {integersAttribute("perm", "Input axis of each output axis; absent: reversed")};
    transpose.infer = inferTranspose;
    transpose.cost = moveCost;
    transpose.kernel = transposeStored;
    transpose.gradient = transposeGradient;
    table.push_back(std::move(transpose));

    Op concat = makeOp("Concat", "Shape", 13, "Joins tensors along an axis");
    concat.inputs = {variadicPort("inputs", "tensors", kAll, "T")};
    concat.outputs = {port("concat_result", "", kAll, "T")};
    concat.attributes = {integerAttribute("axis", 0, "The axis along which to join, negative from the end")};
    concat.infer = inferConcat;
    concat.cost = moveCost;
    concat.channelsLast = ChannelsLast::either;
    concat.kernel = concatKernel;
    concat.gradient = concatGradient;
    table.push_back(std::move(concat));

    describe(table, "Reshape", "data → reshaped [shape], with as many elements", {operand({3, 4})},
             {{"shape", Integers{2, 6}}})
        .formula = "Keeps the order of the elements";
    describe(table, "Transpose", "data [d₀, d₁, …] → transposed [d at perm₀, d at perm₁, …]",
             {operand({3, 4})})
        .formula = "transposed[i, j] = data[j, i]";
    describe(table, "Concat", "Sizes are equal except along axis, where they add up",
             {operand({2, 3}), operand({2, 3})})
        .formula = "Y = [X₀ X₁ …] along axis";
}

} // namespace twb
