#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/kernels/outside.h"
#include "backends/cuda_plugin.h"
#include "cuda_interface_build.h"

#include <exception>

// The exported functions; all other symbols are hidden.

#define TWB_EXPORT extern "C" __attribute__((visibility("default")))

TWB_EXPORT const char* twb_cuda_build() { return twb::kCudaInterfaceBuild; }

TWB_EXPORT void twb_cuda_open(twb::CudaDevices* devices) {
    try {
        devices->addKernel = twb::cuda::addOutsideKernel;
        devices->backends = twb::cuda::findGpus(devices->problem);
    } catch (const std::exception& error) {
        devices->backends.clear();
        devices->problem = error.what();
    }
}
