#pragma once

#include "graph/delta.h"
#include "graph/port_fit.h"
#include "placement/analysis.h"
#include "widgets/document.h"

#include <optional>
#include <set>
#include <string_view>

namespace twb {

/// The ports for an insertion into a wire: the input that wire.from feeds and the output that feeds wire.to.
struct Splice {
    Edge wire;
    EntryPort input;
    EntryPort output;
};

/// For a new entry of the palette; nothing if none of its inputs accepts the wire's dtype, or none of its
/// outputs fits the wire's end.
std::optional<Splice> spliceOf(const Analysis& analysis, const Edge& wire, const QString& entry);
/// For a node without edges other than its parameters'; nothing for any other.
std::optional<Splice> spliceOf(const Graph& graph, const Analysis& analysis, const Edge& wire, NodeId node);
/// The two edges that replace the wire; EntryPort counts in `nodes`.
std::pair<Edge, Edge> edgesOf(const Splice& splice, const std::vector<NodeId>& nodes);

/// Deletes the selection; consumers of a deleted node's first output read its first input instead, if they
/// accept its dtype.
Delta removeThrough(const Graph& graph, const Analysis& analysis, const Selection& selection);
/// Removes edges.
Delta cut(const Graph& graph, const std::set<Edge>& edges);

/// Adds a dot to a wire, before the dot that has this `index` now.
Delta addDot(const Graph& graph, const Edge& wire, std::size_t index, const Dot& dot);
/// The builder's graph must still be the one to which `dots` refer.
void removeDots(DeltaBuilder& builder, const std::set<DotRef>& dots);
/// Removes all dots of the selected wire, and of the wires with a selected dot.
Delta straighten(const Graph& graph, const Selection& selection);

} // namespace twb
