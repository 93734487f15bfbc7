#pragma once

#include "graph/delta.h"
#include "graph/module_op.h"
#include "widgets/document.h"

#include <QString>

#include <set>

namespace twb {

// The module edits of the menus, each as one Delta. An empty Delta means that there is nothing to do.

/// Puts a frame around the selected nodes.
Delta makeModule(const Graph& graph, const Selection& selection);
/// The module to which a selection refers: the outermost module whose nodes are exactly the selection, else
/// the innermost module around the selection; none if there is none. With an open module, only modules inside
/// it count, else the open module itself.
FrameId moduleOf(const Graph& graph, const Selection& selection, FrameId open = FrameId::none);
Delta renameModule(const Graph& graph, FrameId module, const QString& title);
Delta colorModule(const Graph& graph, FrameId module, FrameColor color);
/// Collapses a module to one card.
Delta collapseModule(const Graph& graph, FrameId module);
/// Removes the frame; its content belongs to the outer module. Empty for the body of an If, Loop or Scan.
Delta dissolveModule(const Graph& graph, FrameId module);
/// Puts the nodes that `delta` adds outside of modules into `module`.
void putIn(FrameId module, Delta& delta);
/// The nodes of a module, including nested modules.
std::vector<NodeId> nodesOfModule(const Graph& graph, FrameId module);
/// A copy of a module and its content for pasting: positions from its top left corner, with its lanes.
Fragment moduleFragment(const Graph& graph, FrameId module);
/// The same as a module op without a name: with an input for each tensor from outside and each required input
/// without a source, and an output for each tensor that leaves it or has no consumer. A tensor that several
/// of its nodes read from outside gets one input, an Identity. If the module was made from `before`, it has
/// the attributes of that and, unless nodes were added or removed, its inputs and outputs first.
ModuleOp moduleOpOf(const Graph& graph, FrameId module, const ModuleOp* before = nullptr);
/// Whether these are all nodes of a module that was made from `op`; folded parameters may be missing.
bool isMadeFrom(const Graph& graph, FrameId module, const ModuleOp& op, const std::set<NodeId>& nodes);

} // namespace twb
