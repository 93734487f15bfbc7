#pragma once

#include "graph/diagnostic.h"
#include "placement/topology.h"

#include <vector>

namespace twb {

/// An error for each cycle, with its nodes in order. A body's nodes count as read by the body's owner.
void addCycles(const Graph& graph, const Topology& topology, std::vector<Diagnostic>& diagnostics);

} // namespace twb
