#include "placement/cycle_rule.h"

#include "placement/device_rule.h"
#include "placement/fixes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

namespace twb {

void addCycles(const Graph& graph, const Topology& topology, std::vector<Diagnostic>& diagnostics) {
    for (const auto& cycle : topology.cycles) {
        // Walks inside the component until a node repeats, which gives a simple cycle.
        const auto inside = [&](std::uint32_t node) {
            return std::binary_search(cycle.begin(), cycle.end(), node);
        };
        struct Hop {
            NodeId from;
            std::optional<Edge> edge; ///< empty from a node of a body to the body's owner
        };
        std::vector<Hop> path;
        std::map<std::uint32_t, std::size_t> seen;
        std::uint32_t at = cycle.front();
        while (!seen.contains(at)) {
            seen[at] = path.size();
            const NodeId from = topology.nodes[at]->id;
            const auto& outgoing = graph.outgoing(from);
            const auto next = std::find_if(outgoing.begin(), outgoing.end(), [&](const Edge& edge) {
                return inside(topology.indexOf(edge.to.node));
            });
            if (next == outgoing.end()) {
                path.push_back({from, std::nullopt});
                at = topology.ownerOf(at);
            } else {
                path.push_back({from, *next});
                at = topology.indexOf(next->to.node);
            }
        }
        path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[at]));
        std::vector<std::string> names;
        for (const Hop& hop : path) names.push_back(labelOf(graph, hop.from));
        if (names.size() > 8) names = {names[0], names[1], "…", names.back()};
        names.push_back(labelOf(graph, topology.nodes[at]->id));
        const auto last = std::find_if(path.rbegin(), path.rend(), [](const Hop& hop) { return hop.edge; });
        if (last == path.rend()) {
            diagnostics.push_back(
                makeError("cycle", path.front().from, -1,
                          fmt::format("{} is in a body that it owns: {}; move it out of that frame",
                                      names.front(), fmt::join(names, " -> "))));
            continue;
        }
        Diagnostic d = makeError(
            "cycle", last->from, last->edge->to.port,
            fmt::format("the graph has a cycle: {}; remove one of these edges", fmt::join(names, " -> ")));
        d.edge = last->edge;
        d.fixes.push_back(disconnectFix(graph, *last->edge));
        diagnostics.push_back(std::move(d));
    }
}

} // namespace twb
