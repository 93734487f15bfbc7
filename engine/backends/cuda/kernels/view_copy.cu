#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"

namespace twb::cuda {
namespace {

std::size_t bytesToCopy(const TensorView& view) {
    return !view.data || isDense(view) ? 0 : static_cast<std::size_t>(view.shape.byteCount(view.dtype));
}

} // namespace

void copyView(Queue& queue, const TensorView& from, const TensorView& to) {
    if (from.data == to.data && from.strides == to.strides && from.shape == to.shape) return;
    withBits(to.dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(queue, from, to, element::Same{});
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
