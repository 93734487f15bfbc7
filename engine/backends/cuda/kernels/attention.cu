#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/matrix.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/attention_heads.h"

#include <cmath>
#include <limits>
#include <optional>

namespace twb::cuda {
namespace {

DType arithmeticOf(DType dtype) { return isHalfWidth(dtype) ? DType::f32 : dtype; }

/// An input with three or four axes as batch × heads × length × size.
TensorView byHeads(const TensorView& in, const Heads& heads) {
    if (in.shape.rank() == 4) return in;
    TensorView out = in;
    out.shape = Shape{in.shape[0], heads.count, heads.length, heads.size};
    out.strides = {in.strides[0], heads.size * in.strides[2], in.strides[1], in.strides[2]};
    return out;
}

/// Concatenates past and new rows in `to`, which is dense.
void join(Queue& queue, const TensorView& past, const TensorView& added, const TensorView& to) {
    const std::int64_t before = past.data ? past.shape[2] : 0;
    TensorView part = to;
    if (past.data) {
        part.shape[2] = before;
        copyView(queue, past, part);
    }
    part.shape[2] = added.shape[2];
    part.data = to.as<std::byte>() + before * to.strides[2] * static_cast<std::int64_t>(sizeOf(to.dtype));
    copyView(queue, added, part);
}

/// Query heads grouped by the key head that they share: batch × key heads × their queries' × …
TensorView grouped(const TensorView& in, std::int64_t keyHeads) {
    TensorView out = in;
    const std::int64_t group = keyHeads == 0 ? 0 : in.shape[1] / keyHeads;
    out.shape = Shape{in.shape[0], keyHeads, group, in.shape[2], in.shape[3]};
    out.strides = {in.strides[0], group * in.strides[1], in.strides[1], in.strides[2], in.strides[3]};
    return out;
}

struct Hide {
    template <class T> TWB_HOST_DEVICE float operator()(T isSeen) const {
        return isSeen ? 0.0F : -std::numeric_limits<float>::infinity();
    }
};

/// A mask as a summand of the scores, with −∞ for hidden keys; dense, or with strides (0 repeats).
template <class W> struct Mask {
    const W* data = nullptr;
    std::int64_t batch = 0, head = 0, query = 0;
    std::int64_t length = 0; ///< number of keys in the mask; later keys are hidden
};

struct AddMask {
    std::int64_t heads;
    VisibleKeys keys;
    std::int64_t mode; ///< the stage of the scores to keep
};

/// The largest score of a row, and the largest summand of its mask; NaN wins.
template <class W> struct Peak {
    W score = -std::numeric_limits<W>::infinity();
    W mask = -std::numeric_limits<W>::infinity();
};

struct HigherPeak {
    template <class W> TWB_HOST_DEVICE static void raise(W& state, W other) {
        if (other > state || other != other) state = other;
    }
    template <class W> TWB_HOST_DEVICE void merge(Peak<W>& state, const Peak<W>& other) const {
        raise(state.score, other.score);
        raise(state.mask, other.mask);
    }
};

/// Softmax of the scores, row by row.
template <class W, class T> struct ShareOut {
    W* scores;
    T* kept; ///< null: not requested
    Mask<W> mask;
    AddMask how;
    W cap;

    static constexpr W kHidden = -std::numeric_limits<W>::infinity();

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const std::int64_t total = how.keys.total;
        const std::int64_t i = row % how.keys.queries;
        const std::int64_t at = row / how.keys.queries;
        const std::int64_t batch = at / how.heads;
        const auto seen = how.keys.of(batch, i);
        const W* const bias =
            mask.data ? mask.data + batch * mask.batch + at % how.heads * mask.head + i * mask.query
                      : nullptr;
        const auto added = [&](std::int64_t j) {
            if (j < seen.first || j >= seen.end) return kHidden;
            if (!bias) return W{0};
            return j < mask.length ? bias[j] : kHidden;
        };
        W* const own = scores + row * total;
        const auto keep = [&](std::int64_t j, W value) { kept[row * total + j] = stored<T>(value); };
        Peak<W> peak;
        for (std::int64_t j = team.index(); j < total; j += team.size()) {
            W score = own[j];
            const W summand = added(j);
            if (kept && how.mode == 0) keep(j, score);
            // The cap comes before the mask; otherwise it would make masked scores finite.
            if (cap > 0) score = cap * std::tanh(score / cap);
            if (kept && how.mode == 1) keep(j, score);
            score += summand;
            if (kept && how.mode == 2) keep(j, score);
            own[j] = score;
            HigherPeak{}.merge(peak, {score, summand});
        }
        peak = team.merged(HigherPeak{}, peak);
        double sum = 0;
        for (std::int64_t j = team.index(); j < total; j += team.size()) {
            own[j] = std::exp(own[j] - peak.score);
            sum += static_cast<double>(own[j]);
        }
        const W factor = static_cast<W>(1 / team.merged(AddStates{}, sum));
        const bool attends = peak.score != kHidden && peak.mask != kHidden; // any key at all
        for (std::int64_t j = team.index(); j < total; j += team.size()) {
            own[j] = attends ? own[j] * factor : W{0};
            if (kept && how.mode == 3) keep(j, own[j]);
        }
    }
};

/// Query, key and value in one arithmetic type.
bool supportsAttention(std::span<const DType> inputs) {
    return inputs.size() < 3 || arithmeticOf(inputs[0]) == arithmeticOf(inputs[2]);
}

void attentionKernel(const KernelCall& call) {
    Queue& queue = call.queue;
    const Heads queryHeads = headsOf(call.inputs[0].shape, call.attributes, "q_num_heads", 0);
    const Heads keyHeads = headsOf(call.inputs[1].shape, call.attributes, "kv_num_heads", 1);
    const Heads valueHeads = headsOf(call.inputs[2].shape, call.attributes, "kv_num_heads", 2);
    const TensorView q = byHeads(call.inputs[0], queryHeads);
    TensorView k = byHeads(call.inputs[1], keyHeads);
    TensorView v = byHeads(call.inputs[2], valueHeads);
    const TensorView pastKey = call.input(4);
    const std::int64_t past = pastKey.data ? pastKey.shape[2] : 0;
    const std::int64_t total = past + keyHeads.length;
    const std::int64_t batch = q.shape[0];

    std::optional<Scratch> rooms[2];
    const auto joined = [&](TensorView& view, const TensorView& before, std::size_t output,
                            std::optional<Scratch>& room) {
        if (!before.data && !call.isAsked(output)) return;
        Shape shape = view.shape;
        shape[2] = total;
        if (!call.isAsked(output)) room.emplace(queue, static_cast<std::size_t>(shape.byteCount(view.dtype)));
        const TensorView to{room ? room->data() : call.outputs[output].data, view.dtype, shape,
                            denseStrides(shape)};
        join(queue, before, view, to);
        view = to;
    };
    joined(k, pastKey, 1, rooms[0]);
    joined(v, call.input(5), 2, rooms[1]);
    if (batch * queryHeads.count * queryHeads.length == 0) return;

    const DType work = arithmeticOf(q.dtype);
    const Shape scoreShape{batch, keyHeads.count, queryHeads.count / keyHeads.count, queryHeads.length,
                           total};
    const Scratch memory(queue, static_cast<std::size_t>(scoreShape.byteCount(work)));
    const TensorView scores{memory.data(), work, scoreShape, denseStrides(scoreShape)};
    const double scale = call.attributes.has("scale") ? call.attributes.number("scale")
                                                      : 1 / std::sqrt(static_cast<double>(queryHeads.size));
    TensorView turned = grouped(k, keyHeads.count);
    std::swap(turned.shape[3], turned.shape[4]);
    std::swap(turned.strides[3], turned.strides[4]);
    if (total > 0)
        multiplyStacks(queue, MatrixStack(queue, grouped(q, keyHeads.count), true),
                       MatrixStack(queue, turned, false), scores, scale);

    const TensorView given = call.input(3);
    std::optional<ConvertedView> maskNumbers;
    std::optional<Scratch> maskRoom;
    withFloat(work, [&](auto zero) {
        using W = decltype(zero);
        Mask<W> mask;
        if (given.data) {
            if (given.dtype == DType::boolean) {
                maskRoom.emplace(queue, static_cast<std::size_t>(given.shape.byteCount(work)));
                mapElements<element::Bool, W>(
                    queue, given, {maskRoom->data(), work, given.shape, denseStrides(given.shape)}, Hide{});
                mask.data = maskRoom->as<W>();
            } else {
                maskNumbers.emplace(queue, work, given);
                mask.data = maskNumbers->template as<W>();
            }
            const int rank = given.shape.rank();
            mask.length = given.shape[rank - 1];
            std::int64_t stride = mask.length;
            std::int64_t* const strides[] = {&mask.query, &mask.head, &mask.batch};
            for (int i = 1; i < rank; ++i) {
                const std::int64_t size = given.shape[rank - 1 - i];
                *strides[i - 1] = size == 1 ? 0 : stride;
                stride *= size;
            }
        }
        AddMask how{queryHeads.count, visibleKeysOf(call.attributes, queryHeads.length, total, past),
                    call.attributes.integer("qk_matmul_output_mode")};
        if (const TensorView filled = call.input(6); filled.data) {
            how.keys.filled = filled.as<const std::int64_t>();
            how.keys.filledStep = filled.strides[0];
        }
        withStoredFloat(q.dtype, [&](auto element) {
            using T = decltype(element);
            forEachRow(queue, batch * queryHeads.count * queryHeads.length, total,
                       ShareOut<W, T>{scores.as<W>(), call.isAsked(3) ? call.outputs[3].as<T>() : nullptr,
                                      mask, how, static_cast<W>(call.attributes.number("softcap"))});
        });
    });
    if (!call.isAsked(0)) return;

    const ConvertedView values(queue, work, v);
    const Shape made{batch, keyHeads.count, queryHeads.count / keyHeads.count, queryHeads.length,
                     valueHeads.size};
    const TensorView& y = call.outputs[0];
    const bool isDirect = y.shape.rank() == 4 && y.dtype == work;
    const Scratch room(queue, isDirect ? 0 : static_cast<std::size_t>(made.byteCount(work)));
    const TensorView result{isDirect ? y.data : room.data(), work, made, denseStrides(made)};
    TensorView shared = values.view();
    shared.shape = Shape{batch, keyHeads.count, 1, total, valueHeads.size};
    shared.strides = denseStrides(shared.shape);
    multiplyStacks(queue, MatrixStack(queue, scores, true), MatrixStack(queue, shared, false), result);
    if (isDirect) return;
    // With three axes, heads are contiguous in the last axis.
    const std::int64_t length = queryHeads.length;
    const std::int64_t size = valueHeads.size;
    TensorView from = result;
    TensorView to = y;
    from.shape = Shape{batch, queryHeads.count, length, size};
    from.strides = denseStrides(from.shape);
    if (y.shape.rank() == 3) {
        from.shape = Shape{batch, length, queryHeads.count, size};
        from.strides = {queryHeads.count * length * size, size, length * size, 1};
        to.shape = from.shape;
        to.strides = denseStrides(to.shape);
    }
    convertView(queue, from, to);
}

// RotaryEmbedding

template <class T> struct RotatePairs {
    Walk<1> walk;
    const T *x, *cosines, *sines;
    const std::int64_t* positions; ///< null: consecutive
    T* y;
    std::int64_t heads, length, size, rotated, cached;
    bool isFlat, isInterleaved;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t at = i / size;
        const std::int64_t e = i - at * size;
        if (e >= rotated) {
            y[i] = x[walk.at(i)[0]];
            return;
        }
        // The order of head and step differs between three axes and four.
        const std::int64_t batch = at / (heads * length);
        const std::int64_t step = isFlat ? at / heads % length : at % length;
        const std::int64_t row = positions ? positions[batch * length + step] : batch * length + step;
        if (row < 0 || row >= cached) {
            raise(fault, Fault::indexOutOfRange, row, 0, cached);
            return;
        }
        const std::int64_t half = rotated / 2;
        const bool isFirst = isInterleaved ? e % 2 == 0 : e < half;
        const std::int64_t pair = isInterleaved ? e / 2 : e % half;
        const std::int64_t other = isInterleaved ? (isFirst ? 1 : -1) : (isFirst ? half : -half);
        const auto c = widened(cosines[row * half + pair]);
        const auto s = widened(sines[row * half + pair]);
        const auto own = widened(x[walk.at(i)[0]]);
        const auto beside = widened(x[walk.at(i + other)[0]]);
        y[i] = stored<T>(isFirst ? c * own - s * beside : s * beside + c * own);
    }
};

void rotaryKernel(const KernelCall& call) {
    const TensorView& x = call.inputs[0];
    const Heads heads = headsOf(x.shape, call.attributes, "num_heads", 0);
    const std::int64_t given = call.attributes.integer("rotary_embedding_dim");
    const DenseView cosines(call.queue, call.inputs[1]);
    const DenseView sines(call.queue, call.inputs[2]);
    const DenseView positions(call.queue, call.input(3));
    withStoredFloat(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, x.elementCount(),
                RotatePairs<T>{walkOf(x), x.as<const T>(), cosines.as<T>(), sines.as<T>(),
                               positions.as<std::int64_t>(), call.outputs[0].as<T>(), heads.count,
                               heads.length, heads.size, given == 0 ? heads.size : given,
                               positions ? cosines.shape()[0] : x.shape[0] * heads.length,
                               x.shape.rank() == 3, call.attributes.flag("interleaved"), call.queue.fault()});
    });
}

} // namespace

void addAttentionKernels(KernelMap& table) {
    add(table, "Attention", attentionKernel, supportsAttention);
    add(table, "RotaryEmbedding", rotaryKernel);
}

} // namespace twb::cuda
