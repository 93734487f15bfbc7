#include "graph/delta.h"

#include "core/error.h"
#include "graph/fresh_seed.h"
#include "graph/unique_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace twb {
namespace {

template <class T> std::vector<Change<T>> inverted(const std::vector<Change<T>>& changes) {
    std::vector<Change<T>> out;
    out.reserve(changes.size());
    for (auto it = changes.rbegin(); it != changes.rend(); ++it) out.push_back({it->after, it->before});
    return out;
}

template <class T> auto idOf(const Change<T>& c) { return c.before ? c.before->id : c.after->id; }

/// Leaves out the edges that were added and removed again, or the other way round. An edge is added and
/// removed by turns, so that at most one of its entries remains.
void dropUndone(std::vector<Edge>& added, std::vector<Edge>& removed) {
    std::map<Edge, int> sum;
    for (const Edge& edge : added) ++sum[edge];
    for (const Edge& edge : removed) --sum[edge];
    const auto keep = [&sum](std::vector<Edge>& list, int sign) {
        std::erase_if(list, [&](const Edge& edge) {
            int& left = sum[edge];
            return left != sign || std::exchange(left, 0) == 0;
        });
    };
    keep(added, 1);
    keep(removed, -1);
}

template <class T, class Id> const T& existing(const T* record, Id id, std::string_view kind) {
    if (!record) throw Error(ErrorCode::badGraph, fmt::format("there is no {} {}", kind, value(id)));
    return *record;
}

} // namespace

bool Delta::empty() const noexcept {
    return nodes.empty() && lanes.empty() && frames.empty() && notes.empty() && edgesRemoved.empty() &&
           edgesAdded.empty() && routes.empty() && !info;
}

Delta Delta::inverse() const {
    Delta out;
    out.title = title;
    out.nodes = inverted(nodes);
    out.lanes = inverted(lanes);
    out.frames = inverted(frames);
    out.notes = inverted(notes);
    out.edgesRemoved = edgesAdded;
    out.edgesAdded = edgesRemoved;
    out.routes = inverted(routes);
    if (info) out.info = Change<GraphInfo>{info->after, info->before};
    return out;
}

DeltaBuilder::DeltaBuilder(const Graph& graph, std::string title) : m_now(graph) {
    m_delta.title = std::move(title);
}

void DeltaBuilder::step(const Delta& delta) { m_now.apply(delta); }

template <class T> void DeltaBuilder::apply(std::vector<Change<T>> Delta::*list, Change<T> change) {
    Delta delta;
    (delta.*list).push_back(std::move(change));
    step(delta);
    record(m_delta.*list, std::move((delta.*list).front()));
}

/// The index in `list`, or the list's size if it is absent. All nodes of a large graph may change at once, so
/// a search is too slow.
template <class T, class Id>
std::size_t DeltaBuilder::placeOf(const std::vector<Change<T>>& list, Id id) const {
    if constexpr (std::is_same_v<T, Node>) {
        const auto known = m_nodeAt.find(id);
        return known == m_nodeAt.end() ? list.size() : known->second;
    } else {
        return static_cast<std::size_t>(
            std::find_if(list.begin(), list.end(), [&](const auto& known) { return idOf(known) == id; }) -
            list.begin());
    }
}

template <class T> void DeltaBuilder::record(std::vector<Change<T>>& list, Change<T> change) {
    const auto id = idOf(change);
    // Added records get unused ids, except routes: a route's id is its input's.
    const bool mayBeKnown = change.before || std::is_same_v<T, Route>;
    const std::size_t at = mayBeKnown ? placeOf(list, id) : list.size();
    if (at == list.size()) {
        if constexpr (std::is_same_v<T, Node>) m_nodeAt.emplace(id, at);
        list.push_back(std::move(change));
        return;
    }
    list[at].after = std::move(change.after);
    // Unchanged nodes stay until take() removes them all at once: erasing one moves all entries behind it.
    if (!std::is_same_v<T, Node> && list[at].before == list[at].after)
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
}

NodeId DeltaBuilder::addNode(Node node) {
    const NodeId id = node.id = m_now.newNodeId();
    apply(&Delta::nodes, {std::nullopt, std::move(node)});
    return id;
}

LaneId DeltaBuilder::addLane(Lane lane) {
    const LaneId id = lane.id = m_now.newLaneId();
    apply(&Delta::lanes, {std::nullopt, std::move(lane)});
    return id;
}

FrameId DeltaBuilder::addFrame(Frame frame) {
    const FrameId id = frame.id = m_now.newFrameId();
    apply(&Delta::frames, {std::nullopt, std::move(frame)});
    return id;
}

NoteId DeltaBuilder::addNote(Note note) {
    const NoteId id = note.id = m_now.newNoteId();
    apply(&Delta::notes, {std::nullopt, std::move(note)});
    return id;
}

void DeltaBuilder::change(const Node& after) {
    apply(&Delta::nodes, {existing(m_now.find(after.id), after.id, "node"), after});
}
void DeltaBuilder::setAttribute(NodeId id, const std::string& name, AttributeValue value) {
    Node after = existing(m_now.find(id), id, "node");
    after.attributes.set(name, std::move(value));
    change(after);
}
void DeltaBuilder::change(const Lane& after) {
    apply(&Delta::lanes, {existing(m_now.find(after.id), after.id, "lane"), after});
}
void DeltaBuilder::change(const Frame& after) {
    apply(&Delta::frames, {existing(m_now.find(after.id), after.id, "frame"), after});
}
void DeltaBuilder::change(const Note& after) {
    apply(&Delta::notes, {existing(m_now.find(after.id), after.id, "note"), after});
}

void DeltaBuilder::setInfo(const GraphInfo& after) {
    Delta d;
    d.info = Change<GraphInfo>{m_now.info(), after};
    step(d);
    if (!m_delta.info)
        m_delta.info = std::move(d.info);
    else
        m_delta.info->after = after;
    if (m_delta.info->before == m_delta.info->after) m_delta.info.reset();
}

/// Removes the dots of the edge into an input, if there are any.
void DeltaBuilder::dropRoute(Delta& delta, PortRef input) const {
    if (const Route* route = m_now.routes().find(input)) delta.routes.push_back({*route, std::nullopt});
}

void DeltaBuilder::removeNode(NodeId id) {
    const Node node = existing(m_now.find(id), id, "node");
    std::vector<Frame> bodies;
    for (const Frame& frame : m_now.frames())
        if (frame.owner == id) bodies.push_back(frame);
    for (Frame& body : bodies) {
        body.owner = NodeId::none;
        body.body.clear();
        change(body);
    }
    Delta d;
    const auto& inputs = m_now.inputs(id);
    for (std::size_t port = 0; port < inputs.size(); ++port)
        if (inputs[port]) d.edgesRemoved.push_back({*inputs[port], {id, static_cast<std::int32_t>(port)}});
    for (const Edge& edge : m_now.outgoing(id))
        if (edge.to.node != id) d.edgesRemoved.push_back(edge); // a self-loop is among the inputs
    for (const Edge& edge : d.edgesRemoved) dropRoute(d, edge.to);
    d.nodes.push_back({node, std::nullopt});
    step(d);
    m_delta.edgesRemoved.insert(m_delta.edgesRemoved.end(), d.edgesRemoved.begin(), d.edgesRemoved.end());
    for (Change<Route>& change : d.routes) record(m_delta.routes, std::move(change));
    record(m_delta.nodes, std::move(d.nodes.front()));
}

void DeltaBuilder::removeLane(LaneId id) {
    apply(&Delta::lanes, {existing(m_now.find(id), id, "lane"), std::nullopt});
}
void DeltaBuilder::removeFrame(FrameId id) {
    apply(&Delta::frames, {existing(m_now.find(id), id, "frame"), std::nullopt});
}
void DeltaBuilder::removeNote(NoteId id) {
    apply(&Delta::notes, {existing(m_now.find(id), id, "note"), std::nullopt});
}

void DeltaBuilder::connect(const Edge& edge) {
    const auto before = m_now.sourceOf(edge.to);
    if (before == edge.from) return;
    Delta d;
    if (before) d.edgesRemoved.push_back({*before, edge.to});
    dropRoute(d, edge.to);
    d.edgesAdded.push_back(edge);
    step(d);
    for (Change<Route>& change : d.routes) record(m_delta.routes, std::move(change));
    if (before) m_delta.edgesRemoved.push_back({*before, edge.to});
    m_delta.edgesAdded.push_back(edge);
}

void DeltaBuilder::disconnect(const Edge& edge) {
    Delta d;
    d.edgesRemoved.push_back(edge);
    dropRoute(d, edge.to);
    step(d);
    for (Change<Route>& change : d.routes) record(m_delta.routes, std::move(change));
    m_delta.edgesRemoved.push_back(edge);
}

void DeltaBuilder::setDots(PortRef input, std::vector<Dot> dots) {
    const Route* now = m_now.routes().find(input);
    if (now ? now->dots == dots : dots.empty()) return;
    Change<Route> change;
    if (now) change.before = *now;
    if (!dots.empty()) change.after = Route{input, std::move(dots)};
    apply(&Delta::routes, std::move(change));
}

Delta DeltaBuilder::take() {
    m_nodeAt.clear();
    dropUndone(m_delta.edgesAdded, m_delta.edgesRemoved);
    std::erase_if(m_delta.nodes, [](const Change<Node>& change) { return change.before == change.after; });
    return std::move(m_delta);
}

Fragment copyOf(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes) {
    Fragment out;
    const std::set<NodeId> wanted(nodes.begin(), nodes.end());
    std::set<FrameId> frames;
    for (NodeId id : wanted) {
        const Node* node = graph.find(id);
        if (!node) continue;
        out.nodes.push_back(*node);
        for (FrameId at = node->frame; at != FrameId::none && frames.insert(at).second;)
            at = graph.find(at) ? graph.find(at)->parent : FrameId::none;
        const auto& inputs = graph.inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port] && wanted.contains(inputs[port]->node))
                out.edges.push_back({*inputs[port], {id, static_cast<std::int32_t>(port)}});
    }
    std::set<LaneId> ofDots;
    for (const Edge& edge : out.edges) {
        const Route* route = graph.routes().find(edge.to);
        if (!route) continue;
        out.routes.push_back(*route);
        for (const Dot& dot : route->dots) ofDots.insert(dot.lane);
    }
    for (FrameId id : frames)
        if (const Frame* frame = graph.find(id)) {
            out.frames.push_back(*frame);
            if (frame->owner == NodeId::none || wanted.contains(frame->owner)) continue;
            out.frames.back().owner = NodeId::none;
            out.frames.back().body.clear();
        }
    for (NoteId id : notes)
        if (const Note* note = graph.find(id)) out.notes.push_back(*note);
    for (const Lane& lane : graph.lanes()) {
        const auto standsHere = [&](const auto& thing) { return thing.lane == lane.id; };
        if (std::any_of(out.nodes.begin(), out.nodes.end(), standsHere) ||
            std::any_of(out.notes.begin(), out.notes.end(), standsHere) || ofDots.contains(lane.id))
            out.lanes.push_back(lane);
    }
    return out;
}

void paste(DeltaBuilder& builder, const Fragment& fragment, Position offset, LaneId fallbackLane,
           std::vector<NodeId>* added) {
    const auto laneFor = [&](LaneId id) {
        const auto from = std::find_if(fragment.lanes.begin(), fragment.lanes.end(),
                                       [id](const Lane& lane) { return lane.id == id; });
        const Lane* here = builder.graph().find(id);
        if (from == fragment.lanes.end() || (here && here->device == from->device))
            return here ? id : fallbackLane;
        for (const Lane& lane : builder.graph().lanesInOrder())
            if (lane.device == from->device) return lane.id;
        return fallbackLane;
    };
    std::unordered_map<FrameId, FrameId> frames;
    for (const Frame& frame : fragment.frames) {
        Frame fresh = frame;
        fresh.parent = FrameId::none;
        fresh.owner = NodeId::none; // neither the frame nor the owner exists yet
        frames[frame.id] = builder.addFrame(fresh);
    }
    for (const Frame& frame : fragment.frames) {
        const auto parent = frames.find(frame.parent);
        if (parent == frames.end()) continue;
        Frame nested = *builder.graph().find(frames[frame.id]);
        nested.parent = parent->second;
        builder.change(nested);
    }
    std::unordered_map<NodeId, NodeId> ids;
    std::vector<NodeId> pasted;
    UniqueNames names(builder.graph());
    for (const Node& node : fragment.nodes) {
        Node fresh = node;
        fresh.name = names.take(node.name);
        fresh.lane = laneFor(node.lane);
        const auto frame = frames.find(node.frame);
        fresh.frame = frame == frames.end() ? FrameId::none : frame->second;
        fresh.position = {node.position.x + offset.x, node.position.y + offset.y};
        ids[node.id] = builder.addNode(std::move(fresh));
        pasted.push_back(ids[node.id]);
    }
    for (const NodeId id : pasted) {
        Node fresh = *builder.graph().find(id);
        if (fresh.forward == NodeId::none) continue;
        const auto forward = ids.find(fresh.forward);
        fresh.forward = forward == ids.end() ? NodeId::none : forward->second;
        builder.change(fresh);
    }
    giveFreshSeeds(builder, pasted);
    for (const Frame& frame : fragment.frames) {
        const auto owner = ids.find(frame.owner);
        const auto loss = ids.find(frame.loss);
        if (owner == ids.end() && frame.loss == NodeId::none) continue;
        Frame body = *builder.graph().find(frames[frame.id]);
        if (owner != ids.end()) body.owner = owner->second;
        body.loss = loss == ids.end() ? NodeId::none : loss->second;
        builder.change(body);
    }
    for (const Note& note : fragment.notes) {
        Note fresh = note;
        fresh.lane = laneFor(note.lane);
        fresh.position = {note.position.x + offset.x, note.position.y + offset.y};
        builder.addNote(std::move(fresh));
    }
    for (const Edge& edge : fragment.edges) {
        const auto from = ids.find(edge.from.node);
        const auto to = ids.find(edge.to.node);
        if (from == ids.end() || to == ids.end())
            throw Error(ErrorCode::badGraph, "a pasted edge leads to a node that was not copied with it");
        builder.connect({{from->second, edge.from.port}, {to->second, edge.to.port}});
    }
    for (const Route& route : fragment.routes) {
        const auto to = ids.find(route.id.node);
        if (to == ids.end())
            throw Error(ErrorCode::badGraph, "pasted dots belong to a wire that was not copied with them");
        std::vector<Dot> dots = route.dots;
        for (Dot& dot : dots)
            dot = {laneFor(dot.lane), {dot.position.x + offset.x, dot.position.y + offset.y}};
        builder.setDots({to->second, route.id.port}, std::move(dots));
    }
    if (added) added->insert(added->end(), pasted.begin(), pasted.end());
}

} // namespace twb
