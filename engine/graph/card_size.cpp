#include "graph/card_size.h"

#include "graph/folding.h"

#include <algorithm>

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

} // namespace twb
