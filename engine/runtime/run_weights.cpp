#include "backends/cpu/convolution.h"
#include "core/error.h"
#include "ops/bottleneck.h"
#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

// Weights from files that every reader packs: their memory is freed once they are packed.

namespace twb {
namespace {

/// Bytes. Freeing smaller tensors saves too little memory.
constexpr std::int64_t kLeastBytes = 16384;

/// The inputs that the step's kernel packs.
std::vector<std::size_t> packedInputs(const Step& step) {
    if (!step.op || step.dynamic || step.setup || step.owner != kNone) return {};
    if (step.op->kernel == bottleneckKernel)
        return {BottleneckPorts::weights.begin(), BottleneckPorts::weights.end()};
    const bool isChain = step.chain != nullptr;
    if (isChain && step.chain->kind != OpChain::Kind::product) return {};
    const std::string& op = isChain ? step.chain->members[0].op : step.op->name;
    if (op != "Conv" && op != "MatMul" && op != "Gemm") return {};
    return {isChain ? step.chain->members[0].operands[1] : 1};
}

/// Gives the state of a step that packs input `port` the weights.
void handOver(const Step& step, std::size_t port, const std::shared_ptr<PackedWeights>& weights,
              std::unique_ptr<KernelState>& state) {
    if (step.op->kernel == bottleneckKernel) {
        if (!state) state = std::make_unique<BottleneckState>();
        const auto part =
            std::ranges::find(BottleneckPorts::weights, port) - BottleneckPorts::weights.begin();
        static_cast<BottleneckState&>(*state).weights[static_cast<std::size_t>(part)] = weights;
        return;
    }
    auto product = std::make_unique<ProductState>();
    product->weights = weights;
    state = std::move(product);
}

} // namespace

/// After the setup. Moves weights into the states of the steps that read them.
void RunContext::handOverWeights() {
    std::vector<std::vector<std::uint32_t>> readers(m_plan->values.size());
    std::vector<bool> isPacked(m_plan->values.size(), true);
    for (const Step& step : m_plan->steps) {
        const std::vector<std::size_t> packed = packedInputs(step);
        const bool isHere = m_plan->streams[step.stream].device.isCpu();
        for (std::size_t i = 0; i < step.inputs.size(); ++i) {
            const std::uint32_t v = step.inputs[i];
            if (v == kNone) continue;
            readers[v].push_back(step.index);
            if (!isHere || std::ranges::count(packed, i) == 0 || std::ranges::count(step.inputs, v) != 1)
                isPacked[v] = false;
        }
    }
    for (const Step& source : m_plan->steps) {
        if (!source.setup || !source.op || source.op->name != "File" || m_cached[source.index] ||
            m_guard.state(source.index, 0) != StepState::done)
            continue;
        const std::uint32_t v = source.outputs[0];
        const PlanValue& value = m_plan->values[v];
        if (readers[v].empty() || !isPacked[v] || value.kept || value.isUpdated || value.handedOn ||
            value.ahead || !value.device.isCpu() || m_types[v].dtype != DType::f32 ||
            m_types[v].byteCount() < kLeastBytes)
            continue;
        m_weights[v] =
            std::make_shared<PackedWeights>(tensorOf(v), readers[v].size(), reloading(source.index));
        m_buffers[value.slot] = nullptr;
        for (const std::uint32_t reader : readers[v]) {
            const Step& step = m_plan->steps[reader];
            const auto port =
                static_cast<std::size_t>(std::ranges::find(step.inputs, v) - step.inputs.begin());
            handOver(step, port, m_weights[v], m_slots[reader].memory.state);
        }
    }
}

/// Reads the tensor of a File again.
PackedWeights::Load RunContext::reloading(std::uint32_t source) const {
    const std::string path = m_plan->steps[source].attributes.text("path");
    std::string before = m_plan->files->fingerprint(path);
    return [this, source, path, before = std::move(before)] {
        const Launch& launch = m_slots[source].launch[0];
        if (m_plan->files->fingerprint(path) != before)
            throw Error(ErrorCode::io, fmt::format("\"{}\" has changed since the run began, and its weights "
                                                   "are needed again; start the run again",
                                                   path));
        Tensor again = Tensor::onHost(m_types[m_plan->steps[source].outputs[0]]);
        const std::array outputs{again.view()};
        launch.kernel({launch.inputs, outputs, *launch.attributes, launch.files});
        return again;
    };
}

} // namespace twb
