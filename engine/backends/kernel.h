#pragma once

#include "core/attributes.h"
#include "core/tensor.h"
#include "core/tensor_files.h"

#include <cstdint>
#include <memory>
#include <span>

namespace twb {

/// What a kernel has made ready at one launch of a step for those that follow: a primitive, packed weights.
/// Each kernel that keeps something derives its own.
class KernelState {
public:
    virtual ~KernelState() = default;
};

/// Of one step in one run: its launches come one after the other, with the same shapes and layouts.
struct StepMemory {
    std::unique_ptr<KernelState> state; ///< the kernel's own; null until it keeps something
    std::uint64_t constants = 0;        ///< bit i: input i holds the same elements at every launch
    bool isConstant(std::size_t input) const noexcept { return input < 64 && (constants >> input & 1) != 0; }
};

/// What a kernel may touch. Inputs that the graph leaves unconnected have data == nullptr. Outputs are
/// dense and row-major, but for output 0 of an op that may lie channels last (ChannelsLast in ops/op.h).
/// `attributes` is complete: defaults are filled in.
struct KernelContext {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes& attributes;
    const TensorFiles* files = nullptr; ///< for File and Save
    StepMemory* memory = nullptr;       ///< null: nothing can be kept
};

/// A kernel for memory that the CPU can reach. Throws twb::Error; never touches memory outside its views.
using HostKernel = void (*)(const KernelContext&);

} // namespace twb
