#pragma once

#include "backends/cpu/strided.h"

namespace twb {

/// The elements of a view in row-major order: in place, or in a copy if the view has gaps, repeats or
/// negative strides. Empty for a view without data.
class DenseInput {
public:
    explicit DenseInput(const TensorView& given) : m_view(given) {
        if (!given.data) return;
        if (twb::isDense(given)) {
            m_view.strides = denseStrides(given.shape); // strides of axes of size 1 are arbitrary
            return;
        }
        m_copy = Tensor::onHost({given.dtype, given.shape});
        copyElements(given, m_copy.view());
        m_view = m_copy.view();
    }

    explicit operator bool() const noexcept { return m_view.data != nullptr; }
    const TensorView& view() const noexcept { return m_view; }
    const Shape& shape() const noexcept { return m_view.shape; }
    template <class T> const T* as() const noexcept { return m_view.as<const T>(); }

private:
    TensorView m_view;
    Tensor m_copy;
};

/// Input `port` of a launch; empty if the port is not connected.
inline DenseInput denseInput(std::span<const TensorView> inputs, std::size_t port) {
    return DenseInput(port < inputs.size() ? inputs[port] : TensorView{});
}

} // namespace twb
