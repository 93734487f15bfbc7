#pragma once

#include "graph/graph.h"

#include <string>
#include <vector>

namespace twb {

/// A call of an aten op from which an import made nodes.
struct ProgramCall {
    std::string op;            ///< "aten::addmm"
    NodeId main{};             ///< the node that computes its first result
    std::vector<NodeId> nodes; ///< all nodes, with the main one
};

/// The calls of an imported PyTorch program, in its order, from the names that the import gave its nodes: the
/// node that computes a result has the name of the aten op ("addmm", "addmm 2", "linear_1"); a helper node
/// before it has this name and its own op ("addmm reshape"). Adjacent nodes of one aten op, frame and source
/// line become several calls if the sequence of their ops repeats. Ops on lists of tensors (`_foreach_add_`)
/// are left out, because their calls cannot be told apart. The names of nodes that no import made are parsed
/// in the same way and give ops that do not exist.
std::vector<ProgramCall> programCalls(const Graph& graph);

} // namespace twb
