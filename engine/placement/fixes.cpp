#include "placement/fixes.h"

#include "core/error.h"
#include "graph/folding.h"
#include "graph/routes.h"
#include "placement/device_rule.h"
#include "placement/fix_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace twb {
namespace {

constexpr double kColumn = 200; ///< a card and the gap beside it
constexpr double kRow = 96;     ///< a card and the gap below it

} // namespace

LaneId laneOf(DeltaBuilder& builder, Device device) {
    const auto lanes = builder.graph().lanesInOrder();
    for (const Lane& lane : lanes)
        if (lane.device == device) return lane.id;
    Lane lane;
    lane.device = device;
    for (const Lane& other : lanes) lane.order = std::max(lane.order, other.order + 1);
    return builder.addLane(std::move(lane));
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

namespace {

/// Fixes that no longer apply after earlier ones are left out.
void applyAll(FixWriter& writer, const std::vector<Fix>& fixes) {
    for (const Fix& fix : fixes) {
        try {
            writer.apply(fix);
        } catch (const Error&) {
            if (fixes.size() == 1) throw;
        }
    }
}

} // namespace

Delta toDelta(const Graph& graph, const Fix& fix) { return toDelta(graph, std::vector{fix}, fix.title); }

Delta toDelta(const Graph& graph, const std::vector<Fix>& fixes, std::string title) {
    DeltaBuilder builder(graph, std::move(title));
    FixWriter writer(builder);
    applyAll(writer, fixes);
    writer.finish();
    return builder.take();
}

Delta combineFixes(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                   const std::vector<Fix>& fixes, std::string title) {
    const DeviceRule rule(graph, devices, analysis);
    Moves moves;
    for (const Fix& fix : fixes)
        if (fix.kind == Fix::Kind::moveNode && graph.find(fix.node))
            moves.merge(rule.movesOf(fix.node, fix.device));
    DeltaBuilder builder(graph, std::move(title));
    FixWriter writer(builder, &devices);
    applyAll(writer, fixes);
    for (const Fix& detour : rule.detoursOf(moves))
        if (builder.graph().find(detour.node) && builder.graph().find(detour.edge.from.node))
            writer.apply(detour);
    for (const Fix& copy : rule.copiesFor(moves))
        if (builder.graph().sourceOf(copy.edge.to) == copy.edge.from) writer.apply(copy);
    writer.finish();
    return builder.take();
}

void moveToDevice(DeltaBuilder& builder, const std::vector<NodeId>& nodes, Device device) {
    const LaneId lane = laneOf(builder, device);
    // The existing cards, in a grid whose cells have the size of a card and its gap.
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
