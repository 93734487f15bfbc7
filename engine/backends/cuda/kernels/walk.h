#pragma once

#include "backends/cuda/kernels/fast_divide.h"
#include "core/tensor.h"

#include <array>
#include <cstdint>

namespace twb::cuda {

/// Division of a nonnegative number, by multiplication for small numbers.
class Divide {
public:
    Divide() = default;
    /// For numbers below `limit`.
    Divide(std::int64_t divisor, std::int64_t limit)
        : m_divisor(divisor),
          m_isSmall(divisor > 0 && limit < (std::int64_t{1} << 31) && divisor < (std::int64_t{1} << 31)) {
        if (m_isSmall) m_fast = FastDivide(static_cast<std::uint32_t>(divisor));
    }
    TWB_HOST_DEVICE std::int64_t operator()(std::int64_t n) const {
        return m_isSmall ? std::int64_t{m_fast(static_cast<std::uint32_t>(n))} : n / m_divisor;
    }
    TWB_HOST_DEVICE std::int64_t divisor() const { return m_divisor; }

private:
    std::int64_t m_divisor = 1;
    bool m_isSmall = false;
    FastDivide m_fast;
};

/// The limit on axes after neighbouring contiguous axes were merged.
inline constexpr int kMaxWalkAxes = 12;

/// The offsets of element i (row-major) of a shape in N tensors that broadcast to it.
template <int N> struct Walk {
    int rank = 0;
    bool isSmall = true; ///< the shape has fewer than 2^31 elements
    std::int64_t total = 0;
    std::array<std::int64_t, kMaxWalkAxes> sizes{};
    std::array<FastDivide, kMaxWalkAxes> divide{};
    std::array<std::array<std::int64_t, N>, kMaxWalkAxes> strides{};

    using Offsets = std::array<std::int64_t, N>;

    TWB_HOST_DEVICE std::int64_t innerSize() const { return rank == 0 ? 1 : sizes[rank - 1]; }
    TWB_HOST_DEVICE std::int64_t innerStride(int k) const { return rank == 0 ? 0 : strides[rank - 1][k]; }

    TWB_HOST_DEVICE Offsets at(std::int64_t i) const {
        Offsets out{};
        if (isSmall) {
            auto rest = static_cast<std::uint32_t>(i);
            TWB_ROLLED
            for (int axis = rank - 1; axis > 0; --axis) {
                const std::uint32_t next = divide[axis](rest);
                const std::int64_t index = rest - next * static_cast<std::uint32_t>(sizes[axis]);
                for (int k = 0; k < N; ++k) out[k] += index * strides[axis][k];
                rest = next;
            }
            if (rank > 0)
                for (int k = 0; k < N; ++k) out[k] += std::int64_t{rest} * strides[0][k];
        } else {
            std::int64_t rest = i;
            TWB_ROLLED
            for (int axis = rank - 1; axis > 0; --axis) {
                const std::int64_t next = rest / sizes[axis];
                const std::int64_t index = rest - next * sizes[axis];
                for (int k = 0; k < N; ++k) out[k] += index * strides[axis][k];
                rest = next;
            }
            if (rank > 0)
                for (int k = 0; k < N; ++k) out[k] += rest * strides[0][k];
        }
        return out;
    }
};

/// `views` broadcast to `shape`; axes are matched from the last. Throws Error(unsupported) if more than
/// kMaxWalkAxes axes remain.
void fillWalk(const Shape& shape, const TensorView* const* views, int count, int& rank, std::int64_t* sizes,
              std::int64_t* strides);

template <int N> Walk<N> walkOf(const Shape& shape, const std::array<const TensorView*, N>& views) {
    Walk<N> walk;
    walk.total = shape.elementCount();
    walk.isSmall = walk.total < (std::int64_t{1} << 31);
    fillWalk(shape, views.data(), N, walk.rank, walk.sizes.data(), walk.strides[0].data());
    if (walk.isSmall && walk.total > 0)
        for (int axis = 0; axis < walk.rank; ++axis)
            walk.divide[static_cast<std::size_t>(axis)] =
                FastDivide(static_cast<std::uint32_t>(walk.sizes[static_cast<std::size_t>(axis)]));
    return walk;
}

inline Walk<1> walkOf(const TensorView& view) { return walkOf<1>(view.shape, {&view}); }

} // namespace twb::cuda
