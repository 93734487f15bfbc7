#pragma once

#include "core/buffer.h"
#include "core/shape.h"

#include <initializer_list>
#include <span>
#include <vector>

namespace twb {

/// A view of a tensor's memory for kernels; it owns nothing. Strides are in elements and may be 0 (broadcast)
/// or negative; row-major if isDense().
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::f32;
    Shape shape;
    Strides strides;

    std::int64_t elementCount() const { return shape.elementCount(); }
    bool isDense() const { return strides == denseStrides(shape) || shape.elementCount() <= 1; }
    template <class T> T* as() const noexcept { return static_cast<T*>(data); }
};

/// A tensor: its type, its strides and memory that it shares with its views. Copying a Tensor copies the
/// handle, not the elements.
class Tensor {
public:
    Tensor() = default;
    /// A dense tensor that uses all of `buffer`, which must have at least type.byteCount() bytes.
    Tensor(BufferPtr buffer, TensorType type);
    /// A strided view; `offset` in elements from the start of the buffer. Of a packed dtype, it must be dense
    /// and start a byte.
    Tensor(BufferPtr buffer, TensorType type, Strides strides, std::int64_t offset);

    /// A new dense tensor in pageable host memory, uninitialized.
    static Tensor onHost(TensorType type);
    /// A new dense host tensor with these elements. Throws Error(invalidArgument) if their number differs
    /// from the shape's.
    template <class T> static Tensor of(Shape shape, std::span<const T> values);
    template <class T> static Tensor of(Shape shape, std::initializer_list<T> values) {
        return of(std::move(shape), std::span<const T>(values.begin(), values.size()));
    }

    explicit operator bool() const noexcept { return m_buffer != nullptr; }
    DType dtype() const noexcept { return m_type.dtype; }
    const Shape& shape() const noexcept { return m_type.shape; }
    const TensorType& type() const noexcept { return m_type; }
    const Strides& strides() const noexcept { return m_strides; }
    std::int64_t elementCount() const { return m_type.shape.elementCount(); }
    std::int64_t byteCount() const { return m_type.byteCount(); }
    Device device() const noexcept { return m_buffer ? m_buffer->device() : Device::cpu(); }
    MemoryKind memoryKind() const noexcept { return m_buffer ? m_buffer->kind() : MemoryKind::pageable; }
    const BufferPtr& buffer() const noexcept { return m_buffer; }
    void* data() const noexcept;
    TensorView view() const { return {data(), m_type.dtype, m_type.shape, m_strides}; }

    /// The elements of a dense host tensor. Throws Error(invalidArgument) on another dtype, device or layout.
    template <class T> std::span<T> values() const;
    /// Element `i` (row-major) of a host tensor as a double; bool as 0 or 1.
    double at(std::int64_t i) const;
    /// All elements as int64. Throws Error(invalidArgument) for a dtype with
    /// fractions. For small host values.
    std::vector<std::int64_t> toIntegers() const;

private:
    void checkHostDense(DType wanted) const;

    BufferPtr m_buffer;
    TensorType m_type;
    Strides m_strides;
    std::int64_t m_offset = 0;
};

template <class T> std::span<T> Tensor::values() const {
    checkHostDense(DTypeOf<T>::value);
    return {static_cast<T*>(data()), static_cast<std::size_t>(elementCount())};
}

/// Throws Error(invalidArgument): the shape has `wanted` elements, but `got` values are given.
[[noreturn]] void throwValueCount(const Shape& shape, std::size_t got);

template <class T> Tensor Tensor::of(Shape shape, std::span<const T> values) {
    if (static_cast<std::size_t>(shape.elementCount()) != values.size())
        throwValueCount(shape, values.size());
    Tensor tensor = onHost({DTypeOf<T>::value, std::move(shape)});
    T* out = static_cast<T*>(tensor.data());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return tensor;
}

} // namespace twb
