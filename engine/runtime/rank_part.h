#pragma once

#include "backends/world.h"
#include "placement/analysis.h"

namespace twb {

/// Throws Error(missingDevice) if a lane of the graph is of a rank that a world of several ranks does not
/// have.
void requireRanks(const Graph& graph, const World& world);

/// Throws Error(badGraph) if the ranks cannot each compile their part of the graph
/// (CompileOptions::ownPart): a copy between two ranks that is not a To, or one in the body of an If, Loop or
/// Scan. The graph names devices as the rank `seenBy` sees them; the sentence does as its file.
void requireParts(const Graph& graph, const Analysis& analysis, int seenBy);

} // namespace twb
