#include "backends/cuda/kernels/launch.h"
#include "core/error.h"

#include <string>

namespace twb::cuda {

#if defined(__CUDACC__)

void checkLaunch(const Queue& queue) {
    const cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess) return;
    throw Error(ErrorCode::failed, std::string("a kernel of ") + queue.op() +
                                       " could not be launched: " + cudaGetErrorString(status));
}

#endif

} // namespace twb::cuda
