#pragma once

#include "graph/delta.h"

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

// Keeps the dots of wires consistent when nodes and edges are edited.

/// The segment of a path whose length grows least if the path is led through `put`; 0 is the first segment.
/// Needs at least two points.
std::size_t leastDetour(std::span<const Position> way, Position put);

/// The number of a wire's dots that come before an inserted node: the dots before the least detour.
std::ptrdiff_t dotsBefore(const Graph& graph, const Edge& wire, NodeId node);

/// Inserts existing nodes into a wire: its source is connected to `input`, and `output` to its consumer. The
/// dots stay, each on its side.
void putInto(DeltaBuilder& builder, const Edge& wire, PortRef input, PortRef output);

/// The dots of two wires that become one, up to the limit.
std::vector<Dot> joined(std::vector<Dot> first, const std::vector<Dot>& second);

/// After nodes moved to another lane by `down`: moves the dots on the wires between them too.
void carryDots(DeltaBuilder& builder, const std::vector<NodeId>& nodes, LaneId lane, double down);

} // namespace twb
