#pragma once

#include "backends/cuda/kernels/queue.h"
#include "backends/kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace twb::cuda {

/// What a kernel is given. Views hold device memory, but for inputs that the op table calls host values.
/// Inputs may have any strides; outputs are dense and row-major. An input that the graph leaves unconnected,
/// and an output that nobody asked for, has data == nullptr.
struct KernelCall {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes& attributes; ///< complete
    StepMemory* memory = nullptr;
    Queue& queue;

    /// For the engine's helpers that read attributes and host values.
    KernelContext context() const { return {inputs, outputs, attributes, nullptr, nullptr}; }
    /// Input `i`; without data beyond the connected ones.
    TensorView input(std::size_t i) const { return i < inputs.size() ? inputs[i] : TensorView{}; }
    bool isAsked(std::size_t output) const { return output < outputs.size() && outputs[output].data; }
};

struct Kernel {
    /// Of the dtypes that the op table allows, whether these are served.
    bool (*supports)(std::span<const DType> inputs) = nullptr;
    /// Submits its work to the queue and returns. Throws twb::Error.
    void (*run)(const KernelCall& call) = nullptr;
};

/// The kernel of an op by its name in the op table, null when there is none.
const Kernel* findKernel(std::string_view op);
/// The ops that have kernels, in order of their names.
std::vector<std::string_view> kernelNames();

} // namespace twb::cuda
