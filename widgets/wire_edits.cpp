#include "widgets/wire_edits.h"

#include "graph/folding.h"
#include "graph/routes.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/palette/own_modules.h"

#include <algorithm>
#include <map>

namespace twb {
namespace {

DTypeSet carriedBy(const Analysis& analysis, const Edge& wire) {
    const std::optional<TensorType>& type = analysis.typeOf(wire.from);
    return type ? DTypeSet(type->dtype) : allTypes();
}

DTypeSet takenAt(const Analysis& analysis, PortRef input) {
    const NodeFacts* facts = analysis.find(input.node);
    return acceptedTypes(facts ? facts->op : nullptr, input.port);
}

bool standsAlone(const Graph& graph, NodeId node) {
    const std::vector<NodeId> parameters = foldedIn(graph, node);
    const auto& inputs = graph.inputs(node);
    return graph.outgoing(node).empty() && std::all_of(inputs.begin(), inputs.end(), [&](const auto& input) {
               return !input ||
                      std::find(parameters.begin(), parameters.end(), input->node) != parameters.end();
           });
}

} // namespace

std::optional<Splice> spliceOf(const Analysis& analysis, const Edge& wire, const QString& entry) {
    const auto input = inputOfEntry(entry, carriedBy(analysis, wire));
    const auto output = outputOfEntry(entry, takenAt(analysis, wire.to));
    if (!input || !output) return std::nullopt;
    return Splice{wire, *input, *output};
}

std::optional<Splice> spliceOf(const Graph& graph, const Analysis& analysis, const Edge& wire, NodeId node) {
    const Node* found = graph.find(node);
    if (!found || !standsAlone(graph, node)) return std::nullopt;
    const auto input = freeInputFor(graph, *found, carriedBy(analysis, wire));
    const auto output = outputFor(found->op, takenAt(analysis, wire.to));
    if (!input || !output) return std::nullopt;
    return Splice{wire, {0, *input}, *output};
}

std::pair<Edge, Edge> edgesOf(const Splice& splice, const std::vector<NodeId>& nodes) {
    return {{splice.wire.from, {nodes[splice.input.node], splice.input.port}},
            {{nodes[splice.output.node], splice.output.port}, splice.wire.to}};
}

Delta removeThrough(const Graph& graph, const Analysis& analysis, const Selection& selection) {
    const std::vector<NodeId> doomed = withFolded(graph, {selection.nodes.begin(), selection.nodes.end()});
    const std::set<NodeId> isDoomed(doomed.begin(), doomed.end());
    if (doomed.empty())
        return selection.dots.empty() ? Delta()
                                      : removeSelection(graph, {{}, {}, std::nullopt, selection.dots});
    /// The replacement of an output whose node is deleted, also through chains of deleted nodes.
    const auto standIn = [&](PortRef output) {
        std::optional<PortRef> at = output;
        for (std::size_t steps = 0; at && isDoomed.contains(at->node) && steps <= doomed.size(); ++steps)
            at = at->port == 0 ? graph.sourceOf({at->node, 0}) : std::nullopt;
        return at && isDoomed.contains(at->node) ? std::nullopt : at;
    };
    DeltaBuilder builder(graph,
                         editTitle(EditTitle::tr("Delete and reconnect %1"),
                                   selection.nodes.size() == 1 ? graph.find(*selection.nodes.begin())->name
                                                               : nodeCount(selection.nodes.size())));
    /// The dots along the replaced path.
    const auto dotsUntil = [&](PortRef output) {
        std::vector<Dot> dots;
        for (std::size_t steps = 0; isDoomed.contains(output.node) && steps <= doomed.size(); ++steps) {
            const PortRef input{output.node, 0};
            dots = joined(graph.dots(input), dots);
            output = *graph.sourceOf(input);
        }
        return dots;
    };
    std::vector<std::pair<Edge, std::vector<Dot>>> kept;
    for (const NodeId node : doomed) {
        for (const Edge& edge : graph.outgoing(node)) {
            if (isDoomed.contains(edge.to.node)) continue;
            const auto source = standIn(edge.from);
            if (!source) continue;
            const Edge through{*source, edge.to};
            const std::optional<TensorType>& type = analysis.typeOf(*source);
            if (type && !takenAt(analysis, edge.to).contains(type->dtype)) continue;
            kept.emplace_back(through, joined(dotsUntil(edge.from), graph.dots(edge.to)));
        }
    }
    removeDots(builder, selection.dots);
    for (const NodeId node : doomed) builder.removeNode(node);
    for (const NoteId note : selection.notes) builder.removeNote(note);
    for (auto& [edge, dots] : kept) {
        builder.connect(edge);
        builder.setDots(edge.to, std::move(dots));
    }
    return builder.take();
}

Delta cut(const Graph& graph, const std::set<Edge>& edges) {
    std::string title = editTitle(EditTitle::tr("Cut %1 wires"), std::to_string(edges.size()));
    if (edges.size() == 1)
        title = editTitle(EditTitle::tr("Disconnect %1 from %2"), graph.find(edges.begin()->from.node)->name,
                          graph.find(edges.begin()->to.node)->name);
    DeltaBuilder builder(graph, std::move(title));
    for (const Edge& edge : edges) builder.disconnect(edge);
    return builder.take();
}

Delta addDot(const Graph& graph, const Edge& wire, std::size_t index, const Dot& dot) {
    std::vector<Dot> dots = graph.dots(wire.to);
    dots.insert(dots.begin() + std::ptrdiff_t(std::min(index, dots.size())), dot);
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Add dot")));
    builder.setDots(wire.to, std::move(dots));
    return builder.take();
}

void removeDots(DeltaBuilder& builder, const std::set<DotRef>& dots) {
    std::map<PortRef, std::vector<Dot>> left;
    for (auto ref = dots.rbegin(); ref != dots.rend(); ++ref) { // the last dot of a wire first
        std::vector<Dot>& onWire = left.try_emplace(ref->wire, builder.graph().dots(ref->wire)).first->second;
        onWire.erase(onWire.begin() + std::ptrdiff_t(ref->index));
    }
    for (auto& [wire, rest] : left) builder.setDots(wire, std::move(rest));
}

Delta straighten(const Graph& graph, const Selection& selection) {
    std::set<PortRef> wires;
    if (selection.edge) wires.insert(selection.edge->to);
    for (const DotRef& dot : selection.dots) wires.insert(dot.wire);
    DeltaBuilder builder(graph, editTitle(wires.size() > 1 ? EditTitle::tr("Straighten wires")
                                                           : EditTitle::tr("Straighten wire")));
    for (const PortRef wire : wires) builder.setDots(wire, {});
    return builder.take();
}

} // namespace twb
