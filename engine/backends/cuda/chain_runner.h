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
/// kept, for later runs of the program too (code_cache.h). Where that cannot be, their ops run one by one.
class ChainRunner {
public:
    /// For a GPU of this compute capability, major × 10 + minor. Null where NVRTC or the driver's own
    /// interface is missing: no chains are then made.
    static std::shared_ptr<ChainRunner> find(int capability);

    /// The chain's kernel for tensors of one dtype, to be kept with the step, as long as the chain lives. It
    /// may take seconds where it has to be compiled. The GPU must be current.
    std::unique_ptr<KernelState> prepare(const OpChain& chain, DType dtype);
    /// Submits what prepare() gave. `inputs` broadcast to `out`, which is dense. Throws Error(failed).
    void run(const KernelState& state, std::span<const TensorView> inputs, const TensorView& out,
             Queue& queue);
    /// Why a kernel could not be made: none has been asked for since then. Empty while all could.
    std::string problem() const;

private:
    /// A chain with its kernel: a CUfunction, null when its ops run one by one.
    struct Prepared final : KernelState {
        explicit Prepared(const OpChain& given) : chain(given) {}
        const OpChain& chain;
        void* kernel = nullptr;
    };
    explicit ChainRunner(int capability) : m_capability(capability) {}
    void* makeKernel(const std::string& source);
    void launchKernel(const Prepared& prepared, std::span<const TensorView> inputs, const TensorView& out,
                      Queue& queue);

    const int m_capability;
    mutable std::mutex m_mutex;
    std::map<std::string, void*> m_kernels; ///< by source; null where it could not be made
    std::string m_problem;
};

} // namespace twb::cuda
