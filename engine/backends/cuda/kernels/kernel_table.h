#pragma once

#include "backends/cuda/kernels/queue.h"
#include "backends/kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace twb::cuda {

/// The arguments of a kernel. Views are in device memory, except the op table's host values. Inputs may have
/// any strides; outputs are dense and row-major. An unconnected input, or an output without a consumer, has
/// data == nullptr.
struct KernelCall {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes& attributes; ///< complete
    StepMemory* memory = nullptr;
    Queue& queue;
    std::int64_t iteration = 0; ///< KernelContext::iteration

    /// For the engine's helpers that read attributes and host values.
    KernelContext context() const { return {inputs, outputs, attributes, nullptr, nullptr, iteration}; }
    /// Input `i`; without data if it is not connected.
    TensorView input(std::size_t i) const { return i < inputs.size() ? inputs[i] : TensorView{}; }
    bool isAsked(std::size_t output) const { return output < outputs.size() && outputs[output].data; }
};

struct Kernel {
    /// Whether these dtypes, among those that the op table allows, are supported.
    bool (*supports)(std::span<const DType> dtypes) = nullptr;
    /// Submits its work to the queue and returns. Throws twb::Error.
    void (*run)(const KernelCall& call) = nullptr;
};

/// The kernel of an op by its name in the op table; null if there is none.
const Kernel* findKernel(std::string_view op);
/// The ops with kernels, sorted by name.
std::vector<std::string_view> kernelNames();

} // namespace twb::cuda
