#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/scatter_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace twb {
namespace {

using List = std::vector<std::int64_t>;

/// Calls f with a zero of the element type and the rule given by the attribute "reduction".
template <class F> void withRule(const KernelContext& ctx, const F& f) {
    const std::string& reduction = ctx.attributes.text("reduction");
    const DType dtype = ctx.outputs[0].dtype;
    if (reduction == "none") return withElementSize(dtype, [&](auto zero) { f(zero, Assign{}); });
    withReduction(reduction, dtype, f);
}

/// Elements that are only moved keep their type; arithmetic on f16 and bf16 is done in f32.
template <HostKernel K> void scatterKernel(const KernelContext& ctx) {
    if (ctx.attributes.text("reduction") == "none")
        K(ctx);
    else
        viaFloat<K>(ctx);
}

// ScatterElements

void inferScatterElements(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    const Shape& updates = ctx.input(2)->shape;
    const int rank = data.shape.rank();
    if (rank == 0) ctx.fail("shape-mismatch", 0, "ScatterElements needs data with an axis");
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), rank, -1);
    if (indices.rank() != rank)
        ctx.fail("shape-mismatch", 1, "Index tensor must have the same number of dimensions as self tensor");
    if (updates.rank() != rank)
        ctx.fail("shape-mismatch", 2, "Index tensor must have the same number of dimensions as src tensor");
    for (int i = 0; i < rank; ++i) {
        if (indices[i] == kUnknownDim) continue;
        if (i != axis && data.shape[i] != kUnknownDim && indices[i] > data.shape[i])
            ctx.fail("shape-mismatch", 1,
                     fmt::format("Expected index {} to be no larger than self {} apart from dimension {}",
                                 indices.toTorchString(), data.shape.toTorchString(), axis));
        if (updates[i] != kUnknownDim && updates[i] != indices[i])
            ctx.fail("shape-mismatch", 2,
                     fmt::format("updates must have the shape of indices, {}, but has {}",
                                 indices.toTorchString(), updates.toTorchString()));
    }
    ctx.output(0, data);
}

void scatterElementsOnce(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const TensorView& updates = ctx.inputs[2];
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), out.shape.rank());
    const auto a = static_cast<std::size_t>(axis);
    const CheckedIndices at(ctx.inputs[1], axis, out.shape[axis]);
    copyElements(ctx.inputs[0], out);
    if (at.count() == 0) return;
    // Lines along the axis are independent; within a line, the order of the updates matters.
    TensorView target = out;
    target.shape = at.view().shape;
    const TensorView targets = withoutAxis(target, axis);
    const TensorView sources = withoutAxis(updates, axis);
    const TensorView places = withoutAxis(at.view(), axis);
    const StridedLoop<3> lines(targets.shape, {&targets, &sources, &places});
    const std::int64_t length = at.view().shape[axis];
    const std::int64_t toStep = out.strides[a];
    const std::int64_t fromStep = updates.strides[a];
    const std::int64_t atStep = at.view().strides[a];
    withRule(ctx, [&](auto zero, auto rule) {
        using T = decltype(zero);
        parallelRanges(lines.total(), at.count(), 64, [&](std::int64_t begin, std::int64_t end) {
            lines.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
                for (std::int64_t n = 0; n < count; ++n) {
                    T* const to = out.as<T>() + offsets[0] + n * lines.innerStride(0);
                    const T* const from = updates.as<const T>() + offsets[1] + n * lines.innerStride(1);
                    const std::int64_t* const place = at.data() + offsets[2] + n * lines.innerStride(2);
                    for (std::int64_t i = 0; i < length; ++i) {
                        T& element = to[place[i * atStep] * toStep];
                        element = rule(element, from[i * fromStep]);
                    }
                }
            });
        });
    });
}

// ScatterND

void inferScatterND(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    const Shape& updates = ctx.input(2)->shape;
    const int rank = data.shape.rank();
    if (rank == 0) ctx.fail("shape-mismatch", 0, "ScatterND needs data with an axis");
    if (indices.rank() == 0) ctx.fail("shape-mismatch", 1, "ScatterND needs indices with an axis");
    const std::int64_t depth = indices[indices.rank() - 1];
    if (depth > rank)
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("too many indices for tensor of dimension {}: indices name {} axes", rank, depth));
    if (depth != kUnknownDim) {
        List dims(indices.begin(), indices.end() - 1);
        dims.insert(dims.end(), data.shape.begin() + depth, data.shape.end());
        const Shape wanted(std::move(dims));
        bool fits = updates.rank() == wanted.rank();
        for (int i = 0; fits && i < wanted.rank(); ++i)
            fits = updates[i] == wanted[i] || updates[i] == kUnknownDim || wanted[i] == kUnknownDim;
        if (!fits)
            ctx.fail("shape-mismatch", 2,
                     fmt::format("shape mismatch: value tensor of shape {} cannot be broadcast to indexing "
                                 "result of shape {}",
                                 updates.toTorchString(), wanted.toTorchString()));
    }
    ctx.output(0, data);
}

void scatterNDOnce(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const Shape& indices = ctx.inputs[1].shape;
    const std::int64_t depth = indices[indices.rank() - 1];
    const List sizes(out.shape.begin(), out.shape.begin() + depth);
    const CheckedIndices at(ctx.inputs[1], 0, sizes);
    const DenseInput given(ctx.inputs[2]);
    const TensorView& updates = given.view();
    copyElements(ctx.inputs[0], out);
    const std::int64_t total = updates.elementCount();
    if (total == 0) return;
    std::int64_t inner = 1;
    for (int i = static_cast<int>(depth); i < out.shape.rank(); ++i) inner *= out.shape[i];
    const std::int64_t tuples = total / inner;
    withRule(ctx, [&](auto zero, auto rule) {
        using T = decltype(zero);
        // Several tuples may refer to the same slice, so each thread handles a part of every slice.
        parallelRanges(inner, total, 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t t = 0; t < tuples; ++t) {
                std::int64_t block = 0;
                for (std::int64_t i = 0; i < depth; ++i)
                    block = block * sizes[static_cast<std::size_t>(i)] + at.data()[t * depth + i];
                T* const to = out.as<T>() + block * inner;
                const T* const from = updates.as<const T>() + t * inner;
                for (std::int64_t i = begin; i < end; ++i) to[i] = rule(to[i], from[i]);
            }
        });
    });
}

// TensorScatter

void inferTensorScatter(InferContext& ctx) {
    const TensorType& cache = *ctx.input(0);
    const Shape& update = ctx.input(1)->shape;
    const int rank = cache.shape.rank();
    if (rank < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("TensorScatter needs a cache with a batch axis and a sequence axis, but it has "
                             "the shape {}",
                             cache.shape.toTorchString()));
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), rank, -1);
    if (axis == 0) ctx.fail("attribute", -1, "axis cannot be 0, the batch axis; choose the sequence axis");
    bool fits = update.rank() == rank;
    for (int i = 0; fits && i < rank; ++i) {
        if (update[i] == kUnknownDim || cache.shape[i] == kUnknownDim) continue;
        fits = i == axis ? update[i] <= cache.shape[i] : update[i] == cache.shape[i];
    }
    if (!fits)
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("an update of shape {} does not fit into a cache of shape {}: along dimension {} "
                        "it may be shorter, the other sizes must be equal",
                        update.toTorchString(), cache.shape.toTorchString(), axis));
    if (const TensorType* starts = ctx.input(2)) {
        const Shape& shape = starts->shape;
        if (shape.rank() != 1 ||
            (shape[0] != cache.shape[0] && shape[0] != kUnknownDim && cache.shape[0] != kUnknownDim))
            ctx.fail("shape-mismatch", 2,
                     fmt::format("write_indices must have the shape {}, one for each batch entry, but has {}",
                                 Shape{cache.shape[0]}.toTorchString(), shape.toTorchString()));
    }
    ctx.output(0, cache);
}

void tensorScatterKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const TensorView& update = ctx.inputs[1];
    const DenseInput starts = denseInput(ctx.inputs, 2);
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), out.shape.rank());
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t size = out.shape[axis];
    const std::int64_t length = update.shape[axis];
    const bool wraps = ctx.attributes.text("mode") == "circular";
    const auto startOf = [&](std::int64_t entry) {
        const std::int64_t start = starts ? starts.as<std::int64_t>()[entry] : 0;
        if (wraps) return (start % size + size) % size;
        if (start < 0 || start > size - length)
            throw Error(ErrorCode::invalidArgument, sentenceOfWriteIndex(start, axis, size - length));
        return start;
    };
    copyElements(ctx.inputs[0], out);
    if (update.elementCount() == 0) return;
    const TensorView from = withoutAxis(update, 0);
    const TensorView to = withoutAxis(out, 0);
    const int along = axis - 1; // without the batch axis
    const auto copyRows = [&](std::int64_t entry, std::int64_t source, std::int64_t target,
                              std::int64_t count) {
        TensorView rows = movedBy(from, entry * update.strides[0] + source * update.strides[a]);
        TensorView places = movedBy(to, entry * out.strides[0] + target * out.strides[a]);
        rows.shape[along] = places.shape[along] = count;
        copyElements(rows, places);
    };
    for (std::int64_t entry = 0; entry < out.shape[0]; ++entry) {
        const std::int64_t start = startOf(entry);
        const std::int64_t fitting = std::min(length, size - start);
        copyRows(entry, 0, start, fitting);
        if (fitting < length) copyRows(entry, fitting, 0, length - fitting);
    }
}

/// The update's gradient is the output's gradient at the written places. The cache's gradient is the output's
/// gradient with 0 at those places.
void tensorScatterGradient(GradientContext& g) {
    const GraphTensor starts = g.input(2);
    if (g.isWanted(0)) {
        const GraphTensor inputs[] = {g.gradient(), zerosLike(g.input(1)), starts};
        g.give(0, g.add("TensorScatter", std::span(inputs, starts ? 3 : 2), g.attributes()));
    }
    if (!g.isWanted(1)) return;
    const Shape& shape = g.input(1).shape();
    const int axis = *normalizeAxis(g.attributes().integer("axis"), shape.rank());
    const std::int64_t length = shape[axis];
    if (!starts) return g.give(1, slice(g.gradient(), axis, 0, length));
    List batch(static_cast<std::size_t>(shape.rank()), 1);
    batch[0] = shape[0];
    GraphTensor at =
        reshape(starts, Shape(batch)) + progression(g, DType::i64, length, 0, 1, shape.rank() - 1 - axis);
    if (g.attributes().text("mode") == "circular")
        at = apply("Mod", {at, full(g, {DType::i64, {}}, static_cast<double>(g.input(0).shape()[axis]))});
    g.give(1, apply("GatherElements", {g.gradient(), expand(at, shape)}, {{"axis", std::int64_t{axis}}}));
}

/// An element that an update replaces gets no gradient, and the update gets it instead. If several updates
/// replace one element, each gets it, as in PyTorch.
void scatterGradient(GradientContext& g, std::string_view scatter, std::string_view gather,
                     const Attributes& attributes) {
    const std::string& reduction = g.attributes().text("reduction");
    const auto combined = [&](GraphTensor data, GraphTensor updates, const char* how) {
        Attributes all = attributes;
        all.set("reduction", std::string(how));
        return apply(scatter, {data, g.input(1), updates}, all);
    };
    const auto atUpdates = [&](GraphTensor data) { return apply(gather, {data, g.input(1)}, attributes); };
    const DType dtype = g.output().type().dtype;
    if (reduction == "min" || reduction == "max") { // ties share the gradient equally
        const GraphTensor isData = isEqual(g.input(0), g.output());
        const GraphTensor isUpdate = isEqual(g.input(2), atUpdates(g.output()));
        const GraphTensor share = g.gradient() / combined(cast(isData, dtype), cast(isUpdate, dtype), "add");
        g.give(0, where(isData, share));
        if (g.isWanted(2)) g.give(2, where(isUpdate, atUpdates(share)));
        return;
    }
    if (reduction == "mul") { // the product of the other factors, which may have a 0 among them
        const auto isZero = [&](GraphTensor x) { return isEqual(x, 0); };
        const auto nonZero = [&](GraphTensor x) { return where(isZero(x), 1, x); };
        const GraphTensor product = g.gradient() * combined(nonZero(g.input(0)), nonZero(g.input(2)), "mul");
        const GraphTensor zeros =
            combined(cast(isZero(g.input(0)), dtype), cast(isZero(g.input(2)), dtype), "add");
        const GraphTensor ifZero = where(isEqual(zeros, 1), product);
        const GraphTensor ifNot = where(isZero(zeros), product);
        g.give(0, where(isZero(g.input(0)), ifZero, ifNot / nonZero(g.input(0))));
        if (g.isWanted(2))
            g.give(2, where(isZero(g.input(2)), atUpdates(ifZero), atUpdates(ifNot) / nonZero(g.input(2))));
        return;
    }
    if (g.isWanted(0))
        g.give(0, reduction == "add"
                      ? g.gradient()
                      : apply(scatter, {g.gradient(), g.input(1), zerosLike(g.input(2))}, attributes));
    if (g.isWanted(2)) g.give(2, atUpdates(g.gradient()));
}

Op makeScatter(std::string name, std::string doc, std::string formula, DTypeSet indexTypes) {
    Op op = makeOp(std::move(name), "Indexing", 18, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", kAll, "T"), port("indices", "index", indexTypes),
                 port("updates", "src", kAll, "T")};
    op.outputs = {port("output", "", kAll, "T")};
    op.attributes = {choiceAttribute("reduction", "none", {"none", "add", "mul", "min", "max"},
                                     "How an update combines with the old element; none: replaces it")};
    op.inPlace = {0};
    op.tolerance = {1e-6, 1e-6};
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                 const Attributes& attributes) {
        Cost cost = streamingCost(inputs, outputs, 0);
        if (attributes.text("reduction") != "none") cost.flops = countOf(inputs[2].shape);
        return cost;
    };
    return op;
}

} // namespace

std::string sentenceOfWriteIndex(std::int64_t start, int axis, std::int64_t last) {
    return fmt::format(
        "write_indices has {}, but the update fits into dimension {} of the cache from 0 to {}; "
        "set mode to circular to continue at the start of the cache",
        start, axis, last);
}

void addScatterOps(std::vector<Op>& table) {
    Op elements = makeScatter("ScatterElements", "Writes each update at its index along an axis",
                              "output[indices[i, j], j] = updates[i, j]", kIndices);
    elements.attributes.insert(
        elements.attributes.begin(),
        integerAttribute("axis", 0, "The axis that is indexed, negative from the end"));
    elements.infer = inferScatterElements;
    elements.kernel = scatterKernel<scatterElementsOnce>;
    elements.gradient = [](GradientContext& g) {
        scatterGradient(g, "ScatterElements", "GatherElements", {{"axis", g.attributes().integer("axis")}});
    };
    table.push_back(std::move(elements));

    Op nd =
        makeScatter("ScatterND", "Writes slices at index tuples, which lie along the last axis of indices",
                    "output[indices[i, 0], indices[i, 1], …, :] = updates[i, :]", DTypeSet{DType::i64});
    nd.infer = inferScatterND;
    nd.kernel = scatterKernel<scatterNDOnce>;
    nd.gradient = [](GradientContext& g) { scatterGradient(g, "ScatterND", "GatherND", {}); };
    table.push_back(std::move(nd));

    Op rows = makeOp("TensorScatter", "Indexing", 24,
                     "Writes new rows into a cache of keys or values, from an index per batch entry on",
                     "present_cache[b, write_indices[b] + i] = update[b, i]");
    rows.inputs = {port("past_cache", "input", kAll, "T"), port("update", "update", kAll, "T"),
                   optionalPort("write_indices", "write_indices", DTypeSet{DType::i64})};
    rows.outputs = {port("present_cache", "", kAll, "T")};
    rows.attributes = {
        integerAttribute("axis", -2, "The sequence axis, negative from the end; not 0, the batch axis"),
        choiceAttribute("mode", "linear", {"linear", "circular"},
                        "Past the end of the cache: linear reports an error, circular wraps around")};
    rows.inPlace = {0};
    rows.infer = inferTensorScatter;
    rows.cost = moveCost;
    rows.kernel = tensorScatterKernel;
    rows.gradient = tensorScatterGradient;
    table.push_back(std::move(rows));

    describe(table, "ScatterElements",
             "indices and updates have the same shape; output has the shape of data",
             {operand({3, 4}), operand({1, 4}, {0, 1, 2, 0}, DType::i64), operand({1, 4})});
    describe(table, "ScatterND", "indices [i…, k] · updates [i…, dₖ, …] → output has the shape of data",
             {operand({3, 4}), operand({2, 1}, {0, 2}, DType::i64), operand({2, 4})});
    describe(table, "TensorScatter",
             "past_cache [b, …, t, d] · update [b, …, s, d] · write_indices [b] → present_cache [b, …, t, d]",
             {operand({1, 1, 4, 2}), operand({1, 1, 2, 2}), operand({1}, {1}, DType::i64)});
}

} // namespace twb
