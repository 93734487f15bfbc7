#pragma once

#include "backends/backend.h"
#include "ops/op.h"

#include <vector>

namespace twb {

/// One op with its operands in a device's memory, launched without a graph, for measurements. The operands
/// are fixed numbers of either sign: products of zeros draw less power, so that a GPU would clock higher than
/// with real data.
class LoneOp {
public:
    /// Missing attributes have their defaults. Throws Error if there is no such op, if it does not accept the
    /// operands, or if memory is short.
    LoneOp(Backend& backend, const char* op, const std::vector<TensorType>& inputs,
           const Attributes& attributes = {});
    LoneOp(const LoneOp&) = delete;
    LoneOp& operator=(const LoneOp&) = delete;

    /// Whether the device has a kernel for `op` with two inputs of `dtype`.
    static bool isSupported(const Backend& backend, const char* op, DType dtype);
    /// Has no guard and no timing; points into this object.
    const Launch& launch() const noexcept { return m_launch; }

private:
    TensorView place(Backend& backend, const TensorType& type);

    Attributes m_attributes;
    StepMemory m_memory;
    std::vector<BufferPtr> m_buffers;
    std::vector<TensorView> m_inputs;
    std::vector<TensorView> m_outputs;
    Launch m_launch;
};

} // namespace twb
