#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace twb {
namespace {

// Ops that sort: TopK and Unique.

/// Whether `a` precedes `b` in ascending order. NaN is the largest, as in NumPy.
template <class T> bool below(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        if (b != b) return a == a;
    return a < b;
}

// TopK

void inferTopK(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() == 0) ctx.fail("shape-mismatch", 0, "TopK needs a tensor with an axis");
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), x.shape.rank(), -1);
    const int port = ctx.input(1) ? 1 : -1;
    hostNumber(ctx, 1, "K"); // one number
    Shape shape = x.shape;
    if (ctx.isDeferred(1)) {
        shape[axis] = kUnknownDim;
    } else {
        const auto k = ctx.integers(1);
        if (!k || k->empty())
            ctx.fail("attribute", -1, "TopK needs K: connect it, or set the attribute \"K\"");
        if (k->front() < 0 || (x.shape[axis] != kUnknownDim && k->front() > x.shape[axis]))
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("selected index k out of range: K is {}, but dimension {} has size {}",
                                 k->front(), axis, x.shape[axis]));
        shape[axis] = k->front();
    }
    ctx.output(0, {x.dtype, shape});
    ctx.output(1, {DType::i64, shape});
}

template <class T> struct Ranked {
    T value;
    std::int64_t at;
};

template <class T>
void topOfLines(const TensorView& in, const TensorView& out, const TensorView& places, int axis,
                bool largest) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t length = in.shape[axis];
    const std::int64_t k = out.shape[axis];
    const TensorView lines = withoutAxis(in, axis);
    const TensorView targets = withoutAxis(out, axis);
    const StridedLoop<2> loop(lines.shape, {&lines, &targets});
    const std::int64_t outStep = out.strides[a];
    const auto before = [largest](const Ranked<T>& x, const Ranked<T>& y) {
        const bool wins = largest ? below(y.value, x.value) : below(x.value, y.value);
        const bool loses = largest ? below(x.value, y.value) : below(y.value, x.value);
        return wins || (!loses && x.at < y.at);
    };
    // The order is total, so every algorithm gives the same result.
    parallelRangesThrowing(
        loop.total(), loop.total() * length * 4, 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<Ranked<T>> ranked(static_cast<std::size_t>(length));
            loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
                for (std::int64_t n = 0; n < count; ++n) {
                    const T* from = in.as<const T>() + offsets[0] + n * loop.innerStride(0);
                    for (std::int64_t i = 0; i < length; ++i)
                        ranked[static_cast<std::size_t>(i)] = {from[i * in.strides[a]], i};
                    if (k < length)
                        std::nth_element(ranked.begin(), ranked.begin() + k, ranked.end(), before);
                    std::sort(ranked.begin(), ranked.begin() + k, before);
                    const std::int64_t first = offsets[1] + n * loop.innerStride(1);
                    for (std::int64_t i = 0; i < k; ++i) {
                        if (out.data)
                            out.as<T>()[first + i * outStep] = ranked[static_cast<std::size_t>(i)].value;
                        if (places.data)
                            places.as<std::int64_t>()[first + i * outStep] =
                                ranked[static_cast<std::size_t>(i)].at;
                    }
                }
            });
        });
}

void topKKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), in.shape.rank());
    withNumber(in.dtype, [&](auto zero) {
        topOfLines<decltype(zero)>(in, out, ctx.outputs[1], axis, ctx.attributes.flag("largest"));
    });
}

// Unique

/// The distinct rows of a tensor; a row is the slice at one index of the axis.
struct UniqueRows {
    std::vector<std::int64_t> first;   ///< in the order of the result: the row's first occurrence
    std::vector<std::int64_t> inverse; ///< of each row: its index among the distinct rows
    std::vector<std::int64_t> counts;
};

/// Takes `rows` × `length` elements.
template <class T> UniqueRows uniqueRows(const T* data, std::int64_t rows, std::int64_t length, bool sorted) {
    const auto compare = [&](std::int64_t a, std::int64_t b) {
        const T* x = data + a * length;
        const T* y = data + b * length;
        for (std::int64_t i = 0; i < length; ++i) {
            if (below(x[i], y[i])) return -1;
            if (below(y[i], x[i])) return 1;
        }
        return 0;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const int sign = compare(a, b);
        return sign < 0 || (sign == 0 && a < b);
    });
    UniqueRows out;
    out.inverse.resize(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || compare(order[i - 1], order[i]) != 0) {
            out.first.push_back(order[i]);
            out.counts.push_back(0);
        }
        ++out.counts.back();
        out.inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(out.first.size()) - 1;
    }
    if (sorted) return out;
    // In the order of their first occurrence.
    std::vector<std::size_t> by(out.first.size());
    std::iota(by.begin(), by.end(), std::size_t{0});
    std::sort(by.begin(), by.end(),
              [&](std::size_t a, std::size_t b) { return out.first[a] < out.first[b]; });
    UniqueRows turned;
    std::vector<std::int64_t> place(by.size());
    for (std::size_t i = 0; i < by.size(); ++i) {
        turned.first.push_back(out.first[by[i]]);
        turned.counts.push_back(out.counts[by[i]]);
        place[by[i]] = static_cast<std::int64_t>(i);
    }
    for (std::int64_t i : out.inverse) turned.inverse.push_back(place[static_cast<std::size_t>(i)]);
    return turned;
}

UniqueRows uniqueRowsOf(const TensorView& x, const Attributes& attributes) {
    TensorView seen = x;
    std::int64_t rows = x.elementCount();
    std::int64_t length = 1;
    if (attributes.has("axis")) {
        const int axis = *normalizeAxis(attributes.integer("axis"), x.shape.rank());
        const auto a = static_cast<std::size_t>(axis);
        rows = x.shape[axis];
        seen = withoutAxis(x, axis);
        length = seen.elementCount();
        std::vector<std::int64_t> dims = seen.shape.dims();
        dims.insert(dims.begin(), rows);
        seen.shape = Shape(std::move(dims));
        seen.strides.insert(seen.strides.begin(), x.strides[a]);
    }
    const DenseInput input(seen);
    const TensorView& dense = input.view();
    UniqueRows out;
    const bool sorted = attributes.flag("sorted");
    const auto find = [&](const auto* data) { out = uniqueRows(data, rows, length, sorted); };
    if (isHalfWidth(x.dtype)) {
        const Tensor wide = Tensor::onHost({DType::f32, dense.shape});
        const std::int64_t total = dense.elementCount();
        withAny(x.dtype, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (isHalf<T>)
                for (std::int64_t i = 0; i < total; ++i)
                    static_cast<float*>(wide.data())[i] = static_cast<float>(dense.as<const T>()[i]);
        });
        find(static_cast<const float*>(wide.data()));
    } else {
        withNumberOrBool(x.dtype, [&](auto zero) { find(dense.as<const decltype(zero)>()); });
    }
    return out;
}

void inferUnique(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    Shape values{kUnknownDim};
    std::int64_t rows = kUnknownDim;
    int axis = 0;
    if (ctx.attributes().has("axis")) {
        if (x.shape.rank() == 0)
            ctx.fail("shape-mismatch", 0,
                     "Unique along an axis needs a tensor with an axis; remove the attribute \"axis\" to use "
                     "single elements");
        axis = axisOrFail(ctx, ctx.attributes().integer("axis"), x.shape.rank(), -1);
        values = x.shape;
        rows = x.shape[axis];
    } else if (x.isKnown()) {
        rows = x.shape.elementCount();
    }
    std::int64_t count = kUnknownDim;
    if (const Tensor* value = ctx.value(0))
        count = static_cast<std::int64_t>(uniqueRowsOf(value->view(), ctx.attributes()).first.size());
    values[axis] = count;
    ctx.output(0, {x.dtype, std::move(values)});
    ctx.output(1, {DType::i64, Shape{count}});
    ctx.output(2, {DType::i64, Shape{rows}});
    ctx.output(3, {DType::i64, Shape{count}});
}

void uniqueKernel(const KernelContext& ctx) {
    const TensorView& x = ctx.inputs[0];
    const UniqueRows unique = uniqueRowsOf(x, ctx.attributes);
    const auto count = static_cast<std::int64_t>(unique.first.size());
    const auto store = [&](std::size_t port, const std::vector<std::int64_t>& values) {
        if (port >= ctx.outputs.size() || !ctx.outputs[port].data) return;
        const std::int64_t room = ctx.outputs[port].elementCount();
        if (room != static_cast<std::int64_t>(values.size()))
            throw Error(ErrorCode::failed,
                        "the input of Unique has changed since the size of its result was computed");
        std::copy(values.begin(), values.end(), ctx.outputs[port].as<std::int64_t>());
    };
    store(1, unique.first);
    store(2, unique.inverse);
    store(3, unique.counts);
    const TensorView& out = ctx.outputs[0];
    if (!out.data || out.elementCount() == 0) return;
    const DenseInput input(x);
    const TensorView& dense = input.view();
    std::int64_t size = x.elementCount();
    std::int64_t inner = 1;
    if (ctx.attributes.has("axis")) {
        const int axis = *normalizeAxis(ctx.attributes.integer("axis"), x.shape.rank());
        size = x.shape[axis];
        for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
    }
    const std::int64_t outer = x.elementCount() / (size * inner);
    if (outer * count * inner != out.elementCount())
        throw Error(ErrorCode::failed,
                    "the input of Unique has changed since the size of its result was computed");
    gatherBlocks(dense.as<const std::byte>(), out.as<std::byte>(), unique.first.data(), outer, count, size,
                 inner, sizeOf(x.dtype));
}

/// The comparisons of a sort of `lines` lines with `length` elements each.
double sortFlops(double count, double length) { return count * std::log2(std::max(length, 2.0)); }

} // namespace

void addOrderingOps(std::vector<Op>& table) {
    Op topK =
        makeOp("TopK", "Selection", 24,
               "The K largest or smallest elements along an axis and their indices; NaN is the largest");
    topK.inputs = {port("X", "self", kNumbers, "T"), hostPort("K")};
    PortSpec values = port("Values", "", kNumbers, "T");
    PortSpec places = port("Indices", "", DTypeSet{DType::i64});
    places.optional = true;
    topK.outputs = {std::move(values), std::move(places)};
    AttributeSpec k = integerAttribute("K", 0, "Number of elements");
    k.defaultValue.reset();
    k.minimum = 0;
    topK.attributes = {
        std::move(k), integerAttribute("axis", -1, "The axis to search along, negative from the end"),
        flagAttribute("largest", true, "Take the largest elements, otherwise the smallest"),
        flagAttribute("sorted", true, "Whether ONNX needs a sorted result; here, it is always sorted")};
    topK.infer = inferTopK;
    topK.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = 4 * countOf(inputs[0].shape);
        return cost;
    };
    topK.kernel = viaFloat<topKKernel>;
    topK.gradient = [](GradientContext& g) {
        if (g.gradient())
            g.give(0, apply("ScatterElements", {zerosLike(g.input()), g.output(1), g.gradient()},
                            {{"axis", g.attributes().integer("axis")}}));
    };
    table.push_back(std::move(topK));

    Op unique =
        makeOp("Unique", "Selection", 28, "The unique elements, or slices along an axis, and their indices");
    unique.inputs = {port("X", "self", kAll, "T")};
    unique.inputs[0].shapesOutput = true;
    unique.outputs = {port("Y", "", kAll, "T"), port("indices", "", DTypeSet{DType::i64}),
                      port("inverse_indices", "", DTypeSet{DType::i64}),
                      port("counts", "", DTypeSet{DType::i64})};
    for (std::size_t i = 1; i < 4; ++i) unique.outputs[i].optional = true;
    AttributeSpec axis = integerAttribute("axis", 0, "The axis of the slices; absent: single elements");
    axis.defaultValue.reset();
    unique.attributes = {
        std::move(axis),
        flagAttribute("sorted", true, "Sort in ascending order, otherwise keep the order of appearance")};
    unique.infer = inferUnique;
    unique.noGradient = "gives a tensor whose size depends on the values of its input";
    unique.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = sortFlops(countOf(inputs[0].shape), countOf(inputs[0].shape));
        return cost;
    };
    unique.kernel = uniqueKernel;
    table.push_back(std::move(unique));

    describe(table, "TopK", "X […, n] → Values and Indices […, K]", {operand({3, 4})},
             {{"K", std::int64_t{2}}})
        .formula = "Values = the K largest of X; Indices = their places";
    describe(table, "Unique", "Y and counts [u], inverse_indices [n]; u is known only at run time",
             {operand({6}, {2, 1, 1, 3, 4, 3})})
        .formula = "X = Y[inverse_indices]";
}

} // namespace twb
