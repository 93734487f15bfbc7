#pragma once

#include "backends/backend.h"
#include "backends/rank_device.h" // a Backend may be one

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// A kernel for GPUs that is not in the CUDA plugin. The tensors of the context are in the memory of the
/// thread's current GPU, dense, row-major and aligned to 64 bytes; only an unconnected input has no data.
/// Submits its work to `stream`, a cudaStream_t, and returns. Throws Error.
using OutsideCudaKernel = void (*)(const KernelContext& context, void* stream);

/// The GPUs of this machine, or the reason why there are none.
struct CudaDevices {
    std::vector<std::shared_ptr<Backend>> backends; ///< by index: cuda:0, cuda:1, …
    std::string problem;                            ///< a clause without a full stop; empty if there are GPUs
    /// Gives an op of the op table a kernel on all of them. Null if there is no plugin.
    void (*addKernel)(const char* op, OutsideCudaKernel kernel) = nullptr;
};

/// Loads the plugin at the first call; it stays loaded. Programs that do not ask for a GPU do not load it,
/// and without a driver it is not opened. The file is $TWB_CUDA_PLUGIN if set ("none": no GPU), else
/// libtwb_cuda.so beside the program, in ../lib or in ../lib/tensor-workbench. Thread-safe.
const CudaDevices& cudaDevices();

/// Gives an op of the op table a kernel on real GPUs, also on those of a plugin that is loaded later.
/// Thread-safe.
void addCudaKernel(const std::string& op, OutsideCudaKernel kernel);

/// The same as cudaDevices() for one file, on every call, with or without a driver.
CudaDevices loadCudaDevices(const std::filesystem::path& plugin);

/// The two exported functions, with C names. C++ types cross between the program and the plugin: those of
/// this file, of backend.h, rank_device.h and all headers that they include. The build hashes these headers
/// (interface_hash.cmake), and a plugin with another hash is refused.
extern "C" {
/// twb_cuda_build: the hash that the plugin was built with, kCudaInterfaceBuild. Called first.
using CudaBuildFunction = const char* (*)();
/// twb_cuda_open: fills its argument. Never throws.
using CudaOpenFunction = void (*)(CudaDevices* devices);
}

} // namespace twb
