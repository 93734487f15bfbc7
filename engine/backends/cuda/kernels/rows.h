#pragma once

#include "backends/cpu/reduction.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/walk.h"

#include <cstdint>
#include <cstdlib>

namespace twb::cuda {

/// Rows that are processed as a whole: the elements along some axes for one index of the others, in an input
/// of any layout and a result of its shape. These are the first and the last of the N tensors.
template <class T, class Out = T, int N = 2> struct Rows {
    const T* in;
    Out* out;
    Walk<N> kept, row;

    TWB_HOST_DEVICE std::int64_t length() const { return row.total; }

    struct Row {
        const Rows* all;
        const T* in;
        Out* out;
        TWB_HOST_DEVICE auto at(std::int64_t i) const {
            return widened(in[all->row.rank <= 1 ? i * all->row.innerStride(0) : all->row.at(i)[0]]);
        }
        template <class W> TWB_HOST_DEVICE void set(std::int64_t i, W value) const {
            out[all->row.rank <= 1 ? i * all->row.innerStride(N - 1) : all->row.at(i)[N - 1]] =
                stored<Out>(value);
        }
    };
    TWB_HOST_DEVICE Row operator[](std::int64_t index) const {
        const auto first = kept.at(index);
        return {this, in + first[0], out + first[N - 1]};
    }
};

template <class T>
Rows<T> rowsAlong(const TensorView& in, const TensorView& out, const std::array<bool, kMaxRank>& along) {
    const ReductionView from = splitAxes(in, along);
    const ReductionView to = splitAxes(out, along);
    return {in.as<const T>(), out.as<T>(), walkOf<2>(from.kept.shape, {&from.kept, &to.kept}),
            walkOf<2>(from.reduced.shape, {&from.reduced, &to.reduced})};
}

/// An axis of a view; a scalar counts as having one.
inline std::array<bool, kMaxRank> onlyAxis(std::int64_t axis, int rank) {
    std::array<bool, kMaxRank> along{};
    along[static_cast<std::size_t>(*normalizeAxis(axis, std::max(rank, 1)))] = true;
    return along;
}

/// Whether the elements of a row are apart but those of neighbouring rows are contiguous; then one thread per
/// row is best.
template <class T, class Out, int N> TeamOf teamOf(const Rows<T, Out, N>& rows) {
    const bool isSideBySide = rows.kept.rank > 0 && rows.kept.innerStride(N - 1) == 1 && rows.row.rank > 0 &&
                              std::abs(rows.row.innerStride(N - 1)) > 1 && rows.kept.innerSize() >= 16;
    return isSideBySide ? TeamOf::one : TeamOf::rowLength;
}

} // namespace twb::cuda
