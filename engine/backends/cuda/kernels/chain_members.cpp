#include "backends/cuda/kernels/chain_members.h"

#include "backends/cuda/kernels/kernel_table.h"

#include <array>
#include <memory>
#include <vector>

namespace twb::cuda {

void runChainMembers(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                     Queue& queue) {
    const std::size_t last = chain.members.size() - 1;
    std::vector<std::size_t> lastReaders(chain.members.size(), last);
    for (std::size_t m = 0; m <= last; ++m)
        for (const std::size_t k : chain.members[m].operands)
            if (k >= chain.inputs) lastReaders[k - chain.inputs] = m;
    const auto bytes = static_cast<std::size_t>(out.shape.byteCount(out.dtype));
    std::vector<std::unique_ptr<Scratch>> results(last);
    const auto viewOf = [&](std::size_t m) {
        return m == last ? out
                         : TensorView{results[m]->data(), out.dtype, out.shape, denseStrides(out.shape)};
    };
    for (std::size_t m = 0; m <= last; ++m) {
        const OpChain::Member& member = chain.members[m];
        if (m < last) results[m] = std::make_unique<Scratch>(queue, bytes);
        std::vector<TensorView> operands;
        for (const std::size_t k : member.operands)
            operands.push_back(k < chain.inputs ? inputs[k] : viewOf(k - chain.inputs));
        const std::array outputs{viewOf(m)};
        findKernel(member.op)->run({operands, outputs, member.attributes, nullptr, queue});
        for (const std::size_t k : member.operands)
            if (k >= chain.inputs && lastReaders[k - chain.inputs] == m) results[k - chain.inputs].reset();
    }
}

} // namespace twb::cuda
