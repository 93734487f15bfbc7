#include "placement/journey.h"

#include <algorithm>
#include <set>

namespace twb {
namespace {

bool isCopy(const NodeFacts* facts) {
    return facts && facts->op && facts->op->role == OpRole::transfer && !facts->inputs.empty() &&
           facts->inputs.front();
}

} // namespace

std::vector<Residence> journeyOf(const Graph& graph, const Analysis& analysis, PortRef output) {
    std::set<NodeId> seen; // a graph with a cycle has no origin
    while (isCopy(analysis.find(output.node)) && seen.insert(output.node).second)
        output = *analysis.find(output.node)->inputs.front();

    const auto inOrder = [&](std::vector<NodeId>& nodes) {
        std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
            const auto x = analysis.index.find(a);
            const auto y = analysis.index.find(b);
            return (x == analysis.index.end() ? 0 : x->second) < (y == analysis.index.end() ? 0 : y->second);
        });
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    };
    std::vector<Residence> out;
    std::vector<PortRef> open{output};
    seen.clear();
    for (std::size_t i = 0; i < open.size(); ++i) {
        const PortRef tensor = open[i];
        const NodeFacts* maker = analysis.find(tensor.node);
        if (!maker) continue;
        std::set<Edge> elsewhere; // edges that an implicit copy serves
        for (const ImplicitCopy& copy : analysis.implicitCopies)
            if (copy.from == tensor) elsewhere.insert(copy.edges.begin(), copy.edges.end());
        Residence here{tensor, maker->device, false, {}};
        for (const Edge& edge : graph.outgoing(tensor.node)) {
            if (edge.from != tensor || elsewhere.contains(edge)) continue;
            here.readers.push_back(edge.to.node);
            if (isCopy(analysis.find(edge.to.node)) && seen.insert(edge.to.node).second)
                open.push_back({edge.to.node, 0});
        }
        inOrder(here.readers);
        out.push_back(std::move(here));
        for (const ImplicitCopy& copy : analysis.implicitCopies) {
            if (copy.from != tensor) continue;
            Residence there{tensor, copy.target, true, {}};
            for (const Edge& edge : copy.edges) there.readers.push_back(edge.to.node);
            inOrder(there.readers);
            out.push_back(std::move(there));
        }
    }
    return out;
}

} // namespace twb
