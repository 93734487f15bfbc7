#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/order_keys.h"
#include "backends/cuda/kernels/row_order.h"
#include "backends/cuda/kernels/take_blocks.h"
#include "backends/cuda/kernels/total_before.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"
#include "ops/boxes.h"

#include <algorithm>
#include <array>

namespace twb::cuda {
namespace {

// Ops that select elements by their values. The number of selected elements was computed before the launch.

/// Nonzero elements.
template <class T> struct SetElements {
    Walk<1> walk;
    const T* data;
    TWB_HOST_DEVICE bool operator()(std::int64_t i) const {
        const auto value = widened(data[walk.at(i)[0]]);
        return value != decltype(widened(T{}))(0);
    }
};

/// Elements per team.
constexpr std::int64_t kPart = 4096;

/// A thread's share of a part: adjacent elements, so that the result stays in order.
struct Share {
    std::int64_t begin, end;
    template <class Group> TWB_HOST_DEVICE Share(const Group& team, std::int64_t part, std::int64_t total) {
        const std::int64_t each = (kPart + team.size() - 1) / team.size();
        const std::int64_t last = (part + 1) * kPart < total ? (part + 1) * kPart : total;
        begin = part * kPart + team.index() * each;
        end = begin + each < last ? begin + each : last;
    }
};

template <class T> struct CountSet {
    SetElements<T> isSet;
    std::int64_t total;
    std::int64_t* counts;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t part) const {
        const Share share(team, part, total);
        std::int64_t count = 0;
        for (std::int64_t i = share.begin; i < share.end; ++i) count += isSet(i) ? 1 : 0;
        count = team.merged(AddStates{}, count);
        if (team.isFirst()) counts[part] = count;
    }
};

template <class T> struct ListSet {
    SetElements<T> isSet;
    std::int64_t total;
    const std::int64_t* before;
    std::int64_t* places;
    std::int64_t room;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t part) const {
        const Share share(team, part, total);
        std::int64_t count = 0;
        for (std::int64_t i = share.begin; i < share.end; ++i) count += isSet(i) ? 1 : 0;
        std::int64_t at = before[part] + team.before(AddStates{}, count);
        for (std::int64_t i = share.begin; i < share.end; ++i)
            if (isSet(i) && at < room) places[at++] = i;
    }
};

/// Row-major indices of the nonzero elements; the result has space for `room` of them.
void listSet(Queue& queue, const TensorView& view, std::int64_t* places, std::int64_t room) {
    const std::int64_t total = view.elementCount();
    const std::int64_t parts = (total + kPart - 1) / kPart;
    const Scratch counts(queue, static_cast<std::size_t>(parts) * sizeof(std::int64_t));
    auto* const before = counts.as<std::int64_t>();
    withAny(view.dtype, [&](auto zero) {
        using T = decltype(zero);
        const SetElements<T> isSet{walkOf(view), view.as<const T>()};
        forEachRow(queue, parts, kPart, CountSet<T>{isSet, total, before});
        forEachRow(queue, 1, parts, TotalBefore<std::int64_t>{before, parts});
        forEachRow(queue, parts, kPart, ListSet<T>{isSet, total, before, places, room});
    });
}

struct SplitPlaces {
    const std::int64_t* places;
    std::int64_t* out;
    std::int64_t count;
    int rank;
    std::array<std::int64_t, kMaxRank> sizes;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        std::int64_t rest = places[i];
        TWB_ROLLED
        for (int axis = rank - 1; axis >= 0; --axis) {
            out[axis * count + i] = rest % sizes[axis];
            rest /= sizes[axis];
        }
    }
};

void nonZeroKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t count = out.shape[1];
    const Scratch places(call.queue, static_cast<std::size_t>(count) * sizeof(std::int64_t));
    listSet(call.queue, in, places.as<std::int64_t>(), count);
    SplitPlaces split{places.as<std::int64_t>(), out.as<std::int64_t>(), count, in.shape.rank(), {}};
    for (int axis = 0; axis < in.shape.rank(); ++axis)
        split.sizes[static_cast<std::size_t>(axis)] = in.shape[axis];
    forEach(call.queue, count, split);
}

void compressKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseView data(call.queue, call.inputs[0]);
    const Shape& shape = data.shape();
    std::int64_t size = shape.elementCount();
    std::int64_t count = out.elementCount();
    std::int64_t inner = 1;
    if (call.attributes.has("axis")) {
        const int axis = *normalizeAxis(call.attributes.integer("axis"), shape.rank());
        size = shape[axis];
        count = out.shape[axis];
        for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    }
    const Scratch places(call.queue, static_cast<std::size_t>(count) * sizeof(std::int64_t));
    listSet(call.queue, call.inputs[1], places.as<std::int64_t>(), count);
    takeBlocks(call.queue, data.view(), out, places.as<std::int64_t>(), count, size, inner);
}

// NonMaxSuppression: the boxes of each class of each image are sorted by score. Then a team repeatedly keeps
// the first remaining box and removes the boxes that overlap with it.

struct ScoreKeys {
    Walk<1> scores; // batch × class × box, row-major
    const float* data;
    std::uint32_t* keys;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        keys[i] = descendingKeyOf(data[scores.at(i)[0]]);
    }
};

struct KeepFirst {
    TWB_HOST_DEVICE void merge(std::int64_t& state, std::int64_t other) const {
        if (other < state) state = other;
    }
};

struct KeepBoxes {
    BoxView boxes;
    const float* scores;
    std::int64_t batchStride, classStride, scoreStride;
    std::int64_t classes, count, most;
    BoxLimits limits;
    const std::uint32_t* order; ///< for each class of each image
    std::uint8_t* isLeft;       ///< the same, indexed by rank in that order
    std::int64_t *kept, *counts;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const std::int64_t batch = row / classes;
        const float* const own = scores + batch * batchStride + row % classes * classStride;
        const std::uint32_t* const ranked = order + row * count;
        std::uint8_t* const left = isLeft + row * count;
        // Each thread handles every size-th box, so no thread reads what another one wrote.
        for (std::int64_t i = team.index(); i < count; i += team.size())
            left[i] = limits.lets(own[ranked[i] * scoreStride]) ? 1 : 0;
        std::int64_t next = team.index(); // the first remaining box of this thread
        std::int64_t found = 0;
        while (found < most) {
            while (next < count && left[next] == 0) next += team.size();
            const std::int64_t best = team.merged(KeepFirst{}, next);
            if (best >= count) break;
            if (team.isFirst()) kept[row * most + found] = ranked[best];
            ++found;
            const Box box = boxes.at(batch, ranked[best]);
            for (std::int64_t i = next; i < count; i += team.size())
                if (i == best || (left[i] != 0 && boxes.at(batch, ranked[i]).overlaps(box, limits.overlap)))
                    left[i] = 0;
        }
        if (team.isFirst()) counts[row] = found;
    }
};

/// Batch, class and box index of each box that is kept, by batch and class, best score first.
struct ListBoxes {
    const std::int64_t *kept, *before;
    std::int64_t* out;
    std::int64_t classes, most, rows, room;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const std::int64_t end = row + 1 < rows ? before[row + 1] : room;
        for (std::int64_t at = before[row] + team.index(); at < end && at < room; at += team.size()) {
            out[at * 3] = row / classes;
            out[at * 3 + 1] = row % classes;
            out[at * 3 + 2] = kept[row * most + at - before[row]];
        }
    }
};

void nonMaxSuppressionKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const TensorView& scores = call.inputs[1];
    const std::int64_t rows = scores.shape[0] * scores.shape[1];
    const std::int64_t count = scores.shape[2];
    const BoxLimits limits = boxLimitsOf(call.context());
    const std::int64_t most = std::min(limits.most, count);
    const Scratch isLeft(call.queue, static_cast<std::size_t>(rows * count));
    const Scratch kept(call.queue, static_cast<std::size_t>(rows * most) * sizeof(std::int64_t));
    const Scratch counts(call.queue, static_cast<std::size_t>(rows) * sizeof(std::int64_t));
    RowOrder<std::uint32_t> order(call.queue, rows, count);
    forEach(call.queue, rows * count, ScoreKeys{walkOf(scores), scores.as<const float>(), order.keys()});
    order.find();
    forEachRow(call.queue, rows, count,
               KeepBoxes{BoxView(call.inputs[0], call.attributes.flag("center_point_box")),
                         scores.as<const float>(), scores.strides[0], scores.strides[1], scores.strides[2],
                         scores.shape[1], count, most, limits, order.places(), isLeft.as<std::uint8_t>(),
                         kept.as<std::int64_t>(), counts.as<std::int64_t>()});
    forEachRow(call.queue, 1, rows, TotalBefore<std::int64_t>{counts.as<std::int64_t>(), rows});
    forEachRow(call.queue, rows, most,
               ListBoxes{kept.as<std::int64_t>(), counts.as<std::int64_t>(), out.as<std::int64_t>(),
                         scores.shape[1], most, rows, out.shape[0]});
}

} // namespace

void addSelectionKernels(KernelMap& table) {
    add(table, "NonZero", nonZeroKernel);
    add(table, "Compress", compressKernel);
    add(table, "NonMaxSuppression", nonMaxSuppressionKernel);
}

} // namespace twb::cuda
