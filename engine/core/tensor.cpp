#include "core/tensor.h"

#include "core/error.h"
#include "core/narrow.h"

#include <fmt/format.h>

namespace twb {

Tensor::Tensor(BufferPtr buffer, TensorType type)
    : m_buffer(std::move(buffer)), m_type(std::move(type)), m_strides(denseStrides(m_type.shape)) {}

Tensor::Tensor(BufferPtr buffer, TensorType type, Strides strides, std::int64_t offset)
    : m_buffer(std::move(buffer)), m_type(std::move(type)), m_strides(std::move(strides)), m_offset(offset) {}

Tensor Tensor::onHost(TensorType type) {
    const auto bytes = static_cast<std::size_t>(type.byteCount());
    return {hostAllocator().allocate(bytes, MemoryKind::pageable), std::move(type)};
}

void* Tensor::data() const noexcept {
    if (!m_buffer) return nullptr;
    return static_cast<std::byte*>(m_buffer->data()) + m_offset * bitsOf(m_type.dtype) / 8;
}

void Tensor::checkHostDense(DType wanted) const {
    if (!m_buffer) throw Error(ErrorCode::invalidArgument, "an empty tensor handle has no values");
    if (m_buffer->kind() == MemoryKind::device)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("the tensor lives on {}; copy it to cpu before reading its values",
                                m_buffer->device().toString()));
    if (m_type.dtype != wanted)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("the tensor holds {}, not {}", name(m_type.dtype), name(wanted)));
    if (!view().isDense())
        throw Error(ErrorCode::invalidArgument, "the tensor is not contiguous; make it contiguous first");
}

namespace {
template <class T> double element(const void* data, std::int64_t index) {
    return static_cast<double>(static_cast<const T*>(data)[index]);
}
} // namespace

double Tensor::at(std::int64_t i) const {
    std::int64_t position = 0;
    for (int axis = m_type.shape.rank() - 1; axis >= 0; --axis) {
        position += (i % m_type.shape[axis]) * m_strides[static_cast<std::size_t>(axis)];
        i /= m_type.shape[axis];
    }
    switch (m_type.dtype) {
    case DType::f32:
        return element<float>(data(), position);
    case DType::f64:
        return element<double>(data(), position);
    case DType::i8:
        return element<std::int8_t>(data(), position);
    case DType::i16:
        return element<std::int16_t>(data(), position);
    case DType::i32:
        return element<std::int32_t>(data(), position);
    case DType::i64:
        return element<std::int64_t>(data(), position);
    case DType::u8:
        return element<std::uint8_t>(data(), position);
    case DType::u16:
        return element<std::uint16_t>(data(), position);
    case DType::u32:
        return element<std::uint32_t>(data(), position);
    case DType::u64:
        return element<std::uint64_t>(data(), position);
    case DType::boolean:
        return element<bool>(data(), position);
    case DType::f16:
        return static_cast<float>(static_cast<const Half*>(data())[position]);
    case DType::bf16:
        return static_cast<float>(static_cast<const BFloat16*>(data())[position]);
    default:
        return narrowValue(m_type.dtype, codeAt(m_type.dtype, data(), position));
    }
}

std::vector<std::int64_t> Tensor::toIntegers() const {
    if (holdsFractions(m_type.dtype))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("expected a tensor of integers, not {}", name(m_type.dtype)));
    std::vector<std::int64_t> out(static_cast<std::size_t>(elementCount()));
    if (m_type.dtype == DType::i64) {
        // A conversion through double would change integers above 2^53.
        const auto all = values<std::int64_t>();
        out.assign(all.begin(), all.end());
        return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::int64_t>(at(static_cast<std::int64_t>(i)));
    return out;
}

void throwValueCount(const Shape& shape, std::size_t got) {
    throw Error(ErrorCode::invalidArgument,
                fmt::format("a tensor of shape {} holds {} values, but {} are given", shape.toTorchString(),
                            shape.elementCount(), got));
}

} // namespace twb
