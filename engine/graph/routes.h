#pragma once

#include "graph/delta.h"

#include <cstddef>
#include <span>
#include <vector>

namespace twb {

// What edits of nodes and edges make of the dots on wires.

/// Of the stretches between points of a way, the one that becomes longer by the least when the way is led
/// through `put` as well; 0 is the first. At least two points.
std::size_t leastDetour(std::span<const Position> way, Position put);

/// How many of a wire's dots come before a node that is put into it: those before the least
/// detour.
std::ptrdiff_t dotsBefore(const Graph& graph, const Edge& wire, NodeId node);

/// Puts nodes that are there into a wire: what came from it goes into `input`, and `output` goes on to where
/// it led. Its dots stay, each on its side.
void putInto(DeltaBuilder& builder, const Edge& wire, PortRef input, PortRef output);

/// The dots of two wires that become one; as many of them as it may have.
std::vector<Dot> joined(std::vector<Dot> first, const std::vector<Dot>& second);

/// After nodes went to another lane together, `down` further down: the dots on the wires between them go
/// along.
void carryDots(DeltaBuilder& builder, const std::vector<NodeId>& nodes, LaneId lane, double down);

} // namespace twb
