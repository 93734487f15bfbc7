#include "placement/fix_writer.h"

#include "backends/device_map.h"
#include "core/error.h"
#include "graph/delta.h"
#include "graph/folding.h"
#include "graph/routes.h"
#include "placement/device_rule.h"
#include "placement/fixes.h"
#include "placement/room.h"

#include <fmt/format.h>

namespace twb {
namespace {

[[noreturn]] void gone(const Fix& fix) {
    throw Error(ErrorCode::badGraph,
                fmt::format("\"{}\" no longer applies: its node or edge was removed", fix.title));
}

} // namespace

FixWriter::FixWriter(DeltaBuilder& builder, const DeviceMap* devices)
    : m_builder(builder), m_devices(devices),
      m_copies(builder.graph(), [this](NodeId node) { return deviceOf(node); }) {}

Device FixWriter::deviceOf(NodeId id) const {
    const Graph& graph = m_builder.graph();
    const Device device = graph.deviceOf(*graph.find(id));
    return m_devices ? m_devices->resolve(device) : device;
}

LaneId FixWriter::laneFor(Device device) {
    const auto known = m_lanes.find(device);
    if (known != m_lanes.end()) return known->second;
    return m_lanes[device] = laneOf(m_builder, device);
}

FreePlaces& FixWriter::places() {
    if (!m_places) m_places.emplace(m_builder.graph());
    return *m_places;
}

UniqueNames& FixWriter::names() {
    if (!m_names) m_names.emplace(m_builder.graph());
    return *m_names;
}

void FixWriter::apply(const Fix& fix) {
    const Graph& graph = m_builder.graph();
    const bool onEdge = fix.kind == Fix::Kind::insertTo || fix.kind == Fix::Kind::insertCast ||
                        fix.kind == Fix::Kind::disconnect;
    if (onEdge ? graph.sourceOf(fix.edge.to) != fix.edge.from : !graph.find(fix.node)) gone(fix);

    switch (fix.kind) {
    case Fix::Kind::insertTo:
        return insertTo(fix);
    case Fix::Kind::insertCast:
        return insertCast(fix);
    case Fix::Kind::moveNode:
        return moveNode(fix);
    case Fix::Kind::disconnect:
        return m_builder.disconnect(fix.edge);
    case Fix::Kind::removeNode:
        return m_builder.removeNode(fix.node);
    case Fix::Kind::bypass:
        return bypass(fix);
    case Fix::Kind::enableNode: {
        Node node = *graph.find(fix.node);
        node.disabled = false;
        return m_builder.change(node);
    }
    case Fix::Kind::setAttribute: {
        Node node = *graph.find(fix.node);
        if (fix.value)
            node.attributes.set(fix.attribute, *fix.value);
        else
            node.attributes.erase(fix.attribute);
        return m_builder.change(node);
    }
    }
}

void FixWriter::insertTo(const Fix& fix) {
    const Graph& graph = m_builder.graph();
    const NodeId reader = fix.edge.to.node;
    if (const auto present = m_copies.on(fix.edge.from, fix.device, reader)) {
        if (*present == fix.edge.from) return;
        readFrom(*present, fix.edge.to);
        return removeUnread(fix.edge.from.node);
    }
    const Edge edge{m_copies.nearest(fix.edge.from, fix.device, reader), fix.edge.to};
    if (edge.from != fix.edge.from) readFrom(edge.from, edge.to);
    Node to;
    to.op = "To";
    to.name = names().take(fmt::format("{} on {}", labelOf(graph, edge.from.node), fix.device.toString()));
    to.lane =
        deviceOf(reader) == fix.device || (!m_devices && deviceOf(reader).isAuto() && !fix.device.isCpu())
            ? graph.find(reader)->lane
            : laneFor(fix.device);
    insertOn(edge, std::move(to));
    if (edge.from != fix.edge.from) removeUnread(fix.edge.from.node);
}

void FixWriter::insertCast(const Fix& fix) {
    const Graph& graph = m_builder.graph();
    Node cast;
    cast.op = "Cast";
    cast.name = names().take(fmt::format("{} as {}", labelOf(graph, fix.edge.from.node), name(fix.dtype)));
    cast.attributes.set("to", std::string(name(fix.dtype)));
    cast.lane = graph.find(fix.edge.from.node)->lane;
    insertOn(fix.edge, std::move(cast));
}

/// Inserts a node into an edge, by its input 0 and output 0.
void FixWriter::insertOn(const Edge& edge, Node node) {
    const Graph& graph = m_builder.graph();
    const Node& source = *graph.find(edge.from.node);
    const Node& target = *graph.find(edge.to.node);
    // The new node is in the body that contains the source, if any: every consumer of the source may read it
    // there, and outside a loop that only reads it, it runs once.
    const Body* body = m_copies.bodies().around(source.id);
    node.frame = source.frame == target.frame ? source.frame : body ? body->frame : FrameId::none;
    node.position = {(source.position.x + target.position.x) / 2, target.position.y};
    const bool isCopy = node.op == "To";
    const NodeId id = m_builder.addNode(std::move(node));
    putInto(m_builder, edge, {id, 0}, {id, 0});
    if (isCopy) m_copies.add(edge.from, id);
    m_added.push_back(id);
}

/// Connects an input to another output of the same tensor; the wire's dots stay.
void FixWriter::readFrom(PortRef output, PortRef input) {
    const Graph& graph = m_builder.graph();
    std::vector<Dot> dots = graph.dots(input);
    if (!dots.empty()) // dots before the copy belong to the wire that leads to it
        dots.erase(dots.begin(),
                   dots.begin() + dotsBefore(graph, {*graph.sourceOf(input), input}, output.node));
    m_builder.connect({output, input});
    m_builder.setDots(input, std::move(dots));
}

/// Removes To nodes without consumers, starting at this one and going upstream.
void FixWriter::removeUnread(NodeId copy) {
    const Graph& graph = m_builder.graph();
    while (m_copies.isCopy(copy) && graph.outgoing(copy).empty() && !graph.find(copy)->pinned) {
        const NodeId before = graph.sourceOf({copy, 0})->node;
        if (m_places) {
            const Node& node = *graph.find(copy);
            m_places->remove(node.lane, node.position, cardSizeOf(graph, node));
        }
        std::erase(m_added, copy);
        m_builder.removeNode(copy);
        copy = before;
    }
}

void FixWriter::moveNode(const Fix& fix) {
    const Graph& graph = m_builder.graph();
    const LaneId lane = laneFor(fix.device);
    const Node before = *graph.find(fix.node);
    if (before.lane == lane) return;
    FreePlaces& free = places();
    const CardSize size = cardSizeOf(graph, before);
    const bool hasCard = !foldedInto(graph, before);
    if (hasCard) free.remove(before.lane, before.position, size);
    moveToLane(m_builder, fix.node, lane);
    if (!hasCard) return;
    Node node = *graph.find(fix.node);
    node.position = free.below(lane, before.position, size);
    free.put(lane, node.position, size);
    m_builder.change(node);
}

void FixWriter::bypass(const Fix& fix) {
    if (!m_builder.graph().find(fix.edge.from.node)) gone(fix);
    const std::vector<Edge> readers = m_builder.graph().outgoing(fix.node);
    for (const Edge& edge : readers) {
        std::vector<Dot> dots = m_builder.graph().dots(edge.to);
        m_builder.connect({fix.edge.from, edge.to});
        m_builder.setDots(edge.to, std::move(dots));
    }
    const auto before = m_builder.graph().sourceOf({fix.node, 0});
    m_builder.removeNode(fix.node);
    if (before) removeUnread(before->node);
}

void FixWriter::finish() {
    if (m_added.empty()) return;
    makeRoom(m_builder, m_added);
    m_added.clear();
}

} // namespace twb
