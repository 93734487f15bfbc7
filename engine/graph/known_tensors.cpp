#include "graph/known_tensors.h"

#include "core/error.h"
#include "graph/bodies.h"
#include "graph/unknown_element.h"
#include "ops/input_errors.h"
#include "ops/opaque.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace twb {
namespace {

/// Of all values together; further ones are not computed.
constexpr double kMostComputedBytes = 256e6;
/// Of all computations together: a model must not make its import take long.
constexpr double kMostFlops = 2e9;

template <std::size_t N> bool isAmong(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Sources with the same elements in every run.
bool isFixedSource(const Op& op) {
    static constexpr std::array<std::string_view, 6> kFixed{"Constant", "File", "Zeros",
                                                            "Ones",     "Full", "Arange"};
    return op.role == OpRole::source && isAmong(op.name, kFixed);
}

/// Whether the results are equal for equal inputs.
bool isFunction(const Op& op) {
    return op.role == OpRole::compute && op.kernel && !op.readsIteration && op.updates.empty() &&
           !isOpaque(op) && op.category != "Random" && op.category != "Training" && !op.attribute("path");
}

/// Ops that only move the elements of their data inputs.
bool movesElements(const Op& op) {
    static constexpr std::array<std::string_view, 9> kMoving{
        "Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Reshape", "Identity", "Cast", "Flatten"};
    return isAmong(op.name, kMoving);
}

/// The input holds indices or axes of such an op.
bool isControlInput(const Op& op, int port) { return port > 0 && op.name != "Concat"; }

} // namespace

std::vector<NodeId> topologicalOrder(const Graph& graph) {
    std::unordered_map<NodeId, std::size_t> open; // inputs that were not visited
    std::vector<NodeId> order;
    order.reserve(graph.nodes().size());
    for (const Links& links : graph.links()) {
        const auto count = std::count_if(links.inputs.begin(), links.inputs.end(),
                                         [](const auto& from) { return from.has_value(); });
        if (count == 0)
            order.push_back(links.id);
        else
            open[links.id] = static_cast<std::size_t>(count);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const Edge& edge : graph.outgoing(order[i]))
            if (--open[edge.to.node] == 0) order.push_back(edge.to.node);
    return order;
}

KnownTensors::KnownTensors(const Graph& graph, const TensorFiles* files, const FreeAxes& free)
    : m_graph(graph), m_files(files), m_free(free) {
    const Bodies bodies(graph);
    for (const NodeId id : topologicalOrder(graph))
        if (!bodies.around(id)) learn(*graph.find(id));
}

void KnownTensors::learn(const Node& node) {
    Facts& facts = m_facts[node.id];
    if (node.disabled) return;
    facts.op = findOp(node.op);
    if (!facts.op) return;
    try {
        facts.attributes = completeAttributes(*facts.op, node.attributes);
        facts.sound = true;
    } catch (const Error&) {
        return;
    }
    // The results of a control op, and a tensor that an op updates in place, depend on more than the inputs.
    if (facts.op->role == OpRole::control || facts.op->role == OpRole::state) return;
    inferTypes(node, facts);
    for (const Edge& edge : m_graph.outgoing(node.id)) {
        const Node* reader = m_graph.find(edge.to.node);
        const Op* op = reader ? findOp(reader->op) : nullptr;
        if (op && std::find(op->updates.begin(), op->updates.end(), edge.to.port) != op->updates.end())
            return;
    }
    compute(node, facts);
}

void KnownTensors::inferTypes(const Node& node, Facts& facts) {
    if (auto types = infer(*facts.op, facts.attributes, m_graph.inputs(node.id)))
        facts.types.assign(types->begin(), types->end());
    if (facts.types.empty()) return;
    std::optional<TensorType>& first = facts.types[0];
    if (!first) return;
    if (node.op == "Input")
        for (int axis = 0; axis < first->shape.rank(); ++axis)
            if (m_free.contains({node.id, axis})) first->shape[axis] = kUnknownDim;
    if (node.op == "Batches") // the rows of a batch are a setting
        for (auto& type : facts.types)
            if (type && type->shape.rank() > 0) type->shape[0] = kUnknownDim;
    for (const auto& type : facts.types)
        facts.sizeIds.emplace_back(type ? static_cast<std::size_t>(type->shape.rank()) : 0, 0);
    if (facts.op->role == OpRole::source) {
        for (int axis = 0; axis < first->shape.rank(); ++axis)
            if (first->shape[axis] == kUnknownDim)
                facts.sizeIds[0][static_cast<std::size_t>(axis)] = ++m_sizeIds;
        return;
    }
    identifySizes(node, facts);
}

std::optional<std::vector<TensorType>>
KnownTensors::infer(const Op& op, const Attributes& attributes,
                    const std::vector<std::optional<PortRef>>& inputs) const {
    std::vector<const TensorType*> types;
    std::vector<const Tensor*> values;
    for (std::size_t port = 0; port < inputs.size(); ++port) {
        types.push_back(inputs[port] ? type(*inputs[port]) : nullptr);
        if (inputs[port] && !types.back()) return std::nullopt;
        if (port >= op.inputs.size() && !op.isVariadic()) return std::nullopt;
        const PortSpec& spec = op.inputAt(static_cast<int>(port));
        const bool isRead = inputs[port] && (spec.hostValue || spec.shapesOutput);
        values.push_back(isRead ? value(*inputs[port]) : nullptr);
    }
    if (!inputErrors(op, types).empty()) return std::nullopt;
    try {
        std::vector<TensorType> outputs(static_cast<std::size_t>(op.outputCount(attributes)));
        InferContext context(op, attributes, types, values, m_files, outputs);
        op.infer(context);
        return outputs;
    } catch (const Error&) {
        return std::nullopt; // the graph's check reports it
    }
}

/// Finds out whether output 0 is constant, and computes it, except for a source.
void KnownTensors::compute(const Node& node, Facts& facts) {
    const Op& op = *facts.op;
    if (facts.types.size() != 1 || !facts.types[0]) return;
    const TensorType& type = *facts.types[0];
    if (!type.isKnown()) return;
    try {
        if (type.byteCount() > kMostBytes) return;
    } catch (const Error&) {
        return;
    }
    if (isFixedSource(op)) {
        if (node.op == "File" && !m_files) return;
        facts.isConstant = true;
        if (node.op == "File" || node.op == "Constant")
            facts.storedBytes = static_cast<double>(type.byteCount());
        return;
    }
    if (!isFunction(op) || m_computed > kMostComputedBytes || computeSizes(node, facts)) return;
    std::vector<TensorView> inputs;
    std::vector<TensorType> types;
    for (const auto& from : m_graph.inputs(node.id)) {
        TensorView& view = inputs.emplace_back();
        const TensorType* in = from ? this->type(*from) : nullptr;
        if (from && (!in || !in->isKnown())) return;
        types.push_back(from ? *in : TensorType{DType::f32, Shape{0}});
        if (!from) continue;
        if (op.readsTypesOnly) {
            view = {nullptr, in->dtype, in->shape, denseStrides(in->shape)};
            continue;
        }
        if (!isConstant(*from)) return;
        const Facts& source = *find(from->node);
        if (source.isPartial) return;
        facts.storedBytes += source.storedBytes;
    }
    try {
        const double flops = costOf(op, types, std::span(&type, 1), facts.attributes).flops;
        if (m_flops + flops > kMostFlops) return;
        m_flops += flops;
        if (!op.readsTypesOnly)
            for (std::size_t port = 0; port < inputs.size(); ++port) {
                const auto& from = m_graph.inputs(node.id)[port];
                const Tensor* known = from ? value(*from) : nullptr;
                if (from && !known) return;
                if (known) inputs[port] = known->view();
            }
        Tensor result = Tensor::onHost(type);
        const std::array<TensorView, 1> outputs{result.view()};
        op.kernel({inputs, outputs, facts.attributes, m_files});
        facts.value = std::move(result);
        facts.isConstant = true;
        m_computed += static_cast<double>(type.byteCount());
    } catch (const Error&) {
        facts.isConstant = false; // the run reports it
    }
}

/// Follows lists of sizes of which some elements depend on free axes: the result of Shape, and of ops that
/// only move elements. True if the node is one of them.
bool KnownTensors::computeSizes(const Node& node, Facts& facts) const {
    const Op& op = *facts.op;
    const TensorType& type = *facts.types[0];
    const auto& sources = m_graph.inputs(node.id);
    if (type.dtype != DType::i64 || type.shape.rank() > 1 || sources.empty() || !sources[0]) return false;
    std::vector<TensorView> inputs;
    bool isPartial = false;
    if (op.name == "Shape") {
        const TensorType* in = this->type(*sources[0]);
        if (!in || in->isKnown()) return false;
        Shape marked = in->shape;
        for (int axis = 0; axis < marked.rank(); ++axis)
            if (marked[axis] == kUnknownDim) marked[axis] = kUnknownElement + sizeId(sources[0], axis);
        inputs.push_back({nullptr, in->dtype, marked, {}});
        isPartial = true;
    } else if (movesElements(op)) {
        for (std::size_t port = 0; port < sources.size(); ++port) {
            TensorView& view = inputs.emplace_back();
            if (!sources[port]) continue;
            if (!isConstant(*sources[port])) return false;
            const Facts& source = *find(sources[port]->node);
            if (!source.isPartial) {
                const Tensor* known = value(*sources[port]);
                if (!known) return false;
                view = known->view();
                continue;
            }
            if (isControlInput(op, static_cast<int>(port))) return false;
            isPartial = true;
            view = source.value.view();
        }
    }
    if (!isPartial) return false;
    try {
        Tensor result = Tensor::onHost(type);
        const std::array<TensorView, 1> outputs{result.view()};
        op.kernel({inputs, outputs, facts.attributes, m_files});
        const std::span<const std::int64_t> elements = result.values<std::int64_t>();
        facts.isPartial = std::any_of(elements.begin(), elements.end(), isUnknownElement);
        facts.value = std::move(result);
        facts.isConstant = true;
    } catch (const Error&) {
        facts.isPartial = false; // the run reports it
    }
    return true;
}

const KnownTensors::Facts* KnownTensors::find(NodeId node) const noexcept {
    const auto at = m_facts.find(node);
    return at == m_facts.end() ? nullptr : &at->second;
}

bool KnownTensors::isConstant(PortRef output) const noexcept {
    const Facts* facts = find(output.node);
    return facts && output.port == 0 && facts->isConstant;
}

const Attributes* KnownTensors::attributes(NodeId node) const noexcept {
    const Facts* facts = find(node);
    return facts && facts->sound ? &facts->attributes : nullptr;
}

const TensorType* KnownTensors::type(PortRef output) const noexcept {
    const Facts* facts = find(output.node);
    const auto port = static_cast<std::size_t>(output.port);
    return facts && port < facts->types.size() && facts->types[port] ? &*facts->types[port] : nullptr;
}

const Tensor* KnownTensors::value(PortRef output) const {
    if (!isConstant(output)) return nullptr;
    const Facts& facts = *find(output.node);
    if (facts.isPartial) return nullptr;
    if (!facts.value) {
        try {
            Tensor read = Tensor::onHost(*facts.types[0]);
            const std::array<TensorView, 1> outputs{read.view()};
            facts.op->kernel({{}, outputs, facts.attributes, m_files});
            facts.value = std::move(read);
        } catch (const Error&) {
            return nullptr; // a file that cannot be read
        }
    }
    return &facts.value;
}

std::optional<double> KnownTensors::number(PortRef output) const {
    const TensorType* known = type(output);
    if (!known || !known->isKnown() || known->shape.elementCount() != 1) return std::nullopt;
    const Tensor* tensor = value(output);
    return tensor ? std::optional(tensor->at(0)) : std::nullopt;
}

double KnownTensors::storedBytes(PortRef output) const noexcept {
    const Facts* facts = find(output.node);
    return facts ? facts->storedBytes : 0;
}

} // namespace twb
