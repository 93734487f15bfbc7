#include "placement/fixes.h"

#include "core/error.h"
#include "graph/bodies.h"
#include "graph/folding.h"
#include "graph/routes.h"
#include "placement/device_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace twb {
namespace {

constexpr double kColumn = 200; ///< a node card and the gap beside it
constexpr double kRow = 96;     ///< a node card and the gap below it

[[noreturn]] void gone(const Fix& fix) {
    throw Error(ErrorCode::badGraph,
                fmt::format("\"{}\" no longer applies: its node or edge was removed", fix.title));
}

LaneId laneOf(DeltaBuilder& builder, Device device) {
    const auto lanes = builder.graph().lanesInOrder();
    for (const Lane& lane : lanes)
        if (lane.device == device) return lane.id;
    Lane lane;
    lane.device = device;
    lane.order = lanes.empty() ? 0 : lanes.back().order + 1;
    return builder.addLane(std::move(lane));
}

/// The nearest place at or below `wanted` where a card covers no other.
Position freePlace(const Graph& graph, LaneId lane, Position wanted) {
    for (;; wanted.y += 24) {
        const bool taken = std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
            return node.lane == lane && std::abs(node.position.x - wanted.x) < kColumn - 16 &&
                   std::abs(node.position.y - wanted.y) < kRow - 16;
        });
        if (!taken) return wanted;
    }
}

/// Puts `node` on the edge; it gets input 0 and gives output 0.
void insertOn(DeltaBuilder& builder, const Edge& edge, Node node) {
    const Node& source = *builder.graph().find(edge.from.node);
    const Node& target = *builder.graph().find(edge.to.node);
    // Where its source is made it can be read by whoever may read that; and outside of a loop that only reads
    // it, it runs once.
    const Bodies bodies(builder.graph());
    const Body* body = bodies.around(source.id);
    node.frame = source.frame == target.frame ? source.frame : body ? body->frame : FrameId::none;
    Position between{(source.position.x + target.position.x) / 2, target.position.y};
    if (node.lane == source.lane && node.lane == target.lane)
        between.y = (source.position.y + target.position.y) / 2;
    if (target.position.x - source.position.x < kColumn) between.x = target.position.x;
    node.position = freePlace(builder.graph(), node.lane, between);
    const NodeId id = builder.addNode(std::move(node));
    putInto(builder, edge, {id, 0}, {id, 0});
}

} // namespace

void apply(DeltaBuilder& builder, const Fix& fix) {
    const Graph& graph = builder.graph();
    const bool onEdge = fix.kind == Fix::Kind::insertTo || fix.kind == Fix::Kind::insertCast ||
                        fix.kind == Fix::Kind::disconnect;
    if (onEdge && graph.sourceOf(fix.edge.to) != fix.edge.from) gone(fix);
    if (!onEdge && !graph.find(fix.node)) gone(fix);

    switch (fix.kind) {
    case Fix::Kind::insertTo: {
        // One copy serves every reader on that device.
        for (const Edge& out : graph.outgoing(fix.edge.from.node)) {
            const Node& reader = *graph.find(out.to.node);
            if (out.from == fix.edge.from && reader.op == "To" && graph.deviceOf(reader) == fix.device &&
                !reader.attributes.has("dtype")) {
                const Edge shared{{reader.id, 0}, fix.edge.to};
                std::vector<Dot> dots = graph.dots(fix.edge.to);
                dots.erase(dots.begin(), dots.begin() + dotsBefore(graph, fix.edge, reader.id));
                builder.connect(shared);
                builder.setDots(shared.to, std::move(dots));
                return;
            }
        }
        const Node consumer = *graph.find(fix.edge.to.node);
        const Device lane = graph.deviceOf(consumer);
        Node to;
        to.op = "To";
        to.name = graph.uniqueName(
            fmt::format("{} on {}", labelOf(graph, fix.edge.from.node), fix.device.toString()));
        to.lane = lane == fix.device || (lane.isAuto() && !fix.device.isCpu()) ? consumer.lane
                                                                               : laneOf(builder, fix.device);
        insertOn(builder, fix.edge, std::move(to));
        return;
    }
    case Fix::Kind::insertCast: {
        Node cast;
        cast.op = "Cast";
        cast.name =
            graph.uniqueName(fmt::format("{} as {}", labelOf(graph, fix.edge.from.node), name(fix.dtype)));
        cast.attributes.set("to", std::string(name(fix.dtype)));
        cast.lane = graph.find(fix.edge.from.node)->lane;
        insertOn(builder, fix.edge, std::move(cast));
        return;
    }
    case Fix::Kind::moveNode: {
        const LaneId lane = laneOf(builder, fix.device);
        const Position place = freePlace(builder.graph(), lane, graph.find(fix.node)->position);
        moveToLane(builder, fix.node, lane);
        Node node = *builder.graph().find(fix.node);
        node.position = place;
        builder.change(node);
        return;
    }
    case Fix::Kind::disconnect:
        builder.disconnect(fix.edge);
        return;
    case Fix::Kind::removeNode:
        builder.removeNode(fix.node);
        return;
    case Fix::Kind::bypass: {
        if (!graph.find(fix.edge.from.node)) gone(fix);
        const std::vector<Edge> readers = graph.outgoing(fix.node);
        for (const Edge& edge : readers) {
            std::vector<Dot> dots = graph.dots(edge.to);
            builder.connect({fix.edge.from, edge.to});
            builder.setDots(edge.to, std::move(dots));
        }
        builder.removeNode(fix.node);
        return;
    }
    case Fix::Kind::enableNode: {
        Node node = *graph.find(fix.node);
        node.disabled = false;
        builder.change(node);
        return;
    }
    case Fix::Kind::setAttribute: {
        Node node = *graph.find(fix.node);
        if (fix.value)
            node.attributes.set(fix.attribute, *fix.value);
        else
            node.attributes.erase(fix.attribute);
        builder.change(node);
        return;
    }
    }
}

Fix moveFix(const Graph& graph, NodeId node, Device device) {
    Fix fix;
    fix.kind = Fix::Kind::moveNode;
    fix.title = fmt::format("move {} to {}", labelOf(graph, node), device.toString());
    fix.node = node;
    fix.device = device;
    return fix;
}

Fix disconnectFix(const Graph& graph, const Edge& edge) {
    Fix fix;
    fix.kind = Fix::Kind::disconnect;
    fix.title =
        fmt::format("disconnect {} -> {}", labelOf(graph, edge.from.node), labelOf(graph, edge.to.node));
    fix.node = edge.to.node;
    fix.edge = edge;
    return fix;
}

Delta toDelta(const Graph& graph, const Fix& fix) {
    DeltaBuilder builder(graph, fix.title);
    apply(builder, fix);
    return builder.take();
}

Delta toDelta(const Graph& graph, const std::vector<Fix>& fixes, std::string title) {
    DeltaBuilder builder(graph, std::move(title));
    for (const Fix& fix : fixes) {
        try {
            apply(builder, fix);
        } catch (const Error&) {
            continue; // an earlier fix already changed what this one is about
        }
    }
    return builder.take();
}

void moveToDevice(DeltaBuilder& builder, const std::vector<NodeId>& nodes, Device device) {
    const LaneId lane = laneOf(builder, device);
    // Cards that stand there, by columns and rows of a grid as wide as a card and its gap.
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    const auto cell = [](Position at) {
        return std::pair{std::llround(at.x / kColumn), std::llround(at.y / kRow)};
    };
    double bottom = 0;
    for (const Node& node : builder.graph().nodes()) {
        if (node.lane != lane) continue;
        taken.insert(cell(node.position));
        bottom = std::max(bottom, node.position.y + kRow);
    }
    double top = std::numeric_limits<double>::infinity();
    bool covers = false;
    for (NodeId id : nodes) {
        const Node* node = builder.graph().find(id);
        if (!node || node->lane == lane) continue;
        top = std::min(top, node->position.y);
        const auto [x, y] = cell(node->position);
        for (const int dx : {-1, 0, 1})
            for (const int dy : {-1, 0, 1}) covers = covers || taken.contains({x + dx, y + dy});
    }
    for (NodeId id : nodes) {
        const Node* before = builder.graph().find(id);
        if (!before || before->lane == lane) continue;
        moveToLane(builder, id, lane);
        Node node = *builder.graph().find(id);
        if (covers) node.position.y += bottom - top;
        builder.change(node);
    }
    carryDots(builder, nodes, lane, covers ? bottom - top : 0);
}

Delta moveToDevice(const Graph& graph, const std::vector<NodeId>& nodes, Device device) {
    DeltaBuilder builder(
        graph, nodes.size() == 1 ? fmt::format("move {} to {}", labelOf(graph, nodes[0]), device.toString())
                                 : fmt::format("move {} nodes to {}", nodes.size(), device.toString()));
    moveToDevice(builder, nodes, device);
    return builder.take();
}

} // namespace twb
