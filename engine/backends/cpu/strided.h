#pragma once

#include "core/tensor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace twb {

/// The largest number of axes, as in NumPy; loops use arrays of this size.
inline constexpr int kMaxRank = 64;

/// Throws Error(unsupported) for a shape with more axes than kMaxRank.
void requireRank(const Shape& shape);

/// Raw bytes of an element of any type.
template <std::size_t Bytes> struct alignas(Bytes) Opaque { std::array<std::byte, Bytes> bytes; };

/// Whether the elements are dense and row-major, like TensorView::isDense, but without an allocation.
bool isDense(const TensorView& view) noexcept;
/// Whether the elements are dense with channelsLastStrides(). With one channel, or one position per channel,
/// a view is both.
bool isChannelsLast(const TensorView& view) noexcept;
/// The view with its channels, axis 1, as the last axis, so that a channels-last view is row-major.
TensorView channelsMovedLast(TensorView view);
/// A dense stack of matrices as one tall matrix.
TensorView asOneMatrix(const TensorView& stack);

/// Iterates over N tensors that broadcast to one shape, row-major. Neighbouring axes that are contiguous are
/// merged, so dense tensors of any rank become one row. No allocation.
template <int N> class StridedLoop {
public:
    using Offsets = std::array<std::int64_t, N>;

    /// `views` broadcast to `shape`; axes are matched from the last.
    StridedLoop(const Shape& shape, const std::array<const TensorView*, N>& views)
        : m_total(shape.elementCount()) {
        requireRank(shape);
        for (int axis = 0; axis < shape.rank(); ++axis) {
            Offsets strides;
            for (int k = 0; k < N; ++k) {
                const TensorView& view = *views[static_cast<std::size_t>(k)];
                const int own = axis - (shape.rank() - view.shape.rank());
                const bool repeated = own < 0 || (view.shape[own] == 1 && shape[axis] != 1);
                strides[static_cast<std::size_t>(k)] =
                    repeated ? 0 : view.strides[static_cast<std::size_t>(own)];
            }
            append(shape[axis], strides);
        }
    }

    std::int64_t total() const noexcept { return m_total; }
    /// Step of tensor k along a row, in elements.
    std::int64_t innerStride(int k) const noexcept {
        return m_rank == 0 ? 0 : stridesOf(m_rank - 1)[static_cast<std::size_t>(k)];
    }

    /// Calls row(offsets, count) for the pieces of rows in elements [begin, end); the offsets are those of
    /// each tensor's first element.
    template <class Row> void rows(std::int64_t begin, std::int64_t end, const Row& row) const {
        const std::int64_t inner = m_rank == 0 ? 1 : m_sizes[static_cast<std::size_t>(m_rank - 1)];
        if (begin >= end) return;
        std::array<std::int64_t, kMaxRank> index;
        Offsets offsets{};
        std::int64_t rest = begin / inner;
        std::int64_t at = begin % inner;
        for (int axis = m_rank - 2; axis >= 0; --axis) {
            const auto a = static_cast<std::size_t>(axis);
            index[a] = rest % m_sizes[a];
            rest /= m_sizes[a];
            for (std::size_t k = 0; k < N; ++k) offsets[k] += index[a] * m_strides[a][k];
        }
        while (true) {
            const std::int64_t count = std::min(inner - at, end - begin);
            Offsets first = offsets;
            if (at > 0)
                for (std::size_t k = 0; k < N; ++k) first[k] += at * innerStride(static_cast<int>(k));
            row(first, count);
            begin += count;
            if (begin >= end) return;
            at = 0;
            for (int axis = m_rank - 2; axis >= 0; --axis) {
                const auto a = static_cast<std::size_t>(axis);
                if (++index[a] < m_sizes[a]) {
                    for (std::size_t k = 0; k < N; ++k) offsets[k] += m_strides[a][k];
                    break;
                }
                index[a] = 0;
                for (std::size_t k = 0; k < N; ++k) offsets[k] -= (m_sizes[a] - 1) * m_strides[a][k];
            }
        }
    }

private:
    const Offsets& stridesOf(int axis) const noexcept { return m_strides[static_cast<std::size_t>(axis)]; }

    void append(std::int64_t size, const Offsets& strides) noexcept {
        if (size == 1) return;
        const auto last = static_cast<std::size_t>(m_rank - 1);
        if (m_rank > 0) {
            bool merges = true;
            for (std::size_t k = 0; k < N; ++k) merges = merges && m_strides[last][k] == strides[k] * size;
            if (merges) {
                m_sizes[last] *= size;
                m_strides[last] = strides;
                return;
            }
        }
        m_sizes[static_cast<std::size_t>(m_rank)] = size;
        m_strides[static_cast<std::size_t>(m_rank)] = strides;
        ++m_rank;
    }

    std::int64_t m_total;
    int m_rank = 0;
    // Uninitialized: clearing them would cost more than a small kernel.
    std::array<std::int64_t, kMaxRank> m_sizes;
    std::array<Offsets, kMaxRank> m_strides;
};

/// Copies elements of one dtype between views of one shape. The views may be the same memory, but must not
/// overlap otherwise.
void copyElements(const TensorView& from, const TensorView& to);

} // namespace twb
