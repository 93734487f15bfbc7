#include "graph/folding.h"

#include "graph/card_size.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twb {
namespace {

constexpr double kBeside = 64; ///< between a card and its unfolded parameters
constexpr double kBelow = 16;

/// The input of the only consumer. The nodes of a training, which read every parameter, count only if there
/// is no other.
std::optional<PortRef> soleReader(const Graph& graph, NodeId node) {
    std::optional<PortRef> forward;
    const std::vector<Edge>& outgoing = graph.outgoing(node);
    for (const Edge& edge : outgoing) {
        const Node* reader = graph.find(edge.to.node);
        if (outgoing.size() > 1 && reader && reader->forward != NodeId::none) continue;
        if (forward) return std::nullopt;
        forward = edge.to;
    }
    return forward;
}

} // namespace

std::optional<PortRef> foldTarget(const Graph& graph, NodeId node) {
    const std::optional<PortRef> target = soleReader(graph, node);
    if (!target || target->port >= kMostFoldedPorts) return std::nullopt;
    const Node* at = graph.find(node);
    const Op* op = at ? findOp(at->op) : nullptr;
    if (!op || op->role != OpRole::source || op->name == "Input") return std::nullopt;
    for (const auto& input : graph.inputs(node))
        if (input) return std::nullopt; // a source with an input is an error that the user must see
    const Node* reader = graph.find(target->node);
    if (!reader || reader->op == "To" || reader->id == node) return std::nullopt;
    return target;
}

std::optional<PortRef> foldedInto(const Graph& graph, const Node& node) {
    return node.folded ? foldTarget(graph, node.id) : std::nullopt;
}

std::vector<NodeId> foldedIn(const Graph& graph, NodeId reader) {
    std::vector<NodeId> out;
    for (const auto& input : graph.inputs(reader)) {
        const Node* source = input ? graph.find(input->node) : nullptr;
        if (source && foldedInto(graph, *source)) out.push_back(source->id);
    }
    return out;
}

NodeId cardOf(const Graph& graph, NodeId id) {
    const Node* node = graph.find(id);
    const auto into = node ? foldedInto(graph, *node) : std::nullopt;
    return into ? into->node : id;
}

Delta fold(const Graph& graph, const std::vector<NodeId>& nodes) {
    Delta delta;
    std::set<NodeId> all(nodes.begin(), nodes.end());
    for (const NodeId id : nodes)
        for (const auto& input : graph.inputs(id))
            if (input) all.insert(input->node);
    for (const NodeId id : all) {
        const Node* node = graph.find(id);
        if (!node || node->folded || !foldTarget(graph, id)) continue;
        Node after = *node;
        after.folded = true;
        delta.nodes.push_back({*node, std::move(after)});
    }
    if (delta.nodes.size() == 1)
        delta.title = fmt::format("Fold {} into its consumer's card", delta.nodes[0].after->name);
    else
        delta.title = fmt::format("Fold {} parameters into cards", delta.nodes.size());
    return delta;
}

Delta unfold(const Graph& graph, const std::vector<NodeId>& nodes) {
    const std::set<NodeId> named(nodes.begin(), nodes.end());
    std::set<NodeId> readers;
    for (const NodeId id : nodes) readers.insert(cardOf(graph, id));
    Delta delta;
    for (const NodeId reader : readers) {
        const Node* at = graph.find(reader);
        if (!at) continue;
        double y = at->position.y;
        for (const NodeId id : foldedIn(graph, reader)) {
            if (!named.contains(id) && !named.contains(reader)) continue;
            const Node* node = graph.find(id);
            Node after = *node;
            after.folded = false;
            const CardSize size = cardSizeOf(graph, *node);
            after.position = {std::max(8.0, at->position.x - kBeside - size.width),
                              node->lane == at->lane ? y : kBelow};
            y += size.height + kBelow;
            delta.nodes.push_back({*node, std::move(after)});
        }
    }
    if (delta.nodes.size() == 1)
        delta.title = fmt::format("Unfold {} to a card of its own", delta.nodes[0].after->name);
    else
        delta.title = fmt::format("Unfold {} parameters to cards", delta.nodes.size());
    return delta;
}

std::vector<NodeId> withFolded(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::set<NodeId> all(nodes.begin(), nodes.end());
    for (const NodeId id : nodes)
        for (const NodeId folded : foldedIn(graph, id)) all.insert(folded);
    return {all.begin(), all.end()};
}

std::vector<NodeId> movedWith(const Graph& graph, NodeId id, Device device) {
    const Op* op = findOp(graph.find(id)->op);
    std::vector<NodeId> all{id};
    for (const NodeId folded : foldedIn(graph, id)) {
        const bool onHost = op && op->inputAt(foldTarget(graph, folded)->port).hostValue;
        if (!onHost || device.isCpu()) all.push_back(folded);
    }
    return all;
}

void moveToLane(DeltaBuilder& builder, NodeId id, LaneId lane) {
    const Lane* to = builder.graph().find(lane);
    for (const NodeId each : movedWith(builder.graph(), id, to ? to->device : Device::cpu())) {
        Node node = *builder.graph().find(each);
        if (node.lane == lane) continue;
        node.lane = lane;
        builder.change(node);
    }
}

} // namespace twb
