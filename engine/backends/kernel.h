#pragma once

#include "core/attributes.h"
#include "core/tensor.h"
#include "core/tensor_files.h"

#include <span>

namespace twb {

/// What a kernel may touch. Inputs that the graph leaves unconnected have data == nullptr. Outputs are
/// dense. `attributes` is complete: defaults are filled in.
struct KernelContext {
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes& attributes;
    const TensorFiles* files = nullptr; ///< for File and Save
};

/// A kernel for memory that the CPU can reach. Throws twb::Error; never touches memory outside its views.
using HostKernel = void (*)(const KernelContext&);

} // namespace twb
