#pragma once

#include "backends/cuda/kernels/kernel_table.h"
#include "backends/cuda_plugin.h"

#include <string_view>

namespace twb::cuda {

/// Kernels of ops from outside: of plug-ins of the program (addCudaKernel). An op of the kernel table keeps
/// its kernel; kernelNames() leaves the others out. Thread-safe.
void addOutsideKernel(const char* op, OutsideCudaKernel kernel);
/// Null if there is none.
const Kernel* findOutsideKernel(std::string_view op);

} // namespace twb::cuda
