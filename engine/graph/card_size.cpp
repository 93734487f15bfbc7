#include "graph/card_size.h"

#include "graph/folding.h"

#include <algorithm>
#include <set>

namespace twb {

CardSize cardSizeOf(const Graph& graph, const Node& node) {
    if (node.op == "To") return {card::maxWidth, card::pillHeight, card::pillHeight / 2};
    const auto folded = foldedIn(graph, node.id).size();
    const auto& inputs = graph.inputs(node.id);
    std::size_t ports = inputs.size() - std::min(inputs.size(), folded);
    for (const Edge& edge : graph.outgoing(node.id))
        ports = std::max(ports, static_cast<std::size_t>(edge.from.port) + 1);
    const double body = cardHeightFor(static_cast<int>(std::min<std::size_t>(ports, card::mostSpread)));
    const double rows = folded ? card::rowHeight * static_cast<double>(folded) + card::rowsBottom : 0.0;
    return {card::maxWidth, body + rows, body / 2};
}

CardSize cardSizeOfModule(const Graph& graph, const std::vector<NodeId>& nodes) {
    const std::set<NodeId> inside(nodes.begin(), nodes.end());
    std::set<PortRef> inputs;
    std::set<PortRef> outputs;
    for (const NodeId id : nodes) {
        for (const auto& source : graph.inputs(id))
            if (source && !inside.contains(source->node) && !foldedInto(graph, *graph.find(source->node)))
                inputs.insert(*source);
        for (const Edge& edge : graph.outgoing(id))
            if (!inside.contains(edge.to.node)) outputs.insert(edge.from);
    }
    const std::size_t ports = std::max(inputs.size(), outputs.size());
    const double height =
        cardHeightFor(static_cast<int>(std::min<std::size_t>(ports, card::mostSpread))) + card::moduleLine;
    return {card::maxWidth, height, height / 2};
}

} // namespace twb
