#pragma once

#include "graph/graph.h"

namespace twb {

// A graph with lanes of other ranks, such as rank1/cuda:0, divides its nodes among the ranks of a run: each
// computes those on its own lanes, and a To between lanes of two ranks is a message. The lanes of rank 0 have
// no prefix. Without lanes of other ranks, all ranks compute the whole graph, each with its own tensors.

/// The largest rank of the graph's lanes; 0: the graph does not divide its nodes.
int lastRankOf(const Graph& graph) noexcept;
inline bool dividesNodes(const Graph& graph) noexcept { return lastRankOf(graph) > 0; }

/// The name of a device as a rank sees it: its own devices have no prefix, and those of rank 0 have its
/// prefix. Applied twice, it gives the first name.
Device asSeenBy(int rank, Device device) noexcept;
/// The graph with the names of its lanes' devices as a rank sees them. Throws Error(badGraph) for a lane on
/// `auto`, whose device the other ranks do not know.
Graph asSeenBy(int rank, const Graph& graph);

} // namespace twb
