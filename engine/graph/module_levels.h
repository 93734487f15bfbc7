#pragma once

#include "graph/arrange.h"

namespace twb {

/// The number of levels of nested modules inside `inside` (none: in the graph). The bodies of ops do not
/// count.
int moduleLevels(const Graph& graph, FrameId inside = FrameId::none);
/// How many of these levels are open: all modules on them are expanded.
int openLevels(const Graph& graph, FrameId inside = FrameId::none);

/// Expands the modules on the first `levels` levels inside `inside`, collapses those on all deeper levels,
/// and arranges the nodes inside `inside`. Throws Error(cancelled).
Arranged openLevelsTo(const Graph& graph, int levels, FrameId inside = FrameId::none,
                      const IsCancelled& isCancelled = {});
/// Arranges the whole graph with as many open levels as fit into a small window at a zoom at which all texts
/// are drawn. If that shows only few cards while other levels stay closed, levels are opened as long as names
/// are readable. Throws Error(cancelled).
Delta openLevelsThatFit(const Graph& graph, const IsCancelled& isCancelled = {});

/// Expands a module. If its content would lie on other cards inside `inside`, the cards right of its card
/// move to the right, and those below it move down.
Delta expandModule(const Graph& graph, FrameId module, FrameId inside = FrameId::none);

} // namespace twb
