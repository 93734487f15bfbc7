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

/// Runs each chain of pointwise ops as one kernel on one GPU. A kernel is compiled when its chain is first
/// prepared, and kept for later runs of the program (code_cache.h). If that fails, the ops run one by one.
class ChainRunner {
public:
    /// For a GPU of this compute capability, major × 10 + minor. Null without NVRTC or the driver API; then
    /// no chains are formed.
    static std::shared_ptr<ChainRunner> find(int capability);

    /// Returns the kernel of `chain` for tensors of one dtype; `chain` must outlive it. Compilation may take
    /// seconds. The GPU must be current.
    std::unique_ptr<KernelState> prepare(const OpChain& chain, DType dtype);
    /// Submits the result of prepare(). `inputs` broadcast to `out`, which is dense. Throws Error(failed).
    void run(const KernelState& state, std::span<const TensorView> inputs, const TensorView& out,
             Queue& queue);
    /// The message of the first failed compilation, after which no further kernel is compiled. Empty if none
    /// failed.
    std::string problem() const;

private:
    /// A chain with its kernel: a CUfunction, null if its ops run one by one.
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
    std::map<std::string, void*>
        m_kernels; ///< by source; null if it failed, or was not tried after a failure
    std::string m_problem;
};

} // namespace twb::cuda
