#include "graph/arrange.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/layered_layout.h"

#include <unordered_map>

namespace twb {

Delta arrange(const Graph& graph, const std::vector<NodeId>& nodes, Position origin) {
    std::vector<const Node*> placed;
    std::unordered_map<NodeId, std::size_t> indexOf;
    std::vector<LayoutBox> boxes;
    std::unordered_map<FrameId, int> groups;
    std::vector<int> parents;
    for (const Frame& frame : graph.frames()) groups.emplace(frame.id, static_cast<int>(groups.size()));
    parents.assign(groups.size(), -1);
    for (const Frame& frame : graph.frames()) {
        const auto parent = groups.find(frame.parent);
        if (parent == groups.end()) continue;
        // A frame is not its own parent.
        FrameId up = frame.parent;
        for (std::size_t steps = groups.size(); up != FrameId::none && up != frame.id && steps > 0; --steps)
            up = graph.find(up) ? graph.find(up)->parent : FrameId::none;
        if (up == FrameId::none) parents[static_cast<std::size_t>(groups[frame.id])] = parent->second;
    }
    for (const NodeId id : nodes) {
        const Node* node = graph.find(id);
        if (!node || foldedInto(graph, *node) || !indexOf.emplace(id, placed.size()).second) continue;
        const CardSize size = cardSizeOf(graph, *node);
        const auto group = groups.find(node->frame);
        boxes.push_back({size.width, size.height, size.anchor, group == groups.end() ? -1 : group->second});
        placed.push_back(node);
    }
    std::vector<LayoutLink> links;
    for (std::size_t i = 0; i < placed.size(); ++i)
        for (const Edge& edge : graph.outgoing(placed[i]->id))
            if (const auto to = indexOf.find(edge.to.node); to != indexOf.end() && to->second != i)
                links.push_back({i, to->second});

    const std::vector<Position> places = layeredLayout(boxes, links, parents);
    Delta delta;
    delta.title = "Arrange";
    for (std::size_t i = 0; i < placed.size(); ++i) {
        Node after = *placed[i];
        after.position = {origin.x + places[i].x, origin.y + places[i].y};
        if (after.position != placed[i]->position) delta.nodes.push_back({*placed[i], std::move(after)});
    }
    // The dots belonged to the old positions.
    for (const Route& route : graph.routes()) {
        if (indexOf.contains(graph.sourceOf(route.id)->node) && indexOf.contains(route.id.node))
            delta.routes.push_back({route, std::nullopt});
    }
    return delta;
}

} // namespace twb
