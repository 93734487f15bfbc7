#include "ops/composition.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <cstring>

namespace twb {
namespace {

using List = std::vector<std::int64_t>;

Shape joined(const Shape& a, int aFrom, int aTo, const Shape& b, int bFrom, int bTo, const Shape& c = {},
             int cFrom = 0) {
    List dims(a.begin() + aFrom, a.begin() + aTo);
    dims.insert(dims.end(), b.begin() + bFrom, b.begin() + bTo);
    dims.insert(dims.end(), c.begin() + cFrom, c.end());
    return Shape(std::move(dims));
}

std::int64_t product(const Shape& shape, int from, int to) {
    std::int64_t count = 1;
    for (int axis = from; axis < to; ++axis) count *= shape[axis];
    return count;
}

// Gather

void inferGather(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    const int rank = data.shape.rank();
    if (rank == 0)
        ctx.fail("shape-mismatch", 0, "index_select(): Index to scalar: Gather needs data with an axis");
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), rank, -1);
    ctx.output(0,
               {data.dtype, joined(data.shape, 0, axis, indices, 0, indices.rank(), data.shape, axis + 1)});
}

void gatherKernel(const KernelContext& ctx) {
    const TensorView& data = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const int rank = data.shape.rank();
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), rank);
    const CheckedIndices at(ctx.inputs[1], axis, data.shape[axis]);
    if (out.elementCount() == 0) return;
    const DenseInput dense(data);
    gatherBlocks(dense.as<std::byte>(), out.as<std::byte>(), at.data(), product(data.shape, 0, axis),
                 at.count(), data.shape[axis], product(data.shape, axis + 1, rank), sizeOf(data.dtype));
}

// GatherElements

void inferGatherElements(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    const int rank = data.shape.rank();
    if (rank == 0) ctx.fail("shape-mismatch", 0, "GatherElements needs data with an axis");
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), rank, -1);
    if (indices.rank() != rank)
        ctx.fail("shape-mismatch", 1, "Index tensor must have the same number of dimensions as input tensor");
    for (int i = 0; i < rank; ++i)
        if (i != axis && indices[i] != kUnknownDim && data.shape[i] != kUnknownDim &&
            indices[i] > data.shape[i])
            ctx.fail("shape-mismatch", 1,
                     fmt::format("Size does not match at dimension {} expected index {} to be no larger than "
                                 "self {} apart from dimension {}",
                                 i, indices.toTorchString(), data.shape.toTorchString(), axis));
    ctx.output(0, {data.dtype, indices});
}

template <class T>
void gatherElements(const TensorView& data, const CheckedIndices& at, const TensorView& out, int axis) {
    const std::int64_t axisStride = data.strides[static_cast<std::size_t>(axis)];
    // The addresses of the elements for index 0 along the axis.
    TensorView base = data;
    base.shape = out.shape;
    base.strides[static_cast<std::size_t>(axis)] = 0;
    const StridedLoop<2> loop(out.shape, {&base, &at.view()});
    const std::int64_t step = loop.innerStride(0);
    const T* const from = data.as<const T>();
    parallelRanges(loop.total(), loop.total(), 64, [&](std::int64_t begin, std::int64_t end) {
        T* to = out.as<T>() + begin;
        const std::int64_t* index = at.data() + begin;
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i)
                to[i] = from[offsets[0] + i * step + index[i] * axisStride];
            to += count;
            index += count;
        });
    });
}

void gatherElementsKernel(const KernelContext& ctx) {
    const TensorView& data = ctx.inputs[0];
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), data.shape.rank());
    const CheckedIndices at(ctx.inputs[1], axis, data.shape[axis]);
    if (at.count() == 0) return;
    withElementSize(data.dtype,
                    [&](auto zero) { gatherElements<decltype(zero)>(data, at, ctx.outputs[0], axis); });
}

// GatherND

void inferGatherND(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    const int rank = data.shape.rank();
    if (rank == 0) ctx.fail("shape-mismatch", 0, "GatherND needs data with an axis");
    if (indices.rank() == 0) ctx.fail("shape-mismatch", 1, "GatherND needs indices with an axis");
    const std::int64_t batch = ctx.attributes().integer("batch_dims");
    if (batch >= std::min(rank, indices.rank()))
        ctx.fail("attribute", -1,
                 fmt::format("batch_dims must be less than the dimensions of data ({}) and of indices ({}), "
                             "but is {}",
                             rank, indices.rank(), batch));
    const auto batchDims = static_cast<int>(batch);
    for (int i = 0; i < batchDims; ++i)
        if (!(indices[i] == data.shape[i] || indices[i] == kUnknownDim || data.shape[i] == kUnknownDim))
            ctx.fail("shape-mismatch", 1,
                     fmt::format("batch dimension {} has size {} in data and {} in indices", i, data.shape[i],
                                 indices[i]));
    const std::int64_t depth = indices[indices.rank() - 1];
    if (depth == kUnknownDim)
        ctx.fail("shape-mismatch", 1,
                 "the last size of indices is not known before the run, so the result's number of dimensions "
                 "is not known either; give indices a last dimension of known size");
    if (depth > rank - batchDims)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("too many indices for tensor of dimension {}: indices name {} axes after {} of "
                             "the batch",
                             rank, depth, batchDims));
    ctx.output(0, {data.dtype, joined(indices, 0, indices.rank() - 1, data.shape,
                                      batchDims + static_cast<int>(depth), rank)});
}

void gatherNDKernel(const KernelContext& ctx) {
    const TensorView& data = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const Shape& indices = ctx.inputs[1].shape;
    const int rank = data.shape.rank();
    const auto batch = static_cast<int>(ctx.attributes.integer("batch_dims"));
    const auto depth = static_cast<int>(indices[indices.rank() - 1]);
    const List sizes(data.shape.begin() + batch, data.shape.begin() + batch + depth);
    const CheckedIndices at(ctx.inputs[1], batch, sizes);
    if (out.elementCount() == 0) return;
    const DenseInput dense(data);
    const auto* const from = dense.as<std::byte>();
    const std::int64_t tuples = product(indices, 0, indices.rank() - 1);
    const std::int64_t tuplesOfBatch = product(indices, batch, indices.rank() - 1);
    const std::int64_t inner = product(data.shape, batch + depth, rank);
    const std::int64_t batchStep = product(data.shape, batch, rank);
    const auto bytes = static_cast<std::int64_t>(sizeOf(data.dtype));
    parallelRanges(tuples, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t* tuple = at.data() + t * depth;
            std::int64_t block = 0;
            for (int i = 0; i < depth; ++i) block = block * sizes[static_cast<std::size_t>(i)] + tuple[i];
            std::memcpy(out.as<std::byte>() + t * inner * bytes,
                        from + (t / tuplesOfBatch * batchStep + block * inner) * bytes,
                        static_cast<std::size_t>(inner * bytes));
        }
    });
}

/// Elements that were taken several times get the sum of their gradients.
void gatherGradient(GradientContext& g) {
    Shape flat = g.input(0).shape();
    const std::int64_t given = g.attributes().integer("axis");
    const int axis = static_cast<int>(given < 0 ? given + flat.rank() : given);
    Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(flat.rank()), 1));
    flat[axis] = line[axis] = g.input(1).shape().elementCount();
    const GraphTensor places = expand(reshape(g.input(1), line), flat);
    g.give(0, apply("ScatterElements", {zerosLike(g.input(0)), places, reshape(g.gradient(), flat)},
                    {{"axis", std::int64_t{axis}}, {"reduction", "add"}}));
}

void gatherElementsGradient(GradientContext& g) {
    g.give(0, apply("ScatterElements", {zerosLike(g.input(0)), g.input(1), g.gradient()},
                    {{"axis", g.attributes().integer("axis")}, {"reduction", "add"}}));
}

/// The batch axes become the first indices of each tuple.
void gatherNDGradient(GradientContext& g) {
    GraphTensor indices = g.input(1);
    const int last = indices.shape().rank() - 1;
    std::vector<GraphTensor> parts;
    for (int axis = 0; axis < static_cast<int>(g.attributes().integer("batch_dims")); ++axis) {
        Shape all = indices.shape();
        all[last] = 1;
        parts.push_back(expand(progression(g, DType::i64, all[axis], 0, 1, last - axis), all));
    }
    parts.push_back(indices);
    g.give(0, apply("ScatterND", {zerosLike(g.input(0)), concat(g, parts, last), g.gradient()},
                    {{"reduction", "add"}}));
}

Op makeGather(std::string name, std::string doc, std::string formula, DTypeSet indexTypes) {
    Op op = makeOp(std::move(name), "Indexing", 13, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", kAll, "T"), port("indices", "index", indexTypes)};
    op.outputs = {port("output", "", kAll, "T")};
    op.cost = gatherCost;
    return op;
}

} // namespace

void addGatherOps(std::vector<Op>& table) {
    Op gather = makeGather("Gather", "Takes slices along an axis, as an embedding does",
                           "output[i, j, k] = data[i, indices[j], k]", kIndices);
    gather.attributes = {integerAttribute("axis", 0, "The axis that is indexed, negative from the end")};
    gather.infer = inferGather;
    gather.kernel = gatherKernel;
    gather.gradient = gatherGradient;
    table.push_back(std::move(gather));

    Op elements = makeGather("GatherElements", "Takes one element along an axis for each index",
                             "output[i, j] = data[indices[i, j], j]", kIndices);
    elements.attributes = {integerAttribute("axis", 0, "The axis that is indexed, negative from the end")};
    elements.infer = inferGatherElements;
    elements.kernel = gatherElementsKernel;
    elements.gradient = gatherElementsGradient;
    table.push_back(std::move(elements));

    Op nd =
        makeGather("GatherND", "Takes the slices at index tuples, which lie along the last axis of indices",
                   "output[i, :] = data[indices[i, 0], indices[i, 1], …, :]", DTypeSet{DType::i64});
    nd.outputs = {port("output", "", kAll, "T")};
    AttributeSpec batch = integerAttribute("batch_dims", 0, "Leading axes that data and indices share");
    batch.minimum = 0;
    nd.attributes = {std::move(batch)};
    nd.infer = inferGatherND;
    nd.kernel = gatherNDKernel;
    nd.gradient = gatherNDGradient;
    table.push_back(std::move(nd));

    describe(table, "Gather", "data [d₀, …] · indices [i…] → output, with [i…] in place of axis",
             {operand({3, 4}), operand({2}, {0, 2}, DType::i64)});
    describe(table, "GatherElements", "indices has the rank of data; output has the shape of indices",
             {operand({3, 4}), operand({1, 4}, {0, 1, 2, 0}, DType::i64)});
    describe(table, "GatherND", "data [d₀, …] · indices [i…, k] → output [i…, dₖ, …]",
             {operand({3, 4}), operand({2, 1}, {0, 2}, DType::i64)});
}

} // namespace twb
