#include "widgets/graph_edits.h"

#include "core/error.h"
#include "formats/project.h"
#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/routes.h"
#include "placement/fixes.h"
#include "placement/lane_move.h"
#include "widgets/edit_title.h"
#include "widgets/wire_edits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace twb {
namespace {

constexpr double kBeside = 24; ///< to the right and below

/// The selected nodes, with their folded parameters.
std::vector<NodeId> nodesOf(const Graph& graph, const Selection& selection) {
    return withFolded(graph, {selection.nodes.begin(), selection.nodes.end()});
}

Fragment selectedPart(const Graph& graph, const Selection& selection) {
    return copyOf(graph, nodesOf(graph, selection), {selection.notes.begin(), selection.notes.end()});
}

/// The offset of a copy: the first place beside its original where no card or note of it covers one exactly.
Position placeBeside(const Graph& graph, const Fragment& copy) {
    std::set<std::pair<double, double>> taken;
    for (const Node& node : graph.nodes()) taken.emplace(node.position.x, node.position.y);
    for (const Note& note : graph.notes()) taken.emplace(note.position.x, note.position.y);
    constexpr double kMost = 1000 * kBeside; // a position may be too large for a sum to differ from it
    double by = kBeside;
    const auto covers = [&](const auto& record) {
        return taken.contains({record.position.x + by, record.position.y + by});
    };
    while (by < kMost && (std::ranges::any_of(copy.nodes, covers) || std::ranges::any_of(copy.notes, covers)))
        by += kBeside;
    return {by, by};
}

LaneId appendLane(DeltaBuilder& builder, Device device) {
    int order = 0;
    for (const Lane& lane : builder.graph().lanes()) order = std::max(order, lane.order + 1);
    return builder.addLane({LaneId::none, device, "", order, 0});
}

/// `title` has a placeholder for the lane.
Delta changeOf(const Lane& before, Lane after, const QString& title) {
    Delta delta;
    delta.title = editTitle(title, before.device.toString());
    delta.lanes.push_back({before, std::move(after)});
    return delta;
}

auto removalTitle(const Graph& graph, const Selection& selection) {
    const std::size_t count = selection.nodes.size() + selection.notes.size() + selection.dots.size();
    if (count == 0) return editTitle(EditTitle::tr("Disconnect"));
    if (count != 1)
        return editTitle(count == selection.dots.size() ? EditTitle::tr("Delete %1 dots")
                                                        : EditTitle::tr("Delete %1 things"),
                         std::to_string(count));
    if (!selection.nodes.empty())
        return editTitle(EditTitle::tr("Delete %1"), graph.find(*selection.nodes.begin())->name);
    return editTitle(selection.notes.empty() ? EditTitle::tr("Delete dot") : EditTitle::tr("Delete note"));
}

/// The remaining dots of a lane go to another lane, or are removed if there is none.
void moveDots(DeltaBuilder& builder, LaneId from, LaneId to) {
    const Table<Route> routes = builder.graph().routes(); // the routes change below
    for (const Route& route : routes) {
        std::vector<Dot> dots = route.dots;
        if (to == LaneId::none) std::erase_if(dots, [from](const Dot& dot) { return dot.lane == from; });
        for (Dot& dot : dots)
            if (dot.lane == from) dot.lane = to;
        builder.setDots(route.id, std::move(dots));
    }
}

/// Positions nodes that were moved to a lane together, keeping their relative positions.
void settle(DeltaBuilder& builder, const std::set<NodeId>& came, LaneId lane) {
    constexpr double kApart = 24;
    const Graph graph = builder.graph();
    struct Card {
        NodeId id;
        Position at;
        CardSize size;
    };
    std::vector<Card> moved;
    std::vector<Card> standing;
    for (const Node& node : graph.nodes()) {
        if (foldedInto(graph, node) || node.lane != lane) continue;
        (came.contains(node.id) ? moved : standing)
            .push_back({node.id, node.position, cardSizeOf(graph, node)});
    }
    double top = 0;
    double bottom = 0;
    bool collide = false;
    for (const Card& card : moved) top = &card == &moved.front() ? card.at.y : std::min(top, card.at.y);
    for (const Card& there : standing) {
        bottom = std::max(bottom, there.at.y + there.size.height);
        if (collide) continue;
        for (const Card& card : moved)
            collide =
                collide ||
                (card.at.x < there.at.x + there.size.width && there.at.x < card.at.x + card.size.width &&
                 card.at.y < there.at.y + there.size.height && there.at.y < card.at.y + card.size.height);
    }
    carryDots(builder, {came.begin(), came.end()}, lane, collide ? bottom + kApart - top : 0);
    if (!collide) return;
    for (const Card& card : moved) {
        Node node = *builder.graph().find(card.id);
        node.position.y += bottom + kApart - top;
        builder.change(node);
    }
}

void sendTo(DeltaBuilder& builder, const std::set<NodeId>& nodes, LaneId lane) {
    std::map<NodeId, LaneId> wanted;
    for (const NodeId id : nodes) wanted[id] = lane;
    settle(builder, moveToLanes(builder, wanted), lane);
}

} // namespace

QString copyText(const Graph& graph, const Selection& selection) {
    return QString::fromStdString(toFragmentText(selectedPart(graph, selection)));
}

Delta pasteText(const Graph& graph, const QString& text, LaneId fallbackLane) {
    const Fragment fragment = parseFragment(text.toStdString());
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Paste")));
    paste(builder, fragment, placeBeside(graph, fragment), fallbackLane);
    return builder.take();
}

Delta duplicate(const Graph& graph, const Selection& selection) {
    const Fragment fragment = selectedPart(graph, selection);
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Duplicate")));
    paste(builder, fragment, placeBeside(graph, fragment), LaneId::none);
    return builder.take();
}

Delta duplicateWithInputs(const Graph& graph, const Selection& selection) {
    const Fragment fragment = selectedPart(graph, selection);
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Duplicate with inputs")));
    std::vector<NodeId> copies;
    paste(builder, fragment, placeBeside(graph, fragment), LaneId::none, &copies);
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const auto& inputs = graph.inputs(fragment.nodes[i].id);
        for (std::size_t port = 0; port < inputs.size(); ++port) {
            const PortRef input{copies[i], std::int32_t(port)};
            if (inputs[port] && !builder.graph().sourceOf(input)) builder.connect({*inputs[port], input});
        }
    }
    return builder.take();
}

Selection addedBy(const Delta& delta) {
    Selection added;
    for (const Change<Node>& change : delta.nodes)
        if (!change.before) added.nodes.insert(change.after->id);
    for (const Change<Note>& change : delta.notes)
        if (!change.before) added.notes.insert(change.after->id);
    return added;
}

Delta detach(const Graph& graph, const Selection& selection) {
    const std::vector<NodeId> nodes = nodesOf(graph, selection);
    const std::set<NodeId> isInside(nodes.begin(), nodes.end());
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Disconnect")));
    if (selection.edge && graph.sourceOf(selection.edge->to) == selection.edge->from)
        builder.disconnect(*selection.edge);
    for (const NodeId id : nodes) {
        const auto& inputs = graph.inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port] && !isInside.contains(inputs[port]->node))
                builder.disconnect({*inputs[port], {id, std::int32_t(port)}});
        for (const Edge& edge : graph.outgoing(id))
            if (!isInside.contains(edge.to.node)) builder.disconnect(edge);
    }
    return builder.take();
}

Delta removeSelection(const Graph& graph, const Selection& selection) {
    DeltaBuilder builder(graph, removalTitle(graph, selection));
    removeDots(builder, selection.dots);
    if (selection.edge && graph.sourceOf(selection.edge->to) == selection.edge->from)
        builder.disconnect(*selection.edge);
    for (const NodeId node : nodesOf(graph, selection)) builder.removeNode(node);
    for (const NoteId note : selection.notes) builder.removeNote(note);
    return builder.take();
}

Delta sendToLane(const Graph& graph, const Selection& selection, LaneId lane) {
    const Lane* target = graph.find(lane);
    if (!target) return {};
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Send to %1"), target->device.toString()));
    sendTo(builder, selection.nodes, lane);
    return builder.take();
}

Delta sendToNewLane(const Graph& graph, const Selection& selection, Device device) {
    if (selection.nodes.empty()) return {};
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Send to %1"), device.toString()));
    sendTo(builder, selection.nodes, appendLane(builder, device));
    return builder.take();
}

Delta insertTo(const Graph& graph, const Selection& selection) {
    std::vector<Edge> edges;
    if (selection.edge) edges.push_back(*selection.edge);
    for (const NodeId id : selection.nodes) {
        const auto& inputs = graph.inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port]) edges.push_back({*inputs[port], {id, std::int32_t(port)}});
    }
    std::vector<Fix> fixes;
    for (const Edge& edge : edges) {
        const Node& consumer = *graph.find(edge.to.node);
        const Device device = graph.deviceOf(consumer);
        if (consumer.op == "To" || graph.deviceOf(*graph.find(edge.from.node)) == device) continue;
        Fix fix;
        fix.kind = Fix::Kind::insertTo;
        fix.edge = edge;
        fix.device = device;
        fixes.push_back(fix);
    }
    return fixes.empty() ? Delta() : toDelta(graph, fixes, editTitle(EditTitle::tr("Insert To")));
}

Delta toggleDisabled(const Graph& graph, const Selection& selection) {
    const bool enables = std::all_of(selection.nodes.begin(), selection.nodes.end(),
                                     [&](NodeId id) { return graph.find(id)->disabled; });
    Delta delta;
    for (const NodeId id : selection.nodes) {
        const Node& before = *graph.find(id);
        Node after = before;
        after.disabled = !enables;
        if (after != before) delta.nodes.push_back({before, std::move(after)});
    }
    delta.title =
        editTitle(enables ? EditTitle::tr("Enable %1") : EditTitle::tr("Disable %1"),
                  delta.nodes.size() == 1 ? delta.nodes.front().after->name : nodeCount(delta.nodes.size()));
    return delta;
}

Delta addLane(const Graph& graph, Device device) {
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Add lane %1"), device.toString()));
    appendLane(builder, device);
    return builder.take();
}

Delta moveLane(const Graph& graph, LaneId lane, int steps) {
    std::vector<Lane> lanes = graph.lanesInOrder();
    const auto from =
        std::find_if(lanes.begin(), lanes.end(), [lane](const Lane& l) { return l.id == lane; });
    if (from == lanes.end()) return {};
    // A lane stays among those of its rank.
    const auto others =
        std::ranges::equal_range(lanes, from->device.rank, {}, [](const Lane& l) { return l.device.rank; });
    const auto to = std::clamp<std::ptrdiff_t>(from - lanes.begin() + steps, others.begin() - lanes.begin(),
                                               others.end() - lanes.begin() - 1);
    if (to == from - lanes.begin()) return {};
    DeltaBuilder builder(
        graph, editTitle(steps < 0 ? EditTitle::tr("Move lane %1 up") : EditTitle::tr("Move lane %1 down"),
                         from->device.toString()));
    const Lane moved = *from;
    lanes.erase(from);
    lanes.insert(lanes.begin() + to, moved);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (lanes[i].order == int(i)) continue;
        lanes[i].order = int(i);
        builder.change(lanes[i]);
    }
    return builder.take();
}

Delta resizeLane(const Graph& graph, LaneId lane, double height) {
    const Lane* before = graph.find(lane);
    if (!before || before->height == height) return {};
    Lane after = *before;
    after.height = height;
    return changeOf(*before, std::move(after), EditTitle::tr("Resize lane %1"));
}

Delta collapseLane(const Graph& graph, LaneId lane, bool collapsed) {
    const Lane* before = graph.find(lane);
    if (!before || before->collapsed == collapsed) return {};
    Lane after = *before;
    after.collapsed = collapsed;
    return changeOf(*before, std::move(after),
                    collapsed ? EditTitle::tr("Collapse lane %1") : EditTitle::tr("Expand lane %1"));
}

void openLanesOf(const Graph& graph, Delta& delta) {
    std::set<LaneId> lanes;
    const auto add = [&lanes](const auto& changes) {
        for (const auto& change : changes)
            if (!change.before) lanes.insert(change.after->lane);
    };
    add(delta.nodes);
    add(delta.notes);
    for (const LaneId id : lanes) {
        const Delta opened = collapseLane(graph, id, false);
        delta.lanes.insert(delta.lanes.end(), opened.lanes.begin(), opened.lanes.end());
    }
}

Delta removeLane(const Graph& graph, LaneId lane, LaneId target) {
    const Lane* gone = graph.find(lane);
    if (!gone || lane == target) return {};
    std::set<NodeId> standing;
    for (const Node& node : graph.nodes())
        if (node.lane == lane) standing.insert(node.id);
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Remove lane %1"), gone->device.toString()));
    if (target == LaneId::none) {
        for (const NodeId id : standing) builder.removeNode(id);
    } else {
        for (const NodeId id : standing) {
            Node node = *builder.graph().find(id);
            node.lane = target;
            builder.change(node);
        }
        settle(builder, standing, target);
    }
    for (const Note& note : graph.notes()) {
        if (note.lane != lane) continue;
        Note moved = note;
        moved.lane = target;
        if (target == LaneId::none)
            builder.removeNote(note.id);
        else
            builder.change(moved);
    }
    moveDots(builder, lane, target);
    builder.removeLane(lane);
    return builder.take();
}

Device nextGpu(const Graph& graph, int rank) {
    for (int index = 0;; ++index) {
        const Device device = Device::cuda(index, rank);
        const auto& lanes = graph.lanes();
        const bool there =
            std::any_of(lanes.begin(), lanes.end(), [&](const Lane& lane) { return lane.device == device; });
        if (!there) return device;
    }
}

Delta addNote(const Graph& graph, LaneId lane, Position position, const QString& text) {
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Add note")));
    Note note;
    note.text = text.toStdString();
    note.lane = lane;
    note.position = position;
    builder.addNote(note);
    return builder.take();
}

} // namespace twb
