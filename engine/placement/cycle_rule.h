#pragma once

#include "graph/diagnostic.h"
#include "placement/topology.h"

#include <vector>

namespace twb {

/// Reports an error for each cycle, with its nodes in order. The owner of a body counts as a consumer of the
/// body's nodes.
void addCycles(const Graph& graph, const Topology& topology, std::vector<Diagnostic>& diagnostics);

} // namespace twb
