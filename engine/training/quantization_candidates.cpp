#include "training/quantization_candidates.h"

#include "core/error.h"
#include "ops/op_table.h"
#include "training/quantization.h"
#include "training/training.h"

#include <algorithm>
#include <string>

namespace twb {

CandidateFinder::CandidateFinder(const Graph& graph, const RunSetup& setup)
    : m_graph(graph), m_setup(setup),
      m_analysis(analyze(graph, setup.devices, setup.policy, setup.files.get())), m_bodies(graph),
      m_fixed(graph, m_analysis, setup.files.get()) {
    if (trainingOf(graph)) throw Error(ErrorCode::badGraph, kNeedsNoTraining);
}

std::vector<Candidate> CandidateFinder::find(int& others) const {
    std::vector<const NodeFacts*> order;
    for (const NodeFacts& facts : m_analysis.nodes)
        if (facts.op && !facts.disabled) order.push_back(&facts);
    std::ranges::sort(order, {}, &NodeFacts::rank);
    std::vector<Candidate> out;
    for (const NodeFacts* facts : order) {
        const std::string& op = facts->op->name;
        if (op == "MaxPool" && mayPool(*facts))
            out.push_back({.facts = facts, .kind = Candidate::Kind::pool, .input = *facts->inputs[0]});
        if (op != "Conv" && op != "MatMul" && op != "Gemm") continue;
        if (auto candidate = candidateOf(*facts))
            out.push_back(*candidate);
        else
            ++others;
    }
    return out;
}

const TensorType* CandidateFinder::typeOf(std::optional<PortRef> output) const {
    const auto* type = output ? &m_analysis.typeOf(*output) : nullptr;
    return type && *type ? &**type : nullptr;
}

bool CandidateFinder::isF32(std::optional<PortRef> output) const {
    const TensorType* type = typeOf(output);
    return type && type->dtype == DType::f32;
}

bool CandidateFinder::hasKernel(Device device, const char* name, const std::vector<DType>& dtypes) const {
    const Backend* backend = m_setup.devices.find(device);
    const Op* op = findOp(name);
    return backend && backend->supports(name, op->kernel, dtypes);
}

bool CandidateFinder::mayPool(const NodeFacts& facts) const {
    return facts.fine && facts.inputs[0] && isFree(facts.id) &&
           hasKernel(facts.device, "MaxPool", {DType::u8}) &&
           std::ranges::none_of(m_graph.outgoing(facts.id),
                                [](const Edge& edge) { return edge.from.port != 0; }); // indices
}

std::optional<Candidate> CandidateFinder::candidateOf(const NodeFacts& facts) const {
    const auto input = [&](std::size_t port) {
        return port < facts.inputs.size() ? facts.inputs[port] : std::nullopt;
    };
    Candidate out{.facts = &facts};
    if (!facts.fine || !isFree(facts.id) || !isF32(input(0)) || !isF32(input(1)) || !isFixed(input(1)))
        return std::nullopt;
    out.input = *input(0);
    out.weight = *input(1);
    out.bias = input(2);
    out.output = {facts.id, 0};
    const int rank = typeOf(input(0))->shape.rank();
    const Shape& weight = typeOf(input(1))->shape;
    if (weight.elementCount() == 0) return std::nullopt;
    if (facts.op->name != "Conv") {
        if (rank < 2 || weight.rank() != 2) return std::nullopt;
        if (facts.op->name == "Gemm") {
            if (facts.attributes.flag("transA")) return std::nullopt;
            if (facts.attributes.number("beta") == 0)
                out.bias.reset();
            else if (out.bias && facts.attributes.number("beta") != 1)
                return std::nullopt;
        }
        const bool has = hasKernel(facts.device, "MatMulInteger", {DType::u8, DType::i8, DType::u8}) &&
                         hasKernel(facts.device, "DequantizeLinear", {DType::i32, DType::f32}) &&
                         hasKernel(facts.device, "QuantizeLinear", {DType::f32, DType::f32, DType::u8});
        return has ? std::optional(out) : std::nullopt;
    }
    out.kind = Candidate::Kind::convolution;
    if (out.bias && !isFixed(out.bias)) return std::nullopt;
    if (!hasKernel(facts.device, "QLinearConv",
                   {DType::u8, DType::f32, DType::u8, DType::i8, DType::f32, DType::i8, DType::f32, DType::u8,
                    DType::i32}) ||
        !hasKernel(facts.device, "DequantizeLinear", {DType::u8, DType::f32, DType::u8}))
        return std::nullopt;
    out.bound = boundAfter(facts.id);
    if (out.bound != NodeId::none) out.output = {out.bound, 0};
    return out;
}

/// The only consumer of a convolution, if it is a Relu or a Clip from 0 on the same lane.
NodeId CandidateFinder::boundAfter(NodeId convolution) const {
    const std::vector<Edge>& readers = m_graph.outgoing(convolution);
    if (readers.size() != 1) return NodeId::none;
    const NodeFacts* facts = m_analysis.find(readers[0].to.node);
    const Node& node = *m_graph.find(readers[0].to.node);
    if (!facts || !facts->op || !facts->fine || facts->disabled || readers[0].to.port != 0 ||
        node.lane != m_graph.find(convolution)->lane || !isFree(node.id))
        return NodeId::none;
    if (node.op == "Relu") return node.id;
    if (node.op != "Clip") return NodeId::none;
    const auto most = facts->inputs.size() > 2 ? facts->inputs[2] : std::nullopt;
    if (most && !isFixed(most)) return NodeId::none; // it may be lower than in the samples
    const auto least = facts->inputs.size() > 1 ? facts->inputs[1] : std::nullopt;
    const bool isFromZero = least ? isFixed(least) && m_fixed.read(*least).at(0) == 0
                                  : facts->attributes.has("min") && facts->attributes.number("min") == 0;
    return isFromZero ? node.id : NodeId::none;
}

} // namespace twb
