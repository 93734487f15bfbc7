#include "training/backward.h"

#include "graph/arrange.h"
#include "graph/unique_names.h"
#include "ops/composition.h"
#include "placement/device_rule.h"
#include "training/unrolled_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace twb {
namespace {

/// The floating-point inputs of a node. Inputs that the host reads, such as shapes, have no gradient and are
/// left out.
std::vector<PortRef> floatsOf(const Analysis& analysis, const NodeFacts& facts) {
    std::vector<PortRef> out;
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        const std::optional<PortRef>& from = facts.inputs[port];
        const std::optional<TensorType>& type = from ? analysis.typeOf(*from) : std::nullopt;
        const bool isHost = facts.op && facts.op->inputAt(static_cast<int>(port)).hostValue;
        if (type && isFloating(type->dtype) && !isHost) out.push_back(*from);
    }
    return out;
}

/// Writes the backward pass, one forward node after the other, from the loss to the parameters.
class Writer final : public GradientContext {
public:
    Writer(DeltaBuilder& builder, const Analysis& analysis, PortRef loss, std::span<const NodeId> parameters,
           FrameId frame, std::optional<PortRef> seed, double share)
        : m_analysis(analysis), m_loss(loss), m_parameters(parameters), m_seed(seed), m_share(share),
          m_bodies(builder.graph()), m_names(builder.graph()), m_builder(builder), m_frame(frame) {}
    std::vector<PortRef> write();

    const Attributes& attributes() const override { return m_facts->attributes; }
    int inputCount() const override {
        return static_cast<int>(m_captured.empty() ? m_facts->inputs.size() : m_captured.size());
    }
    GraphTensor input(int port) override;
    GraphTensor output(int port) override { return tensorAt({m_facts->id, port}); }
    int outputCount() const override { return static_cast<int>(m_facts->outputs.size()); }
    GraphTensor gradient(int port) override;
    bool isWanted(int port) const override;
    void give(int port, GraphTensor gradient) override;
    std::optional<std::vector<std::int64_t>> integers(int port) const override;
    std::optional<std::vector<double>> numbers(int port) const override;
    GraphTensor add(std::string_view op, std::span<const GraphTensor> inputs,
                    const Attributes& attributes) override;
    const TensorType& typeOf(GraphTensor tensor) const override { return m_tensors[tensor.id()].type; }
    [[noreturn]] void refuse(std::string_view why) const override;

private:
    /// A tensor of the forward graph or of the backward pass.
    struct Known {
        PortRef at;
        TensorType type;
    };

    std::vector<const NodeFacts*> nodesOnTheWay();
    void checkLoss() const;
    void checkParameters() const;
    std::optional<PortRef> sourceOf(int port) const;
    GraphTensor seed();
    GraphTensor tensorAt(PortRef at);
    GraphTensor put(std::string_view op, std::span<const GraphTensor> inputs, const Attributes& attributes,
                    LaneId lane);
    const Tensor* hostValue(int port) const;
    const Node& nodeOf(NodeId id) const { return *m_builder.graph().find(id); }
    bool isFloat(PortRef at) const {
        const std::optional<TensorType>& type = m_analysis.typeOf(at);
        return type && isFloating(type->dtype);
    }
    Device deviceOf(NodeId id) const { return m_analysis.find(id)->device; }
    void place();

    const Analysis& m_analysis;
    const PortRef m_loss;
    const std::span<const NodeId> m_parameters;
    const std::optional<PortRef> m_seed;
    const double m_share;
    const Bodies m_bodies;
    UniqueNames m_names;
    DeltaBuilder& m_builder;
    const FrameId m_frame;
    std::vector<NodeId> m_added;
    std::deque<Known> m_tensors;                        ///< references to its types stay valid
    std::map<PortRef, std::uint32_t> m_ids;             ///< of the forward graph's tensors
    std::map<PortRef, std::vector<GraphTensor>> m_sums; ///< by forward output: the summands of its gradient
    std::map<PortRef, GraphTensor> m_gradients;         ///< by forward output
    std::unordered_set<NodeId> m_wanted;                ///< computed from a parameter
    const NodeFacts* m_facts = nullptr;                 ///< of the forward node
    /// Not empty for a control op: its inputs, as its gradient sees them, are the tensors that its bodies
    /// read from outside.
    std::vector<PortRef> m_captured;
};

std::vector<PortRef> Writer::write() {
    checkLoss();
    checkParameters();
    const std::vector<const NodeFacts*> way = nodesOnTheWay();
    std::vector<PortRef> out;
    std::unordered_map<NodeId, PortRef> found;
    for (const NodeFacts* facts : way) {
        m_facts = facts;
        if (facts->id == m_loss.node) m_sums[m_loss].push_back(seed());
        if (std::ranges::find(m_parameters, facts->id) != m_parameters.end()) {
            GraphTensor all = gradient(0);
            if (!all) all = zerosLike(output(0)); // only through ops whose derivative is 0
            found[facts->id] = m_tensors[all.id()].at;
        }
        const Op* op = facts->op;
        const auto isReached = [&](const auto& sum) { return sum.first.node == facts->id; };
        if (!op || op->role == OpRole::source || std::ranges::none_of(m_sums, isReached)) continue;
        if (op->role == OpRole::control) {
            UnrolledBodies unrolled(m_analysis, m_bodies);
            m_captured = unrolled.captured(*facts);
            differentiate(*this, [&](GradientContext& g) { return unrolled.outputs(g, *facts); });
            m_captured.clear();
            continue;
        }
        if (!op->gradient)
            refuse(fmt::format("the op {}",
                               op->noGradient.empty() ? "has no gradient in this version" : op->noGradient));
        op->gradient(*this);
    }
    for (const NodeId parameter : m_parameters) {
        const auto at = found.find(parameter);
        if (at == found.end())
            throw Error(ErrorCode::badGraph,
                        fmt::format("the loss {} does not depend on the parameter {}",
                                    quoted(nodeOf(m_loss.node)), quoted(nodeOf(parameter))));
        out.push_back(at->second);
    }
    place();
    return out;
}

void Writer::checkLoss() const {
    const std::optional<TensorType>& type = m_analysis.typeOf(m_loss);
    const std::string name = quoted(nodeOf(m_loss.node));
    if (!type || !type->isKnown())
        throw Error(ErrorCode::badGraph,
                    fmt::format("the type of the loss {} is not known: fix its problems first", name));
    if (!isFloating(type->dtype) || type->shape.elementCount() != 1)
        throw Error(
            ErrorCode::badGraph,
            fmt::format("the loss {} must be a floating-point scalar, but is {}: reduce it to a scalar, for "
                        "example with ReduceMean",
                        name, type->toString()));
}

void Writer::checkParameters() const {
    for (const NodeId parameter : m_parameters)
        if (const Body* body = m_bodies.around(parameter))
            throw Error(ErrorCode::badGraph,
                        fmt::format("the parameter {} is in a body of {}: move it out of the body",
                                    quoted(nodeOf(parameter)), quoted(nodeOf(body->owner))));
}

/// The gradient of the loss with respect to itself.
GraphTensor Writer::seed() {
    const TensorType& type = *m_analysis.typeOf(m_loss);
    if (!m_seed) return full(*this, type, m_share);
    GraphTensor factor = tensorAt(*m_seed);
    if (deviceOf(m_seed->node) != deviceOf(m_loss.node)) {
        const GraphTensor there[] = {factor};
        factor = put("To", there, {}, nodeOf(m_loss.node).lane);
    }
    const GraphTensor seed = reshape(cast(factor, type.dtype), type.shape);
    return m_share == 1 ? seed : seed * m_share;
}

/// The nodes between the parameters and the loss, each before its inputs. Only floating tensors count.
std::vector<const NodeFacts*> Writer::nodesOnTheWay() {
    std::vector<const NodeFacts*> order;
    for (const NodeFacts& facts : m_analysis.nodes) order.push_back(&facts);
    std::ranges::sort(order, {}, &NodeFacts::rank);
    for (const NodeId parameter : m_parameters) m_wanted.insert(parameter);
    for (const NodeFacts* facts : order)
        for (const PortRef from : floatsOf(m_analysis, *facts))
            if (m_wanted.contains(from.node)) m_wanted.insert(facts->id);
    std::unordered_set<NodeId> upstream{m_loss.node};
    std::vector<const NodeFacts*> out;
    std::ranges::reverse(order);
    for (const NodeFacts* facts : order) {
        if (!upstream.contains(facts->id)) continue;
        for (const PortRef from : floatsOf(m_analysis, *facts)) upstream.insert(from.node);
        if (m_wanted.contains(facts->id)) out.push_back(facts);
    }
    return out;
}

GraphTensor Writer::tensorAt(PortRef at) {
    const auto [known, isNew] = m_ids.try_emplace(at, static_cast<std::uint32_t>(m_tensors.size()));
    if (isNew) {
        const std::optional<TensorType>& type = m_analysis.typeOf(at);
        if (!type || !type->isKnown())
            throw Error(ErrorCode::badGraph,
                        fmt::format("cannot differentiate {}: the sizes of {} are known only at run time",
                                    quoted(nodeOf(m_facts->id)), quoted(nodeOf(at.node))));
        m_tensors.push_back({at, *type});
    }
    return {*this, known->second};
}

/// The tensor at an input of the current node.
std::optional<PortRef> Writer::sourceOf(int port) const {
    const auto p = static_cast<std::size_t>(port);
    if (!m_captured.empty()) return m_captured[p];
    return p < m_facts->inputs.size() ? m_facts->inputs[p] : std::nullopt;
}

GraphTensor Writer::input(int port) {
    const std::optional<PortRef> from = sourceOf(port);
    return from ? tensorAt(*from) : GraphTensor();
}

GraphTensor Writer::gradient(int port) {
    const PortRef at{m_facts->id, port};
    const auto known = m_gradients.find(at);
    if (known != m_gradients.end()) return known->second;
    const auto sum = m_sums.find(at);
    if (sum == m_sums.end()) return {};
    const std::vector<GraphTensor>& summands = sum->second;
    const GraphTensor all = summands.size() == 1 ? summands.front() : add("Sum", summands, {});
    m_gradients[at] = all;
    return all;
}

bool Writer::isWanted(int port) const {
    const std::optional<PortRef> from = sourceOf(port);
    return from && m_wanted.contains(from->node) && isFloat(*from);
}

void Writer::give(int port, GraphTensor gradient) {
    if (!isWanted(port)) return;
    const PortRef from = *sourceOf(port);
    GraphTensor summand = sumTo(gradient, input(port).shape());
    if (deviceOf(from.node) != deviceOf(m_facts->id)) {
        const GraphTensor there[] = {summand};
        summand = put("To", there, {}, nodeOf(from.node).lane);
    }
    m_sums[from].push_back(summand);
}

const Tensor* Writer::hostValue(int port) const {
    const std::optional<PortRef> at = sourceOf(port);
    if (!at) return nullptr;
    const NodeFacts* from = m_analysis.find(at->node);
    if (!from || !from->value)
        refuse(fmt::format("its input {} is known only at run time", m_facts->op->inputAt(port).name));
    return &from->value;
}

std::optional<std::vector<std::int64_t>> Writer::integers(int port) const {
    const std::string& name = m_facts->op->inputAt(port).name;
    const Tensor* value = hostValue(port);
    if (!value) {
        if (!m_facts->attributes.has(name)) return std::nullopt;
        return m_facts->attributes.integers(name);
    }
    return value->toIntegers();
}

std::optional<std::vector<double>> Writer::numbers(int port) const {
    const std::string& name = m_facts->op->inputAt(port).name;
    const Tensor* value = hostValue(port);
    if (!value) {
        if (!m_facts->attributes.has(name)) return std::nullopt;
        return m_facts->attributes.numbers(name);
    }
    std::vector<double> out;
    for (std::int64_t i = 0; i < value->elementCount(); ++i) out.push_back(value->at(i));
    return out;
}

GraphTensor Writer::add(std::string_view op, std::span<const GraphTensor> inputs,
                        const Attributes& attributes) {
    return put(op, inputs, attributes, nodeOf(m_facts->id).lane);
}

GraphTensor Writer::put(std::string_view name, std::span<const GraphTensor> inputs,
                        const Attributes& attributes, LaneId lane) {
    const Op& op = *findOp(name);
    Node node;
    node.op = op.name;
    node.name = m_names.take(nodeOf(m_facts->id).name + " grad");
    node.lane = lane;
    node.frame = m_frame;
    node.forward = m_facts->id;
    node.attributes = attributes;
    node.folded = op.role == OpRole::source;
    const NodeId id = m_builder.addNode(std::move(node));
    m_added.push_back(id);
    std::vector<const TensorType*> types;
    for (std::size_t port = 0; port < inputs.size(); ++port) {
        if (!inputs[port]) {
            types.push_back(nullptr);
            continue;
        }
        const Known& from = m_tensors[inputs[port].id()];
        m_builder.connect({from.at, {id, static_cast<std::int32_t>(port)}});
        types.push_back(&from.type);
    }
    const Attributes complete = completeAttributes(op, attributes);
    std::vector<TensorType> outputs(static_cast<std::size_t>(op.outputCount(complete)));
    InferContext infer(op, complete, types, {}, nullptr, outputs, m_analysis.ranks);
    op.infer(infer);
    const GraphTensor first(*this, static_cast<std::uint32_t>(m_tensors.size()));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        m_tensors.push_back({{id, static_cast<std::int32_t>(i)}, outputs[i]});
    return first;
}

void Writer::refuse(std::string_view why) const {
    throw Error(ErrorCode::badGraph,
                fmt::format("cannot differentiate {}: {}", quoted(nodeOf(m_facts->id)), why));
}

void Writer::place() {
    const Position origin = besideForward(m_builder.graph());
    constexpr int mostPassed = 1500; // the default would take many seconds for an unrolled loop
    for (const Change<Node>& change : arrange(m_builder.graph(), m_added, {origin, mostPassed}).delta.nodes)
        m_builder.change(*change.after);
}

} // namespace

Position besideForward(const Graph& graph) {
    constexpr double distance = 260; // from the left edge of the last card
    Position right;
    bool isFirst = true;
    for (const Node& node : graph.nodes()) {
        if (node.forward != NodeId::none) continue;
        right.x = std::max(right.x, node.position.x + distance);
        right.y = isFirst ? node.position.y : std::min(right.y, node.position.y);
        isFirst = false;
    }
    return right;
}

std::vector<PortRef> addBackward(DeltaBuilder& builder, const Analysis& analysis, PortRef loss,
                                 std::span<const NodeId> parameters, FrameId frame,
                                 std::optional<PortRef> seed, double share) {
    return Writer(builder, analysis, loss, parameters, frame, seed, share).write();
}

/// The nodes on whose floating tensors a node depends, and the node itself.
std::unordered_set<NodeId> upstreamOf(const Analysis& analysis, NodeId node) {
    std::vector<NodeId> open{node};
    std::unordered_set<NodeId> seen{node};
    while (!open.empty()) {
        const NodeFacts* facts = analysis.find(open.back());
        open.pop_back();
        if (!facts) continue;
        for (const PortRef from : floatsOf(analysis, *facts))
            if (seen.insert(from.node).second) open.push_back(from.node);
    }
    return seen;
}

} // namespace twb
