#include "graph/graph.h"

#include "core/error.h"
#include "graph/delta.h"
#include "graph/unique_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace twb {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::badGraph, sentence); }

std::string describe(const Edge& e) {
    return fmt::format("the edge from node {} output {} to node {} input {}", value(e.from.node), e.from.port,
                       value(e.to.node), e.to.port);
}

std::string describeWireInto(PortRef input) {
    return fmt::format("the wire into input {} of node {}", input.port, value(input.node));
}

/// Applies one change and moves the counter past the id that was seen.
template <class T>
void applyChange(Table<T>& table, const Change<T>& c, std::uint64_t& next, std::string_view kind) {
    if (!c.before && !c.after) refuse(fmt::format("a change of a {} is empty", kind));
    const auto id = c.before ? c.before->id : c.after->id;
    if (c.before && c.after && c.before->id != c.after->id)
        refuse(fmt::format("a change of {} {} may not change its id", kind, value(id)));
    if (value(id) == 0) refuse(fmt::format("a {} needs an id other than 0", kind));
    const T* now = table.find(id);
    if (c.before && (!now || !(*now == *c.before)))
        refuse(fmt::format("{} {} differs from the state that this change expects", kind, value(id)));
    if (!c.before && now) refuse(fmt::format("{} {} exists already", kind, value(id)));
    if (c.after)
        table.set(*c.after);
    else
        table.erase(id);
    next = std::max(next, value(id) + 1);
}

template <class T> bool removesAny(const std::vector<Change<T>>& changes) {
    return std::any_of(changes.begin(), changes.end(), [](const auto& c) { return !c.after; });
}

} // namespace

const Node* Graph::findByName(std::string_view name) const noexcept {
    const Node* found = nullptr;
    for (const Node& node : m_nodes) {
        if (node.name != name) continue;
        if (found) return nullptr;
        found = &node;
    }
    return found;
}

bool Graph::runsOnce(const Node& node) const noexcept {
    for (const Frame* frame = m_frames.find(node.frame); frame; frame = m_frames.find(frame->parent))
        if (frame->once) return true;
    return false;
}

Device Graph::deviceOf(const Node& node) const {
    const Lane* lane = m_lanes.find(node.lane);
    return lane ? lane->device : Device::cpu();
}

std::optional<PortRef> Graph::sourceOf(PortRef input) const noexcept {
    const auto& ports = inputs(input.node);
    const auto port = static_cast<std::size_t>(input.port);
    return input.port >= 0 && port < ports.size() ? ports[port] : std::nullopt;
}

const std::vector<Edge>& Graph::outgoing(NodeId node) const noexcept {
    static const std::vector<Edge> none;
    const Links* links = m_links.find(node);
    return links ? links->outgoing : none;
}

const std::vector<std::optional<PortRef>>& Graph::inputs(NodeId node) const noexcept {
    static const std::vector<std::optional<PortRef>> none;
    const Links* links = m_links.find(node);
    return links ? links->inputs : none;
}

const std::vector<Dot>& Graph::dots(PortRef input) const noexcept {
    static const std::vector<Dot> none;
    const Route* route = m_routes.find(input);
    return route ? route->dots : none;
}

std::vector<Edge> Graph::edges() const {
    std::vector<Edge> out;
    out.reserve(m_edgeCount);
    for (const Links& links : m_links)
        for (std::size_t port = 0; port < links.inputs.size(); ++port)
            if (const auto& from = links.inputs[port])
                out.push_back({*from, {links.id, static_cast<std::int32_t>(port)}});
    return out;
}

std::vector<Lane> Graph::lanesInOrder() const {
    std::vector<Lane> lanes(m_lanes.begin(), m_lanes.end());
    std::stable_sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
        return std::pair(a.device.rank, a.order) < std::pair(b.device.rank, b.order);
    });
    return lanes;
}

std::string Graph::uniqueName(std::string_view name) const {
    const std::string_view stem = stemOf(name); // "fc1 2" becomes "fc1 3"
    std::unordered_set<std::string_view> taken;
    for (const Node& node : m_nodes)
        if (std::string_view(node.name).starts_with(stem)) taken.insert(node.name);
    if (!taken.contains(name)) return std::string(name);
    for (int n = 2;; ++n) {
        std::string candidate = fmt::format("{} {}", stem, n);
        if (!taken.contains(candidate)) return candidate;
    }
}

void Graph::connect(const Edge& edge) {
    if (!m_links.find(edge.from.node) || !m_links.find(edge.to.node))
        refuse(describe(edge) + " has an end that does not exist");
    if (edge.from.port < 0 || edge.to.port < 0 || edge.from.port > 0xffff || edge.to.port > 0xffff)
        refuse(describe(edge) + " has a port out of range");
    if (sourceOf(edge.to)) refuse(describe(edge) + " leads to an input that is connected already");
    Links* to = m_links.edit(edge.to.node);
    const auto port = static_cast<std::size_t>(edge.to.port);
    if (to->inputs.size() <= port) to->inputs.resize(port + 1);
    Links* from = m_links.edit(edge.from.node);
    from->outgoing.insert(std::lower_bound(from->outgoing.begin(), from->outgoing.end(), edge), edge);
    to->inputs[port] = edge.from;
    ++m_edgeCount;
}

void Graph::disconnect(const Edge& edge) {
    if (sourceOf(edge.to) != edge.from) refuse(describe(edge) + " does not exist");
    Links* from = m_links.edit(edge.from.node);
    from->outgoing.erase(std::lower_bound(from->outgoing.begin(), from->outgoing.end(), edge));
    Links* to = m_links.edit(edge.to.node);
    to->inputs[static_cast<std::size_t>(edge.to.port)].reset();
    while (!to->inputs.empty() && !to->inputs.back()) to->inputs.pop_back();
    --m_edgeCount;
}

/// After the edges: a route needs its edge, and is removed with it.
void Graph::applyRoutes(const Delta& delta) {
    for (const Change<Route>& c : delta.routes) {
        if (!c.before && !c.after) refuse("a change of a wire's dots is empty");
        const PortRef id = c.before ? c.before->id : c.after->id;
        if (c.before && c.after && c.after->id != id)
            refuse("a change of a wire's dots may not move them to another wire");
        const Route* now = m_routes.find(id);
        if (c.before ? !now || *now != *c.before : now != nullptr)
            refuse(fmt::format("the dots of {} differ from the state that this change expects",
                               describeWireInto(id)));
        if (!c.after) {
            m_routes.erase(id);
            continue;
        }
        if (!sourceOf(id)) refuse(describeWireInto(id) + " cannot have dots: there is no such wire");
        if (c.after->dots.empty()) refuse(describeWireInto(id) + " has a route without dots");
        if (c.after->dots.size() > kMostDots)
            refuse(fmt::format(
                "{} would have {} dots (bends), but a wire may have at most {}; remove some first",
                describeWireInto(id), c.after->dots.size(), kMostDots));
        m_routes.set(*c.after);
    }
    if (m_routes.empty()) return;
    for (const Edge& edge : delta.edgesRemoved)
        if (m_routes.find(edge.to) && !sourceOf(edge.to))
            refuse(describe(edge) + " cannot be removed without its dots");
}

void Graph::apply(const Delta& delta) {
    // The state to restore after a failure. Tables with few records are kept as copies; nodes and links are
    // restored one by one, since a copy would make every change duplicate the affected pages.
    const Table<Lane> lanes = m_lanes;
    const Table<Frame> frames = m_frames;
    const Table<Note> notes = m_notes;
    const Table<Route> routes = m_routes;
    const std::tuple counters{m_nextNode, m_nextLane, m_nextFrame, m_nextNote};
    std::size_t disconnected = 0;
    std::size_t changed = 0;
    std::size_t linked = 0;
    std::size_t connected = 0;
    try {
        for (; disconnected < delta.edgesRemoved.size(); ++disconnected)
            disconnect(delta.edgesRemoved[disconnected]);
        for (const auto& c : delta.lanes) applyChange(m_lanes, c, m_nextLane, "lane");
        for (const auto& c : delta.frames) applyChange(m_frames, c, m_nextFrame, "frame");
        for (const auto& c : delta.notes) applyChange(m_notes, c, m_nextNote, "note");
        for (; changed < delta.nodes.size(); ++changed)
            applyChange(m_nodes, delta.nodes[changed], m_nextNode, "node");
        for (; linked < delta.nodes.size(); ++linked) {
            const Change<Node>& c = delta.nodes[linked];
            if (!c.before) m_links.set(Links{c.after->id, {}, {}});
            if (c.after) continue;
            const Links* links = m_links.find(c.before->id);
            if (links && (!links->inputs.empty() || !links->outgoing.empty()))
                refuse(fmt::format("node {} cannot be removed while it is connected", value(c.before->id)));
            m_links.erase(c.before->id);
        }
        for (; connected < delta.edgesAdded.size(); ++connected) connect(delta.edgesAdded[connected]);
        applyRoutes(delta);
        if (delta.info) {
            if (!delta.info->before || !(*delta.info->before == m_info))
                refuse("the project's description differs from the state that this change expects");
            if (!delta.info->after) refuse("a project's description can be changed but not removed");
        }
        check(delta);
        if (delta.info) m_info = *delta.info->after;
    } catch (...) {
        while (connected > 0) disconnect(delta.edgesAdded[--connected]);
        while (linked > 0) {
            const Change<Node>& c = delta.nodes[--linked];
            if (!c.before) m_links.erase(c.after->id);
            if (!c.after) m_links.set(Links{c.before->id, {}, {}});
        }
        while (changed > 0) {
            const Change<Node>& c = delta.nodes[--changed];
            if (c.before)
                m_nodes.set(*c.before);
            else
                m_nodes.erase(c.after->id);
        }
        while (disconnected > 0) connect(delta.edgesRemoved[--disconnected]);
        m_lanes = lanes;
        m_frames = frames;
        m_notes = notes;
        m_routes = routes;
        std::tie(m_nextNode, m_nextLane, m_nextFrame, m_nextNote) = counters;
        throw;
    }
}

void Graph::check(const Delta& delta) const {
    const auto checkNode = [&](const Node& node) {
        if (!m_lanes.find(node.lane))
            refuse(fmt::format("node \"{}\" ({}) is on lane {}, which does not exist", node.name,
                               value(node.id), value(node.lane)));
        if (node.frame != FrameId::none && !m_frames.find(node.frame))
            refuse(fmt::format("node \"{}\" ({}) belongs to frame {}, which does not exist", node.name,
                               value(node.id), value(node.frame)));
    };
    const auto checkNote = [&](const Note& note) {
        if (!m_lanes.find(note.lane))
            refuse(
                fmt::format("note {} is on lane {}, which does not exist", value(note.id), value(note.lane)));
    };
    const auto checkRoute = [&](const Route& route) {
        for (const Dot& dot : route.dots)
            if (!m_lanes.find(dot.lane))
                refuse(fmt::format("a dot (bend) of {} is on lane {}, which does not exist",
                                   describeWireInto(route.id), value(dot.lane)));
    };
    if (removesAny(delta.lanes) || removesAny(delta.frames)) {
        for (const Node& node : m_nodes) checkNode(node);
        for (const Note& note : m_notes) checkNote(note);
        for (const Route& route : m_routes) checkRoute(route);
    } else {
        for (const auto& c : delta.nodes)
            if (c.after) checkNode(*c.after);
        for (const auto& c : delta.notes)
            if (c.after) checkNote(*c.after);
        for (const auto& c : delta.routes)
            if (c.after) checkRoute(*c.after);
    }
    if (delta.frames.empty() && !removesAny(delta.nodes)) return;
    for (const Frame& frame : m_frames) {
        if (frame.owner != NodeId::none && !m_nodes.find(frame.owner))
            refuse(fmt::format("frame {} is a body of node {}, which does not exist", value(frame.id),
                               value(frame.owner)));
        std::size_t depth = 0;
        for (FrameId at = frame.parent; at != FrameId::none; ++depth) {
            const Frame* parent = m_frames.find(at);
            if (!parent)
                refuse(fmt::format("frame {} lies in frame {}, which does not exist", value(frame.id),
                                   value(at)));
            if (depth > m_frames.size()) refuse(fmt::format("frame {} contains itself", value(frame.id)));
            at = parent->parent;
        }
    }
}

bool Graph::operator==(const Graph& other) const {
    return m_info == other.m_info && m_lanes == other.m_lanes && m_frames == other.m_frames &&
           m_notes == other.m_notes && m_nodes == other.m_nodes && m_links == other.m_links &&
           m_routes == other.m_routes;
}

} // namespace twb
