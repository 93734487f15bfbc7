#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/tensor.h"

namespace twb::cuda {

/// Copies elements from one dtype to another (see element::cast). `in` broadcasts to `out`.
void convertView(Queue& queue, const TensorView& in, const TensorView& out);

/// `in` as a dense tensor of a dtype: itself, or a copy. Empty for a view without data.
class ConvertedView {
public:
    ConvertedView(Queue& queue, DType dtype, const TensorView& in);
    explicit operator bool() const noexcept { return m_view.data != nullptr; }
    const TensorView& view() const noexcept { return m_view; }
    template <class T> const T* as() const noexcept { return m_view.as<const T>(); }

private:
    Scratch m_copy;
    TensorView m_view;
};

} // namespace twb::cuda
