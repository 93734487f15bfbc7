#pragma once

#include "core/attributes.h"
#include "core/tensor.h"
#include "core/tensor_files.h"

#include <cstdint>
#include <memory>
#include <span>

namespace twb {

class World;

/// State that a kernel keeps from one launch of a step to the next, such as a oneDNN primitive or packed
/// weights. Each kernel derives its own type.
class KernelState {
public:
    virtual ~KernelState() = default;
};

/// Memory of one step in one run. Its launches do not overlap and have the same shapes and layouts.
struct StepMemory {
    std::unique_ptr<KernelState> state; ///< the kernel's state; null until it keeps some
    std::uint64_t constants = 0;        ///< bit i: input i holds the same elements at every launch
    bool isConstant(std::size_t input) const noexcept { return input < 64 && (constants >> input & 1) != 0; }
};

/// The arguments of a kernel. An unconnected input has data == nullptr. Outputs are dense and row-major,
/// except output 0 of an op that may be channels-last (ChannelsLast in ops/op.h). `attributes` is complete:
/// defaults are filled in.
struct KernelContext {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes& attributes;
    const TensorFiles* files = nullptr; ///< for File and Save
    StepMemory* memory = nullptr;       ///< null: the kernel keeps no state
    std::int64_t iteration = 0;         ///< RunOptions::firstIteration in the first iteration of a run
    World* world = nullptr;             ///< of the run, for collectives; null: a single rank
    const char* label = "";             ///< the step's, for messages
};

/// A kernel for host memory. Throws twb::Error; never accesses memory outside its views.
using HostKernel = void (*)(const KernelContext&);

} // namespace twb
