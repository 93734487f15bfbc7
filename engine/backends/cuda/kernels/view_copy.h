#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

namespace twb::cuda {

/// Copies elements of one dtype between views of device memory; `from` broadcasts to the shape of `to`.
void copyView(Queue& queue, const TensorView& from, const TensorView& to);

/// The elements of a view in row-major order: in place, or in a copy if the view has gaps, repeats or
/// negative strides. Empty for a view without data.
class DenseView {
public:
    DenseView(Queue& queue, const TensorView& given);
    explicit operator bool() const noexcept { return m_view.data != nullptr; }
    const TensorView& view() const noexcept { return m_view; }
    const Shape& shape() const noexcept { return m_view.shape; }
    template <class T> const T* as() const noexcept { return m_view.as<const T>(); }

private:
    Scratch m_copy;
    TensorView m_view;
};

} // namespace twb::cuda
