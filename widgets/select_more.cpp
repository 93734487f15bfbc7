#include "widgets/select_more.h"

#include <string_view>

namespace twb {
namespace {

/// Both ends of a selected edge count.
std::vector<NodeId> startOf(const Selection& selection, Reach way) {
    std::vector<NodeId> start(selection.nodes.begin(), selection.nodes.end());
    if (!selection.edge) return start;
    if (way != Reach::downstream) start.push_back(selection.edge->from.node);
    if (way != Reach::upstream) start.push_back(selection.edge->to.node);
    return start;
}

template <class Wanted> Selection nodesThat(const Graph& graph, Wanted isWanted) {
    Selection out;
    for (const Node& node : graph.nodes())
        if (isWanted(node)) out.nodes.insert(node.id);
    return out;
}

} // namespace

Selection withReach(const Graph& graph, const Selection& selection, Reach way) {
    const auto found = reach(graph, startOf(selection, way), way);
    Selection out;
    out.nodes.insert(found.begin(), found.end());
    return out;
}

Selection withSameOp(const Graph& graph, const Selection& selection) {
    std::set<std::string_view> ops;
    for (const NodeId id : selection.nodes) ops.insert(graph.find(id)->op);
    return nodesThat(graph, [&](const Node& node) { return ops.contains(node.op); });
}

Selection withLanes(const Graph& graph, const Selection& selection) {
    std::set<LaneId> lanes;
    for (const NodeId id : selection.nodes) lanes.insert(graph.find(id)->lane);
    for (const NoteId id : selection.notes) lanes.insert(graph.find(id)->lane);
    return nodesThat(graph, [&](const Node& node) { return lanes.contains(node.lane); });
}

} // namespace twb
