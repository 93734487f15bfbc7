#pragma once

#include "backends/cuda/kernels/queue.h"
#include "backends/kernel.h"
#include "backends/op_chain.h"
#include "core/tensor.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace twb::cuda {

/// Runs chains of pointwise ops as one kernel each on one GPU: compiled when a chain is first prepared, and
/// kept, for later runs of the program too (code_cache.h).
class ChainRunner {
public:
    /// For a GPU of this compute capability, major × 10 + minor. Null where NVRTC or the driver's own
    /// interface is missing: ops are then launched one by one.
    static std::shared_ptr<ChainRunner> find(int capability);

    /// The chain's kernel for tensors of one dtype, to be kept with the step. It may take seconds where it
    /// has to be compiled. The GPU must be current. Throws Error(failed).
    std::unique_ptr<KernelState> prepare(const OpChain& chain, DType dtype);
    /// Submits what prepare() gave. `inputs` broadcast to `out`, which is dense. Throws Error(failed).
    void run(const KernelState& prepared, std::span<const TensorView> inputs, const TensorView& out,
             Queue& queue);

private:
    explicit ChainRunner(int capability) : m_capability(capability) {}
    void* kernelOf(const std::string& source);

    const int m_capability;
    std::mutex m_mutex;
    std::map<std::string, void*> m_kernels; ///< a CUfunction by source
};

} // namespace twb::cuda
