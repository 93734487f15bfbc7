#include "profile/lone_op.h"

#include "core/error.h"
#include "ops/op_table.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>

namespace twb {
namespace {

void fillWithZeros(Backend& backend, const Buffer& buffer) {
    const std::vector<std::byte> zeros(std::min(buffer.size(), std::size_t{16} << 20));
    const auto stream = backend.createStream(QueueKind::hostToDevice);
    std::deque<Copy> copies;
    for (std::size_t at = 0; at < buffer.size(); at += zeros.size()) {
        Copy& copy = copies.emplace_back();
        copy.target = static_cast<std::byte*>(buffer.data()) + at;
        copy.source = zeros.data();
        copy.bytes = std::min(zeros.size(), buffer.size() - at);
        stream->copy(copy);
    }
    stream->synchronize();
}

} // namespace

LoneOp::LoneOp(Backend& backend, const char* name, const std::vector<TensorType>& inputs) {
    const Op* op = findOp(name);
    if (!op) throw Error(ErrorCode::unsupported, std::string("there is no op ") + name);
    m_attributes = completeAttributes(*op, {});
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
    fillWithZeros(backend, *m_buffers.back());
    return {m_buffers.back()->data(), type.dtype, type.shape, denseStrides(type.shape)};
}

} // namespace twb
