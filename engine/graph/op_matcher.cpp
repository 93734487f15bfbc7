#include "graph/op_matcher.h"

#include "core/error.h"
#include "ops/input_errors.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// The largest relative error of rounding to a dtype.
double roundingOf(DType dtype) {
    switch (dtype) {
    case DType::f64:
        return 0x1p-53;
    case DType::f16:
        return 0x1p-11;
    case DType::bf16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

/// Whether both types have one dtype and rank, and no known size differs.
bool fitsType(const TensorType& now, const TensorType& before) {
    if (now.dtype != before.dtype || now.shape.rank() != before.shape.rank()) return false;
    for (int axis = 0; axis < now.shape.rank(); ++axis)
        if (now.shape[axis] != before.shape[axis] && now.shape[axis] != kUnknownDim &&
            before.shape[axis] != kUnknownDim)
            return false;
    return true;
}

} // namespace

std::string nameWithOp(const Node& node, const std::string& op) {
    const std::size_t at = node.name.rfind('/') + 1; // 0 without a slash
    if (node.name.compare(at, node.op.size(), node.op) != 0) return node.name;
    return node.name.substr(0, at) + op + node.name.substr(at + node.op.size());
}

bool OpMatcher::mayReplace(const Node& node) const {
    return !node.disabled && node.breakpoints.empty() && !m_taken.contains(node.id) &&
           !m_bodies.around(node.id);
}

const Node* OpMatcher::find(std::optional<PortRef> output, std::string_view op) const {
    const Node* node = output && output->port == 0 ? m_graph.find(output->node) : nullptr;
    return node && node->op == op && mayReplace(*node) ? node : nullptr;
}

const Node* OpMatcher::onlyReader(const Node& node, std::string_view op) const {
    const std::vector<Edge>& readers = m_graph.outgoing(node.id);
    if (readers.size() != 1 || readers[0].from.port != 0) return nullptr;
    const Node* reader = m_graph.find(readers[0].to.node);
    return reader && reader->op == op && mayReplace(*reader) ? reader : nullptr;
}

std::optional<PortRef> OpMatcher::other(const Node& node, PortRef one) const {
    const auto a = input(node, 0);
    const auto b = input(node, 1);
    if (a == one) return b;
    if (b == one) return a;
    return std::nullopt;
}

std::optional<double> OpMatcher::number(std::optional<PortRef> output) const {
    return output ? m_known.number(*output) : std::nullopt;
}

bool OpMatcher::isNear(double given, double wanted, PortRef like) const {
    const TensorType* of = m_known.type(like);
    return of && std::abs(given - wanted) <= roundingOf(of->dtype) * std::abs(wanted);
}

bool OpMatcher::isNumber(std::optional<PortRef> output, double wanted, PortRef like) const {
    const std::optional<double> given = number(output);
    return given && isNear(*given, wanted, like);
}

const TensorType* OpMatcher::type(std::optional<PortRef> output) const {
    return output ? m_known.type(*output) : nullptr;
}

bool OpMatcher::isClosed(const ComposedOp& found) const {
    const LaneId lane = m_graph.find(found.last)->lane;
    return std::all_of(found.inner.begin(), found.inner.end(), [&](NodeId id) {
        const std::vector<Edge>& readers = m_graph.outgoing(id);
        return !m_taken.contains(id) && m_graph.find(id)->lane == lane &&
               std::all_of(readers.begin(), readers.end(), [&](const Edge& edge) {
                   return edge.to.node == found.last || found.inner.contains(edge.to.node);
               });
    });
}

bool OpMatcher::fits(const ComposedOp& found) const {
    const Op* op = findOp(found.op);
    const TensorType* before = m_known.type({found.last, 0});
    if (!op || !before) return false;
    std::vector<const TensorType*> types;
    for (const TensorType& type : found.types) types.push_back(&type);
    if (!inputErrors(*op, types).empty()) return false;
    try {
        const Attributes attributes = completeAttributes(*op, found.attributes);
        std::vector<TensorType> outputs(static_cast<std::size_t>(op->outputCount(attributes)));
        InferContext context(*op, attributes, types, {}, nullptr, outputs);
        op->infer(context);
        return fitsType(outputs[0], *before);
    } catch (const Error&) {
        return false;
    }
}

bool OpMatcher::replace(const ComposedOp& found) {
    if (!mayReplace(*m_graph.find(found.last)) || !isClosed(found) || !fits(found)) return false;
    Node node = m_rewrite.node(found.last);
    const std::string name = nameWithOp(node, found.op);
    if (name != node.name) node.name = m_names.take(name);
    node.op = found.op;
    node.attributes = found.attributes;
    const std::size_t ports = std::max(found.inputs.size(), m_graph.inputs(found.last).size());
    for (std::size_t port = 0; port < ports; ++port)
        m_rewrite.connect({found.last, static_cast<std::int32_t>(port)},
                          port < found.inputs.size() ? std::optional(found.inputs[port]) : std::nullopt);
    m_rewrite.change(std::move(node));
    m_taken.insert(found.last);
    for (const NodeId id : found.inner) {
        m_taken.insert(id);
        if (id != found.kept) m_rewrite.remove(id);
    }
    ReplacedNodes& count = m_replaced[found.op];
    ++count.times;
    count.nodes += static_cast<int>(found.inner.size()) + (found.kept == NodeId::none ? 1 : 0);
    return true;
}

} // namespace twb
