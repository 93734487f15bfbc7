#include "backends/cpu/dense_input.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/vector_math.h"
#include "ops/attention_heads.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace twb {
namespace {

/// The sizes of an attention, kUnknownDim if unknown.
struct Sizes {
    std::int64_t batch, queryHeads, keyHeads, queries, keys, past, size, valueSize;
    bool flat; ///< three axes: the last one holds all heads
    std::int64_t total() const {
        return keys == kUnknownDim || past == kUnknownDim ? kUnknownDim : past + keys;
    }
};

Sizes sizesOf(const Attributes& attributes, const Shape& q, const Shape& k, const Shape& v,
              const Shape* past) {
    const Heads query = headsOf(q, attributes, "q_num_heads", 0);
    const Heads key = headsOf(k, attributes, "kv_num_heads", 1);
    const Heads value = headsOf(v, attributes, "kv_num_heads", 2);
    return {q[0],       query.count, key.count,    query.length, key.length, past ? (*past)[2] : 0,
            query.size, value.size,  q.rank() == 3};
}

void inferAttention(InferContext& ctx) {
    for (int port : {0, 1, 2}) {
        const Shape& shape = ctx.input(port)->shape;
        if (shape.rank() != ctx.input(0)->shape.rank() || (shape.rank() != 3 && shape.rank() != 4))
            ctx.fail(
                "shape-mismatch", port,
                fmt::format("{} must have as many axes as the other inputs, three or four, but has size {}",
                            ctx.op().inputAt(port).argument, shape.toTorchString()));
    }
    const Shape& q = ctx.input(0)->shape;
    const Shape& k = ctx.input(1)->shape;
    const Shape& v = ctx.input(2)->shape;
    for (int port : {4, 5})
        if (ctx.input(port) && ctx.input(port)->shape.rank() != 4)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have four axes, but has size {}", ctx.op().inputAt(port).name,
                                 ctx.input(port)->shape.toTorchString()));
    if (!ctx.input(4) != !ctx.input(5))
        ctx.fail("missing-input", ctx.input(4) ? 5 : 4, "connect both past_key and past_value, or neither");
    const Sizes s = sizesOf(ctx.attributes(), q, k, v, ctx.input(4) ? &ctx.input(4)->shape : nullptr);
    const Heads key = headsOf(k, ctx.attributes(), "kv_num_heads", 1);
    const Heads value = headsOf(v, ctx.attributes(), "kv_num_heads", 2);
    if (!meets(k[0], s.batch) || !meets(key.size, s.size))
        ctx.fail("shape-mismatch", 1,
                 fmt::format("query of size {} and key of size {} do not match", q.toTorchString(),
                             k.toTorchString()));
    if (!meets(v[0], s.batch) || !meets(value.length, s.keys) || !meets(value.count, s.keyHeads))
        ctx.fail("shape-mismatch", 2,
                 fmt::format("key of size {} and value of size {} do not match", k.toTorchString(),
                             v.toTorchString()));
    if (s.queryHeads != kUnknownDim && s.keyHeads != kUnknownDim &&
        (s.keyHeads == 0 ? s.queryHeads != 0 : s.queryHeads % s.keyHeads != 0))
        ctx.fail(
            "shape-mismatch", 1,
            fmt::format("Number of heads in key and value must divide the number of heads in query, but {} "
                        "does not divide {}",
                        s.keyHeads, s.queryHeads));
    const auto requirePast = [&](int port, std::int64_t size) {
        if (!ctx.input(port)) return;
        const Shape& past = ctx.input(port)->shape;
        if (!meets(past[0], s.batch) || !meets(past[1], s.keyHeads) || !meets(past[2], s.past) ||
            !meets(past[3], size))
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have size {}, but has {}", ctx.op().inputAt(port).name,
                                 Shape{s.batch, s.keyHeads, s.past, size}.toTorchString(),
                                 past.toTorchString()));
    };
    requirePast(4, s.size);
    requirePast(5, s.valueSize);
    if (const TensorType* filled = ctx.input(6)) {
        if (ctx.input(4))
            ctx.fail(
                "shape-mismatch", 6,
                "connect either nonpad_kv_seqlen, for keys in a cache that another op fills, or past_key "
                "and past_value");
        if (filled->shape.rank() != 1 || !meets(filled->shape[0], s.batch))
            ctx.fail("shape-mismatch", 6,
                     fmt::format("nonpad_kv_seqlen must have size {}, but has {}",
                                 Shape{s.batch}.toTorchString(), filled->shape.toTorchString()));
    }
    const Shape scores{s.batch, s.queryHeads, s.queries, s.total()};
    if (const TensorType* mask = ctx.input(3)) {
        const Shape& shape = mask->shape;
        bool fits = shape.rank() >= 1 && shape.rank() <= 4;
        for (int i = 1; fits && i < shape.rank(); ++i)
            fits = shape[shape.rank() - 1 - i] == 1 || meets(shape[shape.rank() - 1 - i], scores[3 - i]);
        const std::int64_t last = fits ? shape[shape.rank() - 1] : 0;
        fits = fits && (last == kUnknownDim || scores[3] == kUnknownDim || last <= scores[3]);
        if (!fits)
            ctx.fail("shape-mismatch", 3,
                     fmt::format("attn_mask of size {} does not broadcast to the scores' size {}",
                                 shape.toTorchString(), scores.toTorchString()));
    }
    const DType dtype = ctx.input(0)->dtype;
    if (s.flat) {
        std::int64_t hidden = kUnknownDim;
        if (s.valueSize != kUnknownDim && __builtin_mul_overflow(s.valueSize, s.queryHeads, &hidden))
            ctx.fail("too-large", 2, "the result has more elements than 64 bits can count");
        ctx.output(0, {dtype, Shape{s.batch, s.queries, hidden}});
    } else {
        ctx.output(0, {dtype, Shape{s.batch, s.queryHeads, s.queries, s.valueSize}});
    }
    ctx.output(1, {dtype, Shape{s.batch, s.keyHeads, s.total(), s.size}});
    ctx.output(2, {ctx.input(2)->dtype, Shape{s.batch, s.keyHeads, s.total(), s.valueSize}});
    ctx.output(3, {dtype, scores});
}

Cost attentionCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes& attributes) {
    Cost cost = streamingCost(inputs, outputs, 0);
    const Shape* past = inputs.size() > 4 && inputs[4].shape.rank() == 4 ? &inputs[4].shape : nullptr;
    const Sizes s = sizesOf(attributes, inputs[0].shape, inputs[1].shape, inputs[2].shape, past);
    cost.flops = countOf({s.batch, s.queryHeads, s.queries, s.total()}) *
                 (2 * static_cast<double>(s.size) + 2 * static_cast<double>(s.valueSize) + 12);
    return cost;
}

/// Matrices of equal size, one per batch and head, with rows `rowStep` apart.
template <class T> struct HeadMatrices {
    const T* data = nullptr;
    std::int64_t rowStep = 0, headStep = 0, batchStep = 0;
    const T* at(std::int64_t b, std::int64_t h) const { return data + b * batchStep + h * headStep; }
};

/// An input of three or four axes, in its own memory layout.
template <class T>
HeadMatrices<T> inPlace(const DenseInput& in, std::int64_t heads, std::int64_t length, std::int64_t size) {
    if (in.shape().rank() == 3) return {in.as<T>(), heads * size, size, heads * size * length};
    return {in.as<T>(), size, length * size, heads * length * size};
}

/// Concatenates the past and the new rows: batch × heads × (past + keys) × size.
template <class T>
HeadMatrices<T> joined(const DenseInput& past, const HeadMatrices<T>& added, const Sizes& s,
                       std::int64_t size, T* to) {
    const std::int64_t total = s.total();
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.keyHeads; ++h) {
            T* out = to + (b * s.keyHeads + h) * total * size;
            if (past) std::copy_n(past.as<T>() + (b * s.keyHeads + h) * s.past * size, s.past * size, out);
            out += s.past * size;
            for (std::int64_t i = 0; i < s.keys; ++i)
                std::copy_n(added.at(b, h) + i * added.rowStep, size, out + i * size);
        }
    return {to, size, total * size, s.keyHeads * total * size};
}

/// A mask of type T that is added to the scores: −∞ hides a key. Addressed by strides, which are 0 along
/// broadcast axes.
template <class T> struct Mask {
    Tensor values;
    std::array<std::int64_t, 3> strides{}; ///< batch, head, query
    std::int64_t length = 0;               ///< keys covered by the mask; later keys are hidden
    std::int64_t step = 1;

    explicit Mask(const TensorView& given) {
        if (!given.data) return;
        values = Tensor::onHost({DTypeOf<T>::value, given.shape});
        const DenseInput in(given);
        T* const out = static_cast<T*>(values.data());
        const std::int64_t count = given.elementCount();
        if (given.dtype == DType::boolean) {
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = in.as<element::Bool>()[i] ? T{0} : -std::numeric_limits<T>::infinity();
        } else {
            withAny(given.dtype, [&](auto zero) {
                using M = decltype(zero);
                for (std::int64_t i = 0; i < count; ++i)
                    if constexpr (!std::is_same_v<M, element::Bool>)
                        out[i] = static_cast<T>(widened(in.as<M>()[i]));
            });
        }
        const int rank = given.shape.rank();
        length = given.shape[rank - 1];
        std::int64_t stride = length;
        for (int i = 1; i < rank; ++i) {
            const std::int64_t size = given.shape[rank - 1 - i];
            strides[static_cast<std::size_t>(3 - i)] = size == 1 ? 0 : stride;
            stride *= size;
        }
    }
    explicit operator bool() const { return static_cast<bool>(values); }
    const T* row(std::int64_t b, std::int64_t h, std::int64_t i) const {
        return static_cast<const T*>(values.data()) + b * strides[0] + h * strides[1] + i * strides[2];
    }
};

/// Replaces each element x by e ^ (x − most) and returns the sum.
double exponentials(float* row, float most, std::int64_t count) {
    return vectorExpSum(row, most, row, count);
}
double exponentials(double* row, double most, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        row[i] = std::exp(row[i] - most);
        sum += row[i];
    }
    return sum;
}

void tanhOf(float* row, std::int64_t count) { VectorMap{VectorFunction::tanh}(row, row, count); }
void tanhOf(double* row, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) row[i] = std::tanh(row[i]);
}

template <class T> void softmax(T* row, std::int64_t count) {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    T most = hidden;
    if constexpr (std::is_same_v<T, float>)
        most = vectorMax(row, count);
    else
        for (std::int64_t i = 0; i < count; ++i) most = row[i] > most ? row[i] : most;
    // All scores are −∞ and none is NaN: the query attends to no key. With a NaN, the code below makes the
    // whole row NaN.
    if (most == hidden && std::none_of(row, row + count, [](T x) { return x != x; })) {
        std::fill_n(row, count, T{0});
        return;
    }
    const T factor = static_cast<T>(1 / exponentials(row, most, count));
    for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
}

/// Queries that are computed at once: their scores stay in the cache, whatever the number of keys.
constexpr std::int64_t kQueryBlock = 64;

template <class T> void attend(const KernelContext& ctx) {
    const Attributes& attributes = ctx.attributes;
    const DenseInput q(ctx.inputs[0]);
    const DenseInput k(ctx.inputs[1]);
    const DenseInput v(ctx.inputs[2]);
    const DenseInput pastKey = denseInput(ctx.inputs, 4);
    const DenseInput pastValue = denseInput(ctx.inputs, 5);
    const Sizes s =
        sizesOf(attributes, q.shape(), k.shape(), v.shape(), pastKey ? &pastKey.shape() : nullptr);
    const std::int64_t total = s.total();
    const auto outputAt = [&](std::size_t i) {
        return ctx.outputs.size() > i ? ctx.outputs[i].as<T>() : nullptr;
    };
    T* const y = outputAt(0);
    T* const scoresOut = outputAt(3);
    const HeadMatrices<T> queries = inPlace<T>(q, s.queryHeads, s.queries, s.size);
    HeadMatrices<T> keys = inPlace<T>(k, s.keyHeads, s.keys, s.size);
    HeadMatrices<T> values = inPlace<T>(v, s.keyHeads, s.keys, s.valueSize);
    Tensor keyRoom;
    Tensor valueRoom;
    const auto join = [&](const DenseInput& past, HeadMatrices<T>& matrices, std::int64_t size, T* out,
                          Tensor& room) {
        if (!past && !out) return;
        if (!out) {
            room = Tensor::onHost({DTypeOf<T>::value, Shape{s.batch, s.keyHeads, total, size}});
            out = static_cast<T*>(room.data());
        }
        matrices = joined(past, matrices, s, size, out);
    };
    join(pastKey, keys, s.size, outputAt(1), keyRoom);
    join(pastValue, values, s.valueSize, outputAt(2), valueRoom);
    if (s.batch * s.queryHeads * s.queries == 0) return;

    const Mask<T> mask(ctx.inputs.size() > 3 ? ctx.inputs[3] : TensorView{});
    const DenseInput filled = denseInput(ctx.inputs, 6);
    VisibleKeys visible = visibleKeysOf(attributes, s.queries, total, s.past);
    if (filled) visible.filled = filled.as<std::int64_t>();
    const T scale = static_cast<T>(attributes.has("scale") ? attributes.number("scale")
                                                           : 1 / std::sqrt(static_cast<double>(s.size)));
    const T cap = static_cast<T>(attributes.number("softcap"));
    const std::int64_t mode = attributes.integer("qk_matmul_output_mode");
    const std::int64_t group = s.queryHeads / s.keyHeads;
    const std::int64_t yRow = s.flat ? s.queryHeads * s.valueSize : s.valueSize;
    constexpr T hidden = -std::numeric_limits<T>::infinity();

    /// The queries from `first` on of head `at`, up to kQueryBlock of them.
    const auto block = [&](std::int64_t at, std::int64_t first, std::vector<T>& scores) {
        const std::int64_t b = at / s.queryHeads;
        const std::int64_t h = at % s.queryHeads;
        const std::int64_t count = std::min(kQueryBlock, s.queries - first);
        T* const kept = scoresOut ? scoresOut + at * s.queries * total : nullptr;
        gemm<T>(count, total, s.size, scale,
                {queries.at(b, h) + first * queries.rowStep, queries.rowStep, false},
                {keys.at(b, h / group), keys.rowStep, true}, T{0}, scores.data(), total);
        for (std::int64_t i = first; i < first + count; ++i) {
            T* const row = scores.data() + (i - first) * total;
            const auto keep = [&](std::int64_t wanted) {
                if (kept && mode == wanted) std::copy_n(row, total, kept + i * total);
            };
            const T* const added = mask ? mask.row(b, h, i) : nullptr;
            const VisibleKeys::Range seen = visible.of(b, i);
            const auto bias = [&](std::int64_t j) {
                if (j < seen.first || j >= seen.end) return hidden;
                if (!added) return T{0};
                return j < mask.length ? added[j] : hidden;
            };
            keep(0);
            // The cap precedes the mask; after it, the cap would make masked keys visible again.
            if (cap > 0) {
                for (std::int64_t j = 0; j < total; ++j) row[j] /= cap;
                tanhOf(row, total);
                for (std::int64_t j = 0; j < total; ++j) row[j] *= cap;
            }
            keep(1);
            const bool hides = visible.hides() || added;
            bool seesAny = !hides;
            for (std::int64_t j = 0; hides && j < total; ++j) {
                const T summand = bias(j);
                row[j] += summand;
                seesAny = seesAny || summand != hidden;
            }
            keep(2);
            if (seesAny)
                softmax(row, total);
            else // whatever the scores are
                std::fill_n(row, total, T{0});
            keep(3);
        }
        if (!y) return;
        T* const to =
            s.flat ? y + (b * s.queries * s.queryHeads + h) * s.valueSize : y + at * s.queries * s.valueSize;
        gemm<T>(count, s.valueSize, total, T{1}, {scores.data(), total, false},
                {values.at(b, h / group), values.rowStep, false}, T{0}, to + first * yRow, yRow);
    };
    const std::int64_t blocks = (s.queries + kQueryBlock - 1) / kQueryBlock;
    const std::int64_t work = s.queries * total * (s.size + s.valueSize + 16);
    const std::int64_t heads = s.batch * s.queryHeads;
    parallelRangesThrowing(heads * blocks, heads * work, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> scores(static_cast<std::size_t>(std::min(kQueryBlock, s.queries) * total));
        for (std::int64_t at = begin; at < end; ++at) block(at / blocks, at % blocks * kQueryBlock, scores);
    });
}

/// If the values' dtype differs from that of query and key, everything is computed in f64.
void attendMixed(const KernelContext& ctx) {
    std::vector<Tensor> owned;
    const auto wide = [&](std::span<const TensorView> views, bool copies) {
        std::vector<TensorView> out(views.begin(), views.end());
        for (TensorView& view : out) {
            if (!isFloating(view.dtype) || view.dtype == DType::f64) continue;
            const TensorView from = view;
            view.dtype = DType::f64;
            if (!from.data) continue;
            owned.push_back(Tensor::onHost({DType::f64, from.shape}));
            view = owned.back().view();
            if (!copies) continue;
            const DenseInput in(from);
            for (std::int64_t i = 0; i < from.elementCount(); ++i) view.as<double>()[i] = in.as<float>()[i];
        }
        return out;
    };
    const std::vector<TensorView> inputs = wide(ctx.inputs, true);
    const std::vector<TensorView> outputs = wide(ctx.outputs, false);
    attend<double>({inputs, outputs, ctx.attributes, ctx.files});
    for (std::size_t o = 0; o < outputs.size(); ++o)
        if (ctx.outputs[o].data && ctx.outputs[o].dtype == DType::f32)
            for (std::int64_t i = 0; i < outputs[o].elementCount(); ++i)
                ctx.outputs[o].as<float>()[i] = static_cast<float>(outputs[o].as<double>()[i]);
}

void attentionKernel(const KernelContext& ctx) {
    if (ctx.inputs[0].dtype != ctx.inputs[2].dtype) return attendMixed(ctx);
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { attend<decltype(zero)>(ctx); });
}

/// batch × heads × length × size.
GraphTensor byHead(GraphTensor x, std::int64_t heads, std::int64_t length, std::int64_t size) {
    if (x.shape().rank() == 4) return x;
    return transpose(reshape(x, {x.shape()[0], length, heads, size}), {0, 2, 1, 3});
}

/// The mask as summands of the scores, −∞ for hidden keys; keys behind its end are hidden.
GraphTensor maskSummand(GraphTensor mask, DType dtype, std::int64_t total) {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    const GraphTensor zero = full(mask.context(), {dtype, {}}, 0);
    const GraphTensor out = mask.type().dtype == DType::boolean
                                ? where(mask, zero, full(mask.context(), {dtype, {}}, hidden))
                                : cast(mask, dtype);
    const int last = out.shape().rank() - 1;
    if (out.shape()[last] == total) return out;
    return apply("Pad", {out},
                 {{"axes", std::vector<std::int64_t>{last}},
                  {"pads", std::vector<std::int64_t>{0, total - out.shape()[last]}},
                  {"constant_value", hidden}});
}

/// The outputs of Attention by simpler ops. If the dtypes differ, they compute in f64, as the kernel does.
std::vector<GraphTensor> attentionOf(GradientContext& g) {
    const Attributes& attributes = g.attributes();
    const GraphTensor pastKey = g.input(4);
    const Shape& valueShape = g.input(2).shape();
    const Sizes s = sizesOf(attributes, g.input(0).shape(), g.input(1).shape(), valueShape,
                            pastKey ? &pastKey.shape() : nullptr);
    const DType ofQueries = g.input(0).type().dtype;
    const DType ofValues = g.input(2).type().dtype;
    const DType dtype = ofQueries == ofValues ? ofQueries : DType::f64;
    const std::int64_t total = s.total();
    const auto joined = [&](int port, int past, std::int64_t size) {
        const GraphTensor added = byHead(cast(g.input(port), dtype), s.keyHeads, s.keys, size);
        return g.input(past) ? concat(g, {cast(g.input(past), dtype), added}, 2) : added;
    };
    const GraphTensor keys = joined(1, 4, s.size);
    const GraphTensor values = joined(2, 5, s.valueSize);
    // All query heads that share a key head are multiplied with it as one matrix.
    const std::int64_t rows = s.queryHeads / std::max<std::int64_t>(s.keyHeads, 1) * s.queries;
    const GraphTensor queries = reshape(byHead(cast(g.input(0), dtype), s.queryHeads, s.queries, s.size),
                                        {s.batch, s.keyHeads, rows, s.size});
    const double scale =
        attributes.has("scale") ? attributes.number("scale") : 1 / std::sqrt(static_cast<double>(s.size));
    const GraphTensor scores = reshape(apply("MatMul", {queries, swapLast(keys)}) * scale,
                                       {s.batch, s.queryHeads, s.queries, total});
    const double cap = attributes.number("softcap");
    const GraphTensor capped = cap > 0 ? cap * apply("Tanh", {scores / cap}) : scores;
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    GraphTensor masked = capped;
    const GraphTensor keyAt = progression(g, DType::i64, total);
    const auto hideKeys = [&](const char* comparison, GraphTensor bound) {
        masked = where(apply(comparison, {keyAt, bound}), hidden, masked);
    };
    // The place of a query among the keys.
    GraphTensor own = progression(g, DType::i64, s.queries, static_cast<double>(s.past), 1, 1);
    if (const GraphTensor given = g.input(6)) {
        const GraphTensor filled = reshape(given, {s.batch, 1, 1, 1});
        own = own + filled - static_cast<double>(s.queries);
        hideKeys("GreaterOrEqual", filled);
    }
    if (attributes.flag("is_causal")) hideKeys("Greater", own);
    const auto left = static_cast<double>(attributes.integer("left_window_size"));
    const auto right = static_cast<double>(attributes.integer("right_window_size"));
    if (left >= 0) hideKeys("Less", own - left);
    if (right >= 0) hideKeys("Greater", own + right);
    if (g.input(3)) masked = masked + maskSummand(g.input(3), dtype, total);
    GraphTensor shares;
    if ((g.input(3) || g.input(6) || left >= 0 || right >= 0) && total > 0) {
        const GraphTensor seesNone = isEqual(
            apply("ReduceMax", {masked}, {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", true}}),
            hidden);
        shares = where(seesNone, 0, apply("Softmax", {where(seesNone, 0, masked)}));
    } else {
        shares = apply("Softmax", {masked});
    }
    GraphTensor y = reshape(apply("MatMul", {reshape(shares, {s.batch, s.keyHeads, rows, total}), values}),
                            {s.batch, s.queryHeads, s.queries, s.valueSize});
    if (s.flat) y = reshape(transpose(y, {0, 2, 1, 3}), {s.batch, s.queries, s.queryHeads * s.valueSize});
    const GraphTensor kept[] = {scores, capped, masked, shares};
    return {cast(y, ofQueries), cast(keys, ofQueries), cast(values, ofValues),
            cast(kept[attributes.integer("qk_matmul_output_mode")], ofQueries)};
}

} // namespace

Heads headsOf(const Shape& shape, const Attributes& attributes, const char* attribute, int port) {
    if (shape.rank() == 4) return {shape[1], shape[3], shape[2]};
    const std::int64_t count = attributes.has(attribute) ? attributes.integer(attribute) : 0;
    if (count < 1)
        throw InferError(
            "attribute", -1,
            fmt::format("inputs with three axes need the attribute \"{}\", the number of heads", attribute));
    if (shape[2] == kUnknownDim) return {count, kUnknownDim, shape[1]};
    if (shape[2] % count != 0)
        throw InferError(
            "shape-mismatch", port,
            fmt::format("embed_dim must be divisible by num_heads, but {} is not divisible by {}", shape[2],
                        count));
    return {count, shape[2] / count, shape[1]};
}

VisibleKeys visibleKeysOf(const Attributes& attributes, std::int64_t queries, std::int64_t total,
                          std::int64_t past) {
    return {queries,
            total,
            past,
            attributes.flag("is_causal"),
            attributes.integer("left_window_size"),
            attributes.integer("right_window_size")};
}

void addAttention(std::vector<Op>& table) {
    Op attention =
        makeOp("Attention", "Attention", 25,
               "Scaled dot-product attention over several heads, with masks and a cache of keys and values",
               "Y = softmax(scale · Q · Kᵀ + mask) · V");
    attention.inputs = {port("Q", "query", kFloats, "T1"),
                        port("K", "key", kFloats, "T1"),
                        port("V", "value", kFloats, "T2"),
                        optionalPort("attn_mask", "attn_mask", kAll, "U"),
                        optionalPort("past_key", "past_key", kFloats, "T1"),
                        optionalPort("past_value", "past_value", kFloats, "T2"),
                        optionalPort("nonpad_kv_seqlen", "nonpad_kv_seqlen", DTypeSet{DType::i64})};
    attention.outputs = {port("Y", "", kFloats, "T1"), port("present_key", "", kFloats, "T1"),
                         port("present_value", "", kFloats, "T2"),
                         port("qk_matmul_output", "", kFloats, "T1")};
    for (std::size_t i = 1; i < attention.outputs.size(); ++i) attention.outputs[i].optional = true;
    AttributeSpec scale = numberAttribute("scale", 1, "Factor of the scores; absent: 1 / √(head size)");
    scale.defaultValue.reset();
    AttributeSpec mode = integerAttribute("qk_matmul_output_mode", 0,
                                          "Content of qk_matmul_output: 0: scores; 1: capped scores; 2: "
                                          "capped and masked scores; 3: softmax output");
    mode.minimum = 0;
    mode.maximum = 3;
    AttributeSpec cap =
        numberAttribute("softcap", 0, "Soft cap of the scores: softcap · tanh(scores / softcap); 0: no cap");
    cap.minimum = 0;
    AttributeSpec left = integerAttribute("left_window_size", -1,
                                          "Number of keys before its own that a query sees; -1: all of them");
    AttributeSpec right = integerAttribute("right_window_size", -1,
                                           "Number of keys after its own that a query sees; -1: all of them");
    left.minimum = right.minimum = -1;
    attention.attributes = {
        flagAttribute("is_causal", false, "Hide later keys from earlier queries"),
        countAttribute("q_num_heads", "Number of heads of Q if it has three axes"),
        countAttribute("kv_num_heads", "Number of heads of K and V if they have three axes"),
        std::move(left),
        std::move(right),
        std::move(mode),
        std::move(scale),
        std::move(cap),
        countAttribute("softmax_precision",
                       "ONNX's code of the dtype used by the softmax; at least f32 is used")};
    attention.tolerance = {1e-4, 1e-5};
    attention.infer = inferAttention;
    attention.cost = attentionCost;
    attention.kernel = viaFloat<attentionKernel>;
    attention.gradient = [](GradientContext& g) { differentiate(g, attentionOf); };
    table.push_back(std::move(attention));

    describe(table, "Attention",
             "Q [n, heads, t, d] · K [n, heads, s, d] · V [n, heads, s, v] → Y [n, heads, t, v]; or [n, t, "
             "heads · d] with q_num_heads and kv_num_heads",
             {operand({1, 2, 3, 4}), operand({1, 2, 3, 4}), operand({1, 2, 3, 4})}, {{"is_causal", true}});
}

} // namespace twb
