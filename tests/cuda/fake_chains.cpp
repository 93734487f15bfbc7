#include "backends/cuda/chain_runner.h"
#include "backends/cuda/kernels/chain_members.h"
#include "backends/cuda/kernels/product_chain.h"
#include "core/error.h"
#include "cuda/fake_runtime.h"
#include "ops/op_table.h"

#include <atomic>
#include <utility>
#include <vector>

// Replaces NVRTC, the driver and cuBLASLt: the ops of a chain run their host kernels in order, as one task of
// the fake stream.

namespace twb::cuda {
namespace {

std::atomic<int> launchCount{0};
std::atomic<int> preparedCount{0};
std::atomic<int> productCount{0};

std::atomic<int> oneByOneCount{0};

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

void enqueueMembers(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                    Queue& queue) {
    test::fake::enqueue(
        static_cast<cudaStream_t>(queue.stream()),
        [&chain, views = std::vector(inputs.begin(), inputs.end()), out] { runMembers(chain, views, out); });
}

} // namespace

std::shared_ptr<ChainRunner> ChainRunner::find(int capability) {
    return std::shared_ptr<ChainRunner>(new ChainRunner(capability));
}

void* ChainRunner::makeKernel(const std::string&) {
    ++preparedCount;
    if (test::fake::machine().noCompiler) throw Error(ErrorCode::failed, "the compiler is gone");
    return &preparedCount;
}

void ChainRunner::launchKernel(const Prepared& prepared, std::span<const TensorView> inputs,
                               const TensorView& out, Queue& queue) {
    ++launchCount;
    enqueueMembers(prepared.chain, inputs, out, queue);
}

void runChainMembers(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                     Queue& queue) {
    ++oneByOneCount;
    enqueueMembers(chain, inputs, out, queue);
}

void runProductChain(const OpChain& chain, const KernelCall& call) {
    ++productCount;
    enqueueMembers(chain, call.inputs, call.outputs[0], call.queue);
}

} // namespace twb::cuda

int twb::test::fake::chainLaunches() { return cuda::launchCount; }
int twb::test::fake::chainsOneByOne() { return cuda::oneByOneCount; }
int twb::test::fake::chainsPrepared() { return cuda::preparedCount; }
int twb::test::fake::productLaunches() { return cuda::productCount; }
