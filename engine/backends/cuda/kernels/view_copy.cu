#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace twb::cuda {
namespace {

std::size_t bytesToCopy(const TensorView& view) {
    return !view.data || isDense(view) ? 0 : static_cast<std::size_t>(view.shape.byteCount(view.dtype));
}

/// Copies between tensors that are dense along different axes: the target along the axis `along`, the source
/// along `across`. A thread transposes one square tile, so that it reads and writes several elements at once;
/// a warp takes 8 tiles along and 4 across.
template <class T> struct Turn {
    static constexpr int B = sizeof(T) == 1 ? 4 : 8 / sizeof(T);
    static constexpr int kAlong = 8 * B;
    static constexpr int kAcross = 4 * B;
    Walk<2> others; ///< all other axes, of the source and of the target
    std::int64_t along, across;
    std::int64_t fromStep; ///< of the source along
    std::int64_t toStep;   ///< of the target across
    Divide warpsAlong, warpsAcross;
    const T* from;
    T* to;

    TWB_HOST_DEVICE void operator()(std::int64_t thread) const {
        const std::int64_t warp = thread / 32;
        const std::int64_t lane = thread % 32;
        const std::int64_t row = warpsAlong(warp);
        const std::int64_t place = warpsAcross(row);
        const std::int64_t a = (warp - row * warpsAlong.divisor()) * kAlong + lane / 4 * B;
        const std::int64_t c = (row - place * warpsAcross.divisor()) * kAcross + lane % 4 * B;
        if (a >= along || c >= across) return;
        const auto at = others.at(place);
        const T* const in = from + at[0] + a * fromStep + c;
        T* const out = to + at[1] + c * toStep + a;
        if (a + B > along || c + B > across) {
            TWB_ROLLED
            for (std::int64_t i = 0; i < B && a + i < along; ++i) {
                TWB_ROLLED
                for (std::int64_t k = 0; k < B && c + k < across; ++k)
                    out[k * toStep + i] = in[i * fromStep + k];
            }
            return;
        }
        Pack<T, B> square[B];
        if (fromStep % B == 0 && isPackAligned<T, B>(in)) {
            for (int i = 0; i < B; ++i) square[i] = *reinterpret_cast<const Pack<T, B>*>(in + i * fromStep);
        } else {
            for (int i = 0; i < B; ++i)
                for (int k = 0; k < B; ++k) square[i].values[k] = in[i * fromStep + k];
        }
        Pack<T, B> turned[B];
        for (int k = 0; k < B; ++k)
            for (int i = 0; i < B; ++i) turned[k].values[i] = square[i].values[k];
        if (toStep % B == 0 && isPackAligned<T, B>(out)) {
            // Stored as one word, since the compiler would emit single stores for the elements of a pack.
            using Word = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>;
            for (int k = 0; k < B; ++k)
                *reinterpret_cast<Word*>(out + k * toStep) = std::bit_cast<Word>(turned[k]);
        } else {
            for (int k = 0; k < B; ++k)
                for (int i = 0; i < B; ++i) out[k * toStep + i] = turned[k].values[i];
        }
    }
};

/// The axis along which tensor `k` is dense; -1 when there is none.
int denseAxis(const Walk<2>& walk, std::size_t k) {
    for (int axis = walk.rank - 1; axis >= 0; --axis)
        if (walk.strides[static_cast<std::size_t>(axis)][k] == 1) return axis;
    return -1;
}

/// Copies by Turn. Returns false and does nothing if both sides are dense along the same axis, the source is
/// broadcast, or tiles would be mostly empty.
template <class T> bool turn(Queue& queue, const TensorView& from, const TensorView& to) {
    using Each = Turn<T>;
    const Walk<2> walk = walkOf<2>(to.shape, {&from, &to});
    const int across = denseAxis(walk, 0);
    const int along = denseAxis(walk, 1);
    if (across < 0 || along < 0 || across == along) return false;
    const auto a = static_cast<std::size_t>(along);
    const auto c = static_cast<std::size_t>(across);
    if (walk.strides[a][0] <= 1 || walk.sizes[a] < Each::kAcross || walk.sizes[c] < Each::kAcross)
        return false;
    Walk<2> others;
    others.isSmall = walk.isSmall;
    others.total = 1;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(walk.rank); ++axis) {
        if (axis == a || axis == c) continue;
        const auto next = static_cast<std::size_t>(others.rank++);
        others.total *= walk.sizes[axis];
        others.sizes[next] = walk.sizes[axis];
        others.divide[next] = walk.divide[axis];
        others.strides[next] = walk.strides[axis];
    }
    const std::int64_t warpsAlong = (walk.sizes[a] + Each::kAlong - 1) / Each::kAlong;
    const std::int64_t warpsAcross = (walk.sizes[c] + Each::kAcross - 1) / Each::kAcross;
    const std::int64_t warps = others.total * warpsAcross * warpsAlong;
    forEach(queue, warps * 32,
            Each{others, walk.sizes[a], walk.sizes[c], walk.strides[a][0], walk.strides[c][1],
                 Divide(warpsAlong, warps), Divide(warpsAcross, warps), from.as<const T>(), to.as<T>()});
    return true;
}

} // namespace

void copyView(Queue& queue, const TensorView& from, const TensorView& to) {
    if (from.data == to.data && from.strides == to.strides && from.shape == to.shape) return;
    if (isPacked(to.dtype)) { // always dense, so its bytes are copied
        const Shape bytes{to.shape.byteCount(to.dtype)};
        return copyView(queue, {from.data, DType::u8, bytes, {1}}, {to.data, DType::u8, bytes, {1}});
    }
    withBits(to.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (!turn<T>(queue, from, to)) mapElements<T, T>(queue, from, to, element::Same{});
    });
}

DenseView::DenseView(Queue& queue, const TensorView& given)
    : m_copy(queue, bytesToCopy(given)), m_view(given) {
    if (!given.data) return;
    m_view.strides = denseStrides(given.shape);
    if (isDense(given)) return;
    m_view.data = m_copy.data();
    copyView(queue, given, m_view);
}

} // namespace twb::cuda
