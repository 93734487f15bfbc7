#pragma once

#include "backends/backend.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// What crosses between the programs and libtwb_cuda.so: this file, backend.h and what they include. Raised
/// with every change of it, so that a plugin of another build is refused rather than called wrongly.
inline constexpr int kCudaPluginInterface = 4;

/// The GPUs of this machine, or why there are none.
struct CudaDevices {
    std::vector<std::shared_ptr<Backend>> backends; ///< by index: what cuda:0 is, cuda:1, …
    std::string problem;                            ///< a clause without a full stop; empty when there are
};

/// Loads the plugin when first asked, once a process; it stays loaded. Programs that nobody asks for a GPU
/// pay nothing, and where there is no driver the plugin is not even opened. The file is $TWB_CUDA_PLUGIN
/// where that is set ("none": there is no GPU, without a look), else libtwb_cuda.so beside the program or in
/// ../lib. Thread-safe.
const CudaDevices& cudaDevices();

/// The same for one file, every time anew and whether there is a driver or not.
CudaDevices loadCudaDevices(const std::filesystem::path& plugin);

/// The two functions that the plugin exports, in C's names.
extern "C" {
/// twb_cuda_interface: kCudaPluginInterface as the plugin was built with. Called first.
using CudaInterfaceFunction = int (*)();
/// twb_cuda_open: fills in what it is given. Never throws.
using CudaOpenFunction = void (*)(CudaDevices* devices);
}

} // namespace twb
