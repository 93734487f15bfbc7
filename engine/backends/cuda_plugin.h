#pragma once

#include "backends/backend.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// Version of the interface between the programs and libtwb_cuda.so: this file, backend.h and the files that
/// they include. Raised with every change, so that a plugin of another build is refused.
inline constexpr int kCudaPluginInterface = 4;

/// The GPUs of this machine, or the reason why there are none.
struct CudaDevices {
    std::vector<std::shared_ptr<Backend>> backends; ///< by index: cuda:0, cuda:1, …
    std::string problem;                            ///< a clause without a full stop; empty if there are GPUs
};

/// Loads the plugin at the first call; it stays loaded. Programs that do not ask for a GPU do not load it,
/// and without a driver it is not opened. The file is $TWB_CUDA_PLUGIN if set ("none": no GPU), else
/// libtwb_cuda.so beside the program or in ../lib. Thread-safe.
const CudaDevices& cudaDevices();

/// The same for one file, on every call, with or without a driver.
CudaDevices loadCudaDevices(const std::filesystem::path& plugin);

/// The two exported functions, with C names.
extern "C" {
/// twb_cuda_interface: the plugin's kCudaPluginInterface. Called first.
using CudaInterfaceFunction = int (*)();
/// twb_cuda_open: fills its argument. Never throws.
using CudaOpenFunction = void (*)(CudaDevices* devices);
}

} // namespace twb
