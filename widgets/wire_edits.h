#pragma once

#include "graph/delta.h"
#include "graph/port_fit.h"
#include "placement/analysis.h"
#include "widgets/document.h"

#include <optional>
#include <set>
#include <string_view>

namespace twb {

/// How something is put into a wire: what comes from wire.from goes in, what comes out goes on to wire.to.
struct Splice {
    Edge wire;
    EntryPort input;
    EntryPort output;
};

/// For a new op or composite; nothing when no port of it takes what the wire carries, or none makes what its
/// end takes.
std::optional<Splice> spliceOf(const Analysis& analysis, const Edge& wire, std::string_view entry);
/// For a node that stands alone but for its parameters; nothing for any other.
std::optional<Splice> spliceOf(const Graph& graph, const Analysis& analysis, const Edge& wire, NodeId node);
/// The two edges that take the place of the wire, `nodes` being what EntryPort counts.
std::pair<Edge, Edge> edgesOf(const Splice& splice, const std::vector<NodeId>& nodes);

/// Deletes what is selected; what read the first output of a deleted node reads its first input instead,
/// where it takes that dtype.
Delta removeThrough(const Graph& graph, const Analysis& analysis, const Selection& selection);
/// Removes edges.
Delta cut(const Graph& graph, const std::set<Edge>& edges);

/// A dot on a wire, in front of the one that has its `index` now.
Delta addDot(const Graph& graph, const Edge& wire, std::size_t index, const Dot& dot);
/// The builder's graph is still the one that `dots` are of.
void removeDots(DeltaBuilder& builder, const std::set<DotRef>& dots);
/// Takes all dots off the selected wire, and off those of which one is selected.
Delta straighten(const Graph& graph, const Selection& selection);

} // namespace twb
