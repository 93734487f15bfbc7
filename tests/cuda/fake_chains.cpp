#include "backends/cuda/chain_runner.h"
#include "backends/cuda/kernels/product_chain.h"
#include "core/error.h"
#include "cuda/fake_runtime.h"
#include "ops/op_table.h"

#include <atomic>
#include <utility>
#include <vector>

// In the place of NVRTC and the driver, and of cuBLASLt: a chain's ops run their host kernels, one after the
// other, as one piece of work on the fake's stream.

namespace twb::cuda {
namespace {

std::atomic<int> launchCount{0};
std::atomic<int> preparedCount{0};
std::atomic<int> productCount{0};

struct Prepared final : KernelState {
    explicit Prepared(const OpChain& given) : chain(given) {}
    const OpChain& chain;
};

void runMembers(const OpChain& chain, const std::vector<TensorView>& inputs, const TensorView& out) {
    std::vector<Tensor> results;
    for (std::size_t m = 0; m < chain.members.size(); ++m) {
        const OpChain::Member& member = chain.members[m];
        const bool isLast = m + 1 == chain.members.size();
        results.push_back(isLast ? Tensor() : Tensor::onHost({out.dtype, out.shape}));
        std::vector<TensorView> views;
        for (const std::size_t k : member.operands)
            views.push_back(k < chain.inputs ? inputs[k] : results[k - chain.inputs].view());
        const std::array outputs{isLast ? out : results.back().view()};
        findOp(member.op)->kernel({views, outputs, member.attributes});
    }
}

} // namespace

std::shared_ptr<ChainRunner> ChainRunner::find(int capability) {
    return std::shared_ptr<ChainRunner>(new ChainRunner(capability));
}

std::unique_ptr<KernelState> ChainRunner::prepare(const OpChain& chain, DType) {
    if (test::fake::machine().noCompiler) throw Error(ErrorCode::failed, "the compiler is gone");
    ++preparedCount;
    return std::make_unique<Prepared>(chain);
}

void ChainRunner::run(const KernelState& prepared, std::span<const TensorView> inputs, const TensorView& out,
                      Queue& queue) {
    ++launchCount;
    test::fake::enqueue(static_cast<cudaStream_t>(queue.stream()),
                        [&chain = dynamic_cast<const Prepared&>(prepared).chain,
                         views = std::vector(inputs.begin(), inputs.end()),
                         out] { runMembers(chain, views, out); });
}

void runProductChain(const OpChain& chain, const KernelCall& call) {
    ++productCount;
    test::fake::enqueue(static_cast<cudaStream_t>(call.queue.stream()),
                        [&chain, views = std::vector(call.inputs.begin(), call.inputs.end()),
                         out = call.outputs[0]] { runMembers(chain, views, out); });
}

} // namespace twb::cuda

int twb::test::fake::chainLaunches() { return cuda::launchCount; }
int twb::test::fake::chainsPrepared() { return cuda::preparedCount; }
int twb::test::fake::productLaunches() { return cuda::productCount; }
