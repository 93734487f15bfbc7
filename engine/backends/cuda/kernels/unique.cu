#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/order_keys.h"
#include "backends/cuda/kernels/row_order.h"
#include "backends/cuda/kernels/rows.h"
#include "backends/cuda/kernels/scan.h"
#include "backends/cuda/kernels/take_blocks.h"
#include "backends/cuda/kernels/view_copy.h"

#include <utility>

namespace twb::cuda {
namespace {

// Unique. A row is the slice at one index of the axis, or one element. Rows are sorted by their elements as
// digits in a radix sort: stable sorts, starting with the last element. Equal rows are then adjacent, the
// earliest first. The number of distinct rows was computed before the launch.

struct Identity {
    std::uint32_t* order;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { order[i] = static_cast<std::uint32_t>(i); }
};

template <class T> struct RowElements {
    const T* data;
    Walk<1> rows, row;
    TWB_HOST_DEVICE auto key(std::int64_t index, std::int64_t i) const {
        return keyOf(widened(data[rows.at(index)[0] + row.at(i)[0]]));
    }
    TWB_HOST_DEVICE bool differ(std::int64_t a, std::int64_t b) const {
        for (std::int64_t i = 0; i < row.total; ++i)
            if (key(a, i) != key(b, i)) return true;
        return false;
    }
};

template <class T> struct KeysAt {
    RowElements<T> elements;
    const std::uint32_t* order;
    std::int64_t at;
    KeyOf<Wide<T>>* keys;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { keys[i] = elements.key(order[i], at); }
};

struct Reorder {
    const std::uint32_t *order, *places;
    std::uint32_t* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = order[places[i]]; }
};

/// 1 if a row differs from the one before it.
template <class T> struct MarkFirst {
    RowElements<T> elements;
    const std::uint32_t* order;
    std::int64_t* marks;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        marks[i] = i == 0 || elements.differ(order[i - 1], order[i]) ? 1 : 0;
    }
};

/// The distinct rows in ascending order.
struct Distinct {
    const std::uint32_t* order;
    const std::int64_t* numbers; ///< for each sorted row: the number of its distinct row, from 1
    std::int64_t rows, count;
    std::uint32_t* first;  ///< the first occurrence of each
    std::int64_t* start;   ///< the start of each in `order`, and finally `rows`
    std::int64_t* inverse; ///< by row
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t number = numbers[i] - 1;
        if (number >= count) return; // the input changed after it was counted
        if (i == 0 || numbers[i - 1] != numbers[i]) {
            first[number] = order[i];
            start[number] = i;
        }
        if (i == rows - 1) start[number + 1] = rows;
        inverse[order[i]] = number;
    }
};

/// The results in their order; `by` gives the distinct row of each, null for ascending order.
struct Results {
    const std::uint32_t *first, *by;
    const std::int64_t* start;
    std::int64_t *places, *counts; ///< counts null: not requested
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t number = by ? by[i] : i;
        places[i] = first[number];
        if (counts) counts[i] = start[number + 1] - start[number];
    }
};

struct RankOf {
    const std::uint32_t* by;
    std::int64_t* rank;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { rank[by[i]] = i; }
};

/// out[i] = numbers[i], mapped through `rank` if it is given.
template <class T> struct Renumber {
    const T* numbers;
    const std::int64_t* rank;
    T* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = rank ? static_cast<T>(rank[numbers[i]]) : numbers[i];
    }
};

std::int64_t* askedFor(const KernelCall& call, std::size_t output) {
    return call.isAsked(output) ? call.outputs[output].as<std::int64_t>() : nullptr;
}

/// Sorts rows of `elements`, keeping the order of equal ones, and finds the distinct rows.
template <class T>
void findDistinct(Queue& queue, const RowElements<T>& elements, std::int64_t count, std::uint32_t* first,
                  std::int64_t* start, std::int64_t* inverse) {
    const std::int64_t rows = elements.rows.total;
    const Scratch memory(queue, static_cast<std::size_t>(rows) * sizeof(std::uint32_t));
    const Scratch other(queue, static_cast<std::size_t>(rows) * sizeof(std::uint32_t));
    const Scratch numbers(queue, static_cast<std::size_t>(rows) * sizeof(std::int64_t));
    auto* order = memory.as<std::uint32_t>();
    auto* next = other.as<std::uint32_t>();
    forEach(queue, rows, Identity{order});
    for (std::int64_t at = elements.row.total - 1; at >= 0; --at) {
        RowOrder<KeyOf<Wide<T>>> sort(queue, 1, rows);
        forEach(queue, rows, KeysAt<T>{elements, order, at, sort.keys()});
        sort.find();
        forEach(queue, rows, Reorder{order, sort.places(), next});
        std::swap(order, next);
    }
    forEach(queue, rows, MarkFirst<T>{elements, order, numbers.as<std::int64_t>()});
    sumUpTo(queue, numbers.as<std::int64_t>(), rows);
    forEach(queue, rows, Distinct{order, numbers.as<std::int64_t>(), rows, count, first, start, inverse});
}

void uniqueKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    std::array<bool, kMaxRank> along{};
    std::int64_t size = in.elementCount();
    std::int64_t inner = 1;
    std::int64_t count = out.elementCount();
    along.fill(true);
    if (call.attributes.has("axis")) {
        const int axis = *normalizeAxis(call.attributes.integer("axis"), in.shape.rank());
        along = onlyAxis(axis, in.shape.rank());
        size = in.shape[axis];
        count = out.shape[axis];
        for (int i = axis + 1; i < in.shape.rank(); ++i) inner *= in.shape[i];
    }
    if (size == 0 || count == 0) return;
    Queue& queue = call.queue;
    const ReductionView split = splitAxes(in, along);
    const Scratch first(queue, static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    const Scratch start(queue, static_cast<std::size_t>(count + 1) * sizeof(std::int64_t));
    const Scratch inverse(queue, static_cast<std::size_t>(size) * sizeof(std::int64_t));
    const auto find = [&](auto zero) {
        using T = decltype(zero);
        findDistinct(queue, RowElements<T>{in.as<const T>(), walkOf(split.reduced), walkOf(split.kept)},
                     count, first.as<std::uint32_t>(), start.as<std::int64_t>(), inverse.as<std::int64_t>());
    };
    if (in.dtype == DType::boolean)
        find(std::uint8_t{});
    else
        withStoredNumber(in.dtype, find);

    // In ascending order, or in the order of first occurrence.
    const bool isSorted = call.attributes.flag("sorted");
    RowOrder<std::uint32_t> byPlace(queue, 1, isSorted ? 0 : count);
    const Scratch rank(queue, isSorted ? 0 : static_cast<std::size_t>(count) * sizeof(std::int64_t));
    if (!isSorted) {
        forEach(queue, count, Renumber<std::uint32_t>{first.as<std::uint32_t>(), nullptr, byPlace.keys()});
        byPlace.find();
        forEach(queue, count, RankOf{byPlace.places(), rank.as<std::int64_t>()});
    }
    const Scratch places(queue, static_cast<std::size_t>(count) * sizeof(std::int64_t));
    forEach(queue, count,
            Results{first.as<std::uint32_t>(), isSorted ? nullptr : byPlace.places(),
                    start.as<std::int64_t>(), places.as<std::int64_t>(), askedFor(call, 3)});
    if (auto* const indices = askedFor(call, 1))
        forEach(queue, count, Renumber<std::int64_t>{places.as<std::int64_t>(), nullptr, indices});
    if (auto* const inverses = askedFor(call, 2))
        forEach(queue, size,
                Renumber<std::int64_t>{inverse.as<std::int64_t>(), rank.as<std::int64_t>(), inverses});
    if (out.elementCount() == 0) return;
    const DenseView dense(queue, in);
    takeBlocks(queue, dense.view(), out, places.as<std::int64_t>(), count, size, inner);
}

} // namespace

void addUniqueKernels(KernelMap& table) { add(table, "Unique", uniqueKernel); }

} // namespace twb::cuda
