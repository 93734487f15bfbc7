#include "training/fixed_tensors.h"

#include "ops/cast.h"
#include "placement/update_rule.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace twb {
namespace {

/// Ops that keep the elements of input 0; their other inputs are read by the host.
bool keepsElements(std::string_view op) {
    static constexpr std::array<std::string_view, 8> kKeeping{"Cast",    "Flatten", "Identity",  "Reshape",
                                                              "Squeeze", "To",      "Transpose", "Unsqueeze"};
    return std::binary_search(kKeeping.begin(), kKeeping.end(), op);
}

} // namespace

bool FixedTensors::isFixed(PortRef output) const {
    const NodeFacts* facts = m_analysis.find(output.node);
    if (!facts || !facts->op || !facts->fine || output.port != 0 || facts->outputs.empty() ||
        !facts->outputs[0] || !facts->outputs[0]->isKnown())
        return false;
    const std::string_view op = facts->op->name;
    if (facts->op->role == OpRole::source)
        return op != "Input" && op != "Batches" && (op != "File" || m_files) &&
               isConstantSource(m_graph, *facts);
    if (!keepsElements(op) || facts->inputs.empty() || !facts->inputs[0]) return false;
    return std::all_of(facts->inputs.begin(), facts->inputs.end(),
                       [&](const auto& from) { return !from || isFixed(*from); });
}

Tensor FixedTensors::read(PortRef output) const {
    const NodeFacts& facts = *m_analysis.find(output.node);
    std::vector<Tensor> inputs;
    for (const auto& from : facts.inputs) inputs.push_back(from ? read(*from) : Tensor());
    Tensor out = Tensor::onHost(*facts.outputs[0]);
    if (facts.op->name == "To") {
        convertElements(inputs[0].view(), out.view());
        return out;
    }
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input ? input.view() : TensorView{});
    const std::array<TensorView, 1> outputs{out.view()};
    facts.op->kernel({views, outputs, facts.attributes, m_files});
    return out;
}

} // namespace twb
