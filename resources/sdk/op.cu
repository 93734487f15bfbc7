/* The kernel of Softclip for NVIDIA GPUs. */
#include "twb_op.h"

#include <cuda_runtime.h>

static __global__ void softclip(const float* x, float* y, int64_t count, float limit) {
    for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
        y[i] = limit * tanhf(x[i] / limit);
}

extern "C" int softclip_cuda(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs, void* stream) {
    int64_t count = 1;
    for (int32_t axis = 0; axis < inputs[0].type.rank; ++axis) count *= inputs[0].type.shape[axis];
    if (count == 0) return 0;
    const int64_t threads = 256, blocks = (count + threads - 1) / threads, most = 65535;
    softclip<<<unsigned(blocks < most ? blocks : most), unsigned(threads), 0, cudaStream_t(stream)>>>(
        static_cast<const float*>(inputs[0].data), static_cast<float*>(outputs[0].data), count,
        float(call->number(call, "limit")));
    const cudaError_t status = cudaGetLastError();
    return status == cudaSuccess ? 0 : call->fail(call, -1, cudaGetErrorString(status));
}
