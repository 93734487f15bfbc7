#pragma once

#include "graph/graph.h"
#include "graph/known_tensors.h"

#include <functional>

namespace twb {

/// Replaces each If outside all bodies whose condition is known by the nodes of the branch that it takes:
/// they take the If's module, and the If's consumers read their results. Returns the number of replaced Ifs;
/// those inside a taken branch are left for the next call. Ifs that `mayGo` refuses stay.
int takeKnownBranches(Graph& graph, const KnownTensors& known, const std::function<bool(const Node&)>& mayGo);

} // namespace twb
