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
/// node of a result has the op's name ("addmm", "addmm 2", "linear_1"), and a node before it adds its own op
/// ("addmm reshape"). Neighbours of one op and one source line are divided where their pattern repeats. Ops
/// on lists of tensors (`_foreach_add_`) are left out, because their calls cannot be told apart. Other nodes
/// give calls of ops that do not exist.
std::vector<ProgramCall> programCalls(const Graph& graph);

} // namespace twb
