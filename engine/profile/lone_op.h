#pragma once

#include "backends/backend.h"
#include "ops/op.h"

#include <vector>

namespace twb {

/// One op with its operands in a device's memory, to be launched apart from any graph, as a run would launch
/// it: what is measured by itself. Operands are numbers of either sign, the same each time: products of zeros
/// draw less power, and a GPU that has power to spare clocks higher than it does with a user's numbers.
class LoneOp {
public:
    /// Attributes that are not given have their defaults. Throws Error: no such op, operands that it does not
    /// take, no memory.
    LoneOp(Backend& backend, const char* op, const std::vector<TensorType>& inputs,
           const Attributes& attributes = {});
    LoneOp(const LoneOp&) = delete;
    LoneOp& operator=(const LoneOp&) = delete;

    /// Whether the device has a kernel for `op` with two inputs of `dtype`.
    static bool isSupported(const Backend& backend, const char* op, DType dtype);
    /// Without a guard and without a timing; points into this.
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
