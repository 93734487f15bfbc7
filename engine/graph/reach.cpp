#include "graph/reach.h"

namespace twb {

std::unordered_set<NodeId> reach(const Graph& graph, const std::vector<NodeId>& start, Reach way) {
    std::unordered_set<NodeId> seen(start.begin(), start.end());
    std::vector<NodeId> open = start;
    const auto visit = [&](NodeId next) {
        if (seen.insert(next).second) open.push_back(next);
    };
    while (!open.empty()) {
        const NodeId at = open.back();
        open.pop_back();
        if (way != Reach::downstream)
            for (const auto& input : graph.inputs(at))
                if (input) visit(input->node);
        if (way != Reach::upstream)
            for (const Edge& edge : graph.outgoing(at)) visit(edge.to.node);
    }
    return seen;
}

} // namespace twb
