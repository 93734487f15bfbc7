#include "backends/cpu/strided.h"

#include "backends/cpu/parallel.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace twb {

void requireRank(const Shape& shape) {
    if (shape.rank() > kMaxRank)
        throw Error(ErrorCode::unsupported, fmt::format("the tensor has {} dimensions, but kernels support "
                                                        "at most {}; merge some of them with Reshape",
                                                        shape.rank(), kMaxRank));
}

bool isDense(const TensorView& view) noexcept {
    std::int64_t step = 1;
    bool dense = true;
    for (int axis = view.shape.rank() - 1; axis >= 0; --axis) {
        const std::int64_t size = view.shape[axis];
        if (size == 0) return true;
        if (size != 1 && view.strides[static_cast<std::size_t>(axis)] != step) dense = false;
        step *= size;
    }
    return dense;
}

TensorView channelsMovedLast(TensorView view) {
    std::vector<std::int64_t> sizes = view.shape.dims();
    std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
    view.shape = Shape(std::move(sizes));
    std::rotate(view.strides.begin() + 1, view.strides.begin() + 2, view.strides.end());
    return view;
}

TensorView asOneMatrix(const TensorView& stack) {
    const int rank = stack.shape.rank();
    std::int64_t rows = 1; // not by a division, because the last axis may have size 0
    for (int axis = 0; axis < rank - 1; ++axis) rows *= stack.shape[axis];
    const Shape shape{rows, stack.shape[rank - 1]};
    return {stack.data, stack.dtype, shape, denseStrides(shape)};
}

bool isChannelsLast(const TensorView& view) noexcept {
    if (view.shape.rank() < 2) return false;
    const auto lies = [&](int axis, std::int64_t step) {
        return view.shape[axis] == 1 || view.strides[static_cast<std::size_t>(axis)] == step;
    };
    std::int64_t step = view.shape[1];
    bool last = lies(1, 1);
    for (int axis = view.shape.rank() - 1; axis >= 0; --axis) {
        if (axis == 1) continue;
        last = last && lies(axis, step);
        step *= view.shape[axis];
    }
    return last || step == 0;
}

namespace {

/// Copies 4 × 4 elements: element (r, c) is from[r + c · fromStride] and to[r · toStride + c].
template <class T> void copyFourByFour(const T* from, std::int64_t fromStride, T* to, std::int64_t toStride) {
    if constexpr (sizeof(T) == 4) {
        using Four = std::uint32_t __attribute__((vector_size(16)));
        Four column[4];
        for (int c = 0; c < 4; ++c) std::memcpy(&column[c], from + c * fromStride, sizeof(Four));
        const Four a = __builtin_shufflevector(column[0], column[1], 0, 4, 1, 5);
        const Four b = __builtin_shufflevector(column[2], column[3], 0, 4, 1, 5);
        const Four c = __builtin_shufflevector(column[0], column[1], 2, 6, 3, 7);
        const Four d = __builtin_shufflevector(column[2], column[3], 2, 6, 3, 7);
        const Four row[4] = {
            __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
            __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
        for (int r = 0; r < 4; ++r) std::memcpy(to + r * toStride, &row[r], sizeof(Four));
    } else {
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 4; ++c) to[r * toStride + c] = from[r + c * fromStride];
    }
}

/// Copies a matrix with dense columns in `from` to dense rows in `to`, in tiles, so that both sides use whole
/// cache lines.
template <class T>
void copyTransposed(const T* from, std::int64_t fromStride, T* to, std::int64_t toStride, std::int64_t rows,
                    std::int64_t columns) {
    constexpr std::int64_t tile = 32;
    const std::int64_t tilesAcross = (columns + tile - 1) / tile;
    const std::int64_t tiles = (rows + tile - 1) / tile * tilesAcross;
    parallelRanges(tiles, rows * columns, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t row0 = t / tilesAcross * tile;
            const std::int64_t column0 = t % tilesAcross * tile;
            const std::int64_t rowEnd = std::min(rows, row0 + tile);
            const std::int64_t columnEnd = std::min(columns, column0 + tile);
            const std::int64_t rowFours = row0 + (rowEnd - row0) / 4 * 4;
            const std::int64_t columnFours = column0 + (columnEnd - column0) / 4 * 4;
            for (std::int64_t r = row0; r < rowFours; r += 4)
                for (std::int64_t c = column0; c < columnFours; c += 4)
                    copyFourByFour(from + r + c * fromStride, fromStride, to + r * toStride + c, toStride);
            for (std::int64_t r = row0; r < rowEnd; ++r)
                for (std::int64_t c = r < rowFours ? columnFours : column0; c < columnEnd; ++c)
                    to[r * toStride + c] = from[r + c * fromStride];
        }
    });
}

template <std::size_t Bytes> void copyStrided(const TensorView& from, const TensorView& to) {
    using T = Opaque<Bytes>;
    const T* const source = from.as<const T>();
    T* const target = to.as<T>();
    // Swapping the last two axes is worth the tiles; the axes before them are few.
    const int rank = from.shape.rank();
    if (rank >= 2) {
        const auto i = static_cast<std::size_t>(rank - 2);
        if (from.strides[i] == 1 && to.strides[i + 1] == 1 && from.shape[rank - 2] > 4 &&
            from.shape[rank - 1] > 4) {
            const TensorView outerFrom{
                from.data, from.dtype,
                Shape(std::vector<std::int64_t>(from.shape.begin(), from.shape.end() - 2)),
                Strides(from.strides.begin(), from.strides.end() - 2)};
            const TensorView outerTo{to.data, to.dtype, outerFrom.shape,
                                     Strides(to.strides.begin(), to.strides.end() - 2)};
            const StridedLoop<2> outer(outerFrom.shape, {&outerFrom, &outerTo});
            outer.rows(0, outer.total(), [&](const auto& offsets, std::int64_t count) {
                for (std::int64_t n = 0; n < count; ++n)
                    copyTransposed(source + offsets[0] + n * outer.innerStride(0), from.strides[i + 1],
                                   target + offsets[1] + n * outer.innerStride(1), to.strides[i],
                                   from.shape[rank - 2], from.shape[rank - 1]);
            });
            return;
        }
    }
    const StridedLoop<2> loop(to.shape, {&from, &to});
    const std::int64_t fromStep = loop.innerStride(0);
    const std::int64_t toStep = loop.innerStride(1);
    parallelRanges(loop.total(), loop.total(), 1, [&](std::int64_t begin, std::int64_t end) {
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            const T* in = source + offsets[0];
            T* out = target + offsets[1];
            if (fromStep == 1 && toStep == 1) {
                std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(T));
                return;
            }
            for (std::int64_t i = 0; i < count; ++i) out[i * toStep] = in[i * fromStep];
        });
    });
}

/// The axes of `view` in memory order, outermost first; empty if they are in that order already.
std::vector<int> axesAsTheyLie(const TensorView& view) {
    const auto step = [&](int axis) { return std::abs(view.strides[static_cast<std::size_t>(axis)]); };
    std::vector<int> axes;
    for (int axis = 0; axis < view.shape.rank(); ++axis)
        if (view.shape[axis] != 1) axes.push_back(axis);
    const auto wider = [&](int a, int b) { return step(a) > step(b); };
    if (std::is_sorted(axes.begin(), axes.end(), wider)) return {};
    std::stable_sort(axes.begin(), axes.end(), wider);
    return axes;
}

/// Merges neighbouring axes over which both views step evenly, and drops those of size 1. Both have one
/// shape.
void mergeAxes(TensorView& a, TensorView& b) {
    std::vector<std::int64_t> sizes;
    Strides stepsA;
    Strides stepsB;
    for (int axis = 0; axis < a.shape.rank(); ++axis) {
        const std::int64_t size = a.shape[axis];
        const std::int64_t stepA = a.strides[static_cast<std::size_t>(axis)];
        const std::int64_t stepB = b.strides[static_cast<std::size_t>(axis)];
        if (size == 1) continue;
        if (!sizes.empty() && stepsA.back() == size * stepA && stepsB.back() == size * stepB) {
            sizes.back() *= size;
            stepsA.back() = stepA;
            stepsB.back() = stepB;
            continue;
        }
        sizes.push_back(size);
        stepsA.push_back(stepA);
        stepsB.push_back(stepB);
    }
    a.shape = b.shape = Shape(std::move(sizes));
    a.strides = std::move(stepsA);
    b.strides = std::move(stepsB);
}

/// `view` with these axes, in this order; the others have size 1.
TensorView withAxes(const TensorView& view, const std::vector<int>& axes) {
    TensorView out{view.data, view.dtype, {}, {}};
    std::vector<std::int64_t> sizes;
    for (int axis : axes) {
        sizes.push_back(view.shape[axis]);
        out.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
    }
    out.shape = Shape(std::move(sizes));
    return out;
}

} // namespace

void copyElements(const TensorView& from, const TensorView& to) {
    if (to.elementCount() == 0 || (from.data == to.data && from.strides == to.strides)) return;
    if (isPacked(to.dtype)) {
        if (!isDense(from) || !isDense(to) || from.shape.elementCount() != to.shape.elementCount())
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("a tensor of {} can only be copied as a whole", name(to.dtype)));
        std::memcpy(to.data, from.data, static_cast<std::size_t>(to.shape.byteCount(to.dtype)));
        return;
    }
    // Loops in the target's memory order, so that whole cache lines are written.
    if (const std::vector<int> axes = axesAsTheyLie(to); !axes.empty())
        return copyElements(withAxes(from, axes), withAxes(to, axes));
    TensorView source = from;
    TensorView target = to;
    if (source.shape == target.shape) mergeAxes(source, target);
    switch (sizeOf(to.dtype)) {
    case 1:
        return copyStrided<1>(source, target);
    case 2:
        return copyStrided<2>(source, target);
    case 4:
        return copyStrided<4>(source, target);
    default:
        return copyStrided<8>(source, target);
    }
}

} // namespace twb
