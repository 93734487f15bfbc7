#include "profile/lone_op.h"

#include "core/error.h"
#include "ops/dispatch.h"
#include "ops/op_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <type_traits>

namespace twb {
namespace {

constexpr std::size_t kPattern = std::size_t{16} << 20; ///< bytes; the pattern repeats

/// A pattern of numbers of this size in bytes: floats in [-1, 1), integers in [-8, 8), unsigned integers in
/// [0, 16).
std::vector<std::byte> someNumbers(DType dtype, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    std::minstd_rand random(1);
    const auto fill = [&](auto zero, const auto& number) {
        using T = decltype(zero);
        for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
            const T value = number(static_cast<std::uint32_t>(random()));
            std::memcpy(out.data() + at, &value, sizeof(T));
        }
    };
    if (isFloating(dtype))
        withStoredFloat(dtype, [&](auto zero) {
            fill(zero, [](std::uint32_t bits) {
                return decltype(zero)(static_cast<float>(bits % 65536) / 32768.0F - 1.0F);
            });
        });
    else if (isInteger(dtype))
        withInteger(dtype, [&](auto zero) {
            using T = decltype(zero);
            fill(zero, [](std::uint32_t bits) {
                return static_cast<T>(static_cast<int>(bits % 16) - (std::is_signed_v<T> ? 8 : 0));
            });
        });
    return out;
}

void fillWithNumbers(Backend& backend, const Buffer& buffer, DType dtype) {
    const std::vector<std::byte> numbers = someNumbers(dtype, std::min(buffer.size(), kPattern));
    const auto stream = backend.createStream(QueueKind::hostToDevice);
    std::deque<Copy> copies;
    for (std::size_t at = 0; at < buffer.size(); at += numbers.size()) {
        Copy& copy = copies.emplace_back();
        copy.target = static_cast<std::byte*>(buffer.data()) + at;
        copy.source = numbers.data();
        copy.bytes = std::min(numbers.size(), buffer.size() - at);
        stream->copy(copy);
    }
    stream->synchronize();
}

} // namespace

LoneOp::LoneOp(Backend& backend, const char* name, const std::vector<TensorType>& inputs,
               const Attributes& attributes) {
    const Op* op = findOp(name);
    if (!op) throw Error(ErrorCode::unsupported, std::string("there is no op ") + name);
    m_attributes = completeAttributes(*op, attributes);
    std::vector<const TensorType*> types;
    for (const TensorType& type : inputs) types.push_back(&type);
    const std::vector<const Tensor*> values(inputs.size(), nullptr);
    std::vector<TensorType> outputs(1);
    InferContext context(*op, m_attributes, types, values, nullptr, outputs);
    op->infer(context);
    for (const TensorType& type : inputs) m_inputs.push_back(place(backend, type));
    m_outputs.push_back(place(backend, outputs[0]));
    m_launch.op = op->name.c_str();
    m_launch.kernel = op->kernel;
    m_launch.inputs = m_inputs;
    m_launch.outputs = m_outputs;
    m_launch.attributes = &m_attributes;
    m_launch.memory = &m_memory;
    m_launch.cost = costOf(*op, inputs, outputs, m_attributes);
}

bool LoneOp::isSupported(const Backend& backend, const char* name, DType dtype) {
    const Op* op = findOp(name);
    const std::array<DType, 2> dtypes{dtype, dtype};
    return op && backend.supports(name, op->kernel, dtypes);
}

TensorView LoneOp::place(Backend& backend, const TensorType& type) {
    const bool isHost = backend.info().device.isCpu();
    m_buffers.push_back(backend.memory().allocate(static_cast<std::size_t>(type.byteCount()),
                                                  isHost ? MemoryKind::pageable : MemoryKind::device));
    fillWithNumbers(backend, *m_buffers.back(), type.dtype);
    return {m_buffers.back()->data(), type.dtype, type.shape, denseStrides(type.shape)};
}

} // namespace twb
