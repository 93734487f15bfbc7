#pragma once

#include "graph/delta.h"
#include "widgets/document.h"

#include <QString>

namespace twb {

// What the menus do to modules, each as one Delta. An empty Delta means that there is nothing to do.

/// A frame around the selected nodes.
Delta makeModule(const Graph& graph, const Selection& selection);
/// The module that a selection speaks of: the outermost one all of whose nodes are selected and no others,
/// else the innermost one around all that is selected. None where there is none. While one is open, of those
/// in it; the open one where there is none.
FrameId moduleOf(const Graph& graph, const Selection& selection, FrameId open = FrameId::none);
Delta renameModule(const Graph& graph, FrameId module, const QString& title);
Delta colorModule(const Graph& graph, FrameId module, FrameColor color);
/// Draws a module as one card, or what stands in it again.
Delta collapseModule(const Graph& graph, FrameId module, bool collapsed);
/// Takes the frame away and leaves what stands in it, in the module around. Empty for the body of an If, Loop
/// or Scan, which is what these run.
Delta dissolveModule(const Graph& graph, FrameId module);
/// Whether `inner` is `outer` or lies in it, however deep; nothing lies in none.
bool liesIn(const Graph& graph, FrameId inner, FrameId outer);
/// What `delta` adds, as far as it is in no module, in `module`.
void putIn(FrameId module, Delta& delta);
/// The nodes of a module and of the modules inside it.
std::vector<NodeId> nodesOfModule(const Graph& graph, FrameId module);
/// A copy of a module and all that stands in it, to be pasted anywhere: from the top left corner, with its
/// lanes.
Fragment moduleFragment(const Graph& graph, FrameId module);

} // namespace twb
