#pragma once

#include "graph/bodies.h"
#include "placement/analysis.h"

#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace twb {

/// The order of the nodes of a graph that updates tensors in place. All readers of such a tensor see its
/// value at the start of the iteration; the outputs of the update have the new value. So the readers come
/// before the update, where possible. A node of a backward pass comes only when its first reader needs it.
struct UpdateOrder {
    std::vector<std::size_t> nodes; ///< indices in Analysis::nodes, without the nodes of bodies
    /// By updating node: tensors with readers after the update, which therefore need a copy made before it.
    std::map<NodeId, std::vector<PortRef>> copies;
    std::set<std::pair<NodeId, PortRef>> readsCopy; ///< the readers of these copies
};

/// `isPlanned`: by node, whether it becomes part of the plan. The analysis has the order of analyze().
UpdateOrder orderUpdates(const Graph& graph, const Analysis& analysis, const Bodies& bodies,
                         const std::vector<bool>& isPlanned);

} // namespace twb
