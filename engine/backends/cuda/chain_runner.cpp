#include "backends/cuda/chain_runner.h"

#include "backends/cuda/kernels/chain_members.h"
#include "backends/cuda/kernels/chain_source.h"
#include "core/error.h"

namespace twb::cuda {

std::unique_ptr<KernelState> ChainRunner::prepare(const OpChain& chain, DType dtype) {
    auto prepared = std::make_unique<Prepared>(chain);
    const std::string source = chainSource(chain, dtype);
    const std::scoped_lock lock(m_mutex);
    void*& kernel = m_kernels[source];
    if (!kernel && m_problem.empty()) {
        try {
            kernel = makeKernel(source);
        } catch (const Error& error) {
            m_problem = error.what();
        }
    }
    prepared->kernel = kernel;
    return prepared;
}

void ChainRunner::run(const KernelState& state, std::span<const TensorView> inputs, const TensorView& out,
                      Queue& queue) {
    if (out.elementCount() == 0) return;
    const auto& prepared = dynamic_cast<const Prepared&>(state);
    if (prepared.kernel)
        launchKernel(prepared, inputs, out, queue);
    else
        runChainMembers(prepared.chain, inputs, out, queue);
}

std::string ChainRunner::problem() const {
    const std::scoped_lock lock(m_mutex);
    return m_problem;
}

} // namespace twb::cuda
