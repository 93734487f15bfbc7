#include "widgets/canvas/stub_shapes.h"

#include "graph/card_size.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace twb {
namespace {

constexpr double kStubHeight = 20;   ///< on a strip
constexpr double kStubSpread = 56;   ///< closer items on a strip share a stub
constexpr double kPortHeight = 30;   ///< beside the open module
constexpr double kPortSpacing = 42;  ///< between the tops of two stubs
constexpr double kPortDistance = 72; ///< from the content of the module
constexpr double kWidestPort = 168;
constexpr double kLeastTop = 16; ///< in a lane without other items

std::uint64_t keyOf(std::uint32_t slot, PortSide side) noexcept {
    return std::uint64_t{slot} * 2 + (side == PortSide::input ? 1 : 0);
}

/// A stub beside the open module, without its height in the lane.
StubShape makePort(const Scene& scene, const Graph& graph, std::uint32_t slot, PortSide side) {
    const NodeShape& shape = scene.nodes()[slot];
    StubShape stub;
    stub.kind = side == PortSide::output ? StubShape::Kind::producer : StubShape::Kind::consumer;
    stub.lane = shape.lane;
    stub.device = shape.device;
    const ModuleShape* module = scene.modules().at(slot);
    stub.nodes = module ? module->nodes : std::vector{shape.id};
    stub.title =
        elided(module ? module->title : toQt(graph.find(shape.id)->name), TextRole::strong, kWidestPort - 24);
    stub.hasError = shape.hasError;
    const double width = std::ceil((roughWidth(stub.title.toStdString(), TextRole::strong) + 26) / 8);
    stub.rect = {0, 0, std::clamp(width * 8, 64.0, kWidestPort), kPortHeight};
    return stub;
}

} // namespace

void StubShapes::read(const Scene& scene, const Graph& graph) {
    m_stubs.clear();
    m_indexOf.clear();
    const HiddenNodes& hidden = scene.hidden();
    if (!hidden.any()) return;
    const NodeShapes& nodes = scene.nodes();
    std::map<std::uint32_t, int> onStrips; ///< wires by hidden item on a collapsed lane
    const auto addPort = [&](std::uint32_t slot, PortSide side, std::uint32_t inside, double y) {
        const auto [known, isNew] =
            m_indexOf.try_emplace(keyOf(slot, side), static_cast<std::int32_t>(m_stubs.size()));
        if (isNew) m_stubs.push_back(makePort(scene, graph, slot, side));
        // The highest of its wires decides, since their order depends on earlier edits.
        StubShape& stub = m_stubs[static_cast<std::size_t>(known->second)];
        const double top = nodes[inside].lane == nodes[slot].lane ? y - kPortHeight / 2 : 0;
        stub.at.y = isNew ? top : std::min(stub.at.y, top);
        ++stub.wires;
    };
    for (const WireShape& wire : scene.wires().shapes()) {
        if (wire.free) continue;
        const std::uint32_t from = nodes.drawnSlot(wire.from);
        const std::uint32_t to = nodes.drawnSlot(wire.to);
        const NodeShape& sender = nodes[from];
        const NodeShape& taker = nodes[to];
        if ((!sender.isHidden && !taker.isHidden) || from == to || nodes.isRow(from)) continue;
        if (hidden.areTogether(sender, taker)) continue;
        // Relative to its lane, since the lanes are not stacked yet.
        const auto heightOf = [&](const NodeShape& shape, PortRef port, PortSide side) {
            return scene.modules().portAt(port, side).y() - shape.rect.top() + shape.at.y;
        };
        if (hidden.isOutside(sender.frame))
            addPort(from, PortSide::output, to, heightOf(taker, wire.edge.to, PortSide::input));
        else if (sender.isHidden)
            ++onStrips[from];
        if (hidden.isOutside(taker.frame))
            addPort(to, PortSide::input, from, heightOf(sender, wire.edge.from, PortSide::output));
        else if (taker.isHidden)
            ++onStrips[to];
    }
    std::vector<std::uint32_t> slots;
    for (const auto& [slot, wires] : onStrips) slots.push_back(slot);
    const auto order = [&](std::uint32_t slot) {
        return std::tuple(value(nodes[slot].lane), nodes[slot].at.x, value(nodes[slot].id));
    };
    std::sort(slots.begin(), slots.end(), [&](auto a, auto b) { return order(a) < order(b); });
    double first = 0;
    for (const std::uint32_t slot : slots) {
        const NodeShape& shape = nodes[slot];
        const bool joins = !m_stubs.empty() && m_stubs.back().kind == StubShape::Kind::onLane &&
                           m_stubs.back().lane == shape.lane && shape.at.x - first < kStubSpread;
        if (!joins) {
            StubShape stub;
            stub.lane = shape.lane;
            stub.device = shape.device;
            first = shape.at.x;
            m_stubs.push_back(std::move(stub));
        }
        StubShape& stub = m_stubs.back();
        if (const ModuleShape* module = scene.modules().at(slot))
            stub.nodes.insert(stub.nodes.end(), module->nodes.begin(), module->nodes.end());
        else
            stub.nodes.push_back(shape.id);
        stub.wires += onStrips[slot];
        stub.hasError = stub.hasError || shape.hasError;
        stub.at.x = (first + shape.at.x + card::minWidth) / 2; // the centre, until its width is known
        for (const PortSide side : {PortSide::input, PortSide::output})
            m_indexOf[keyOf(slot, side)] = static_cast<std::int32_t>(m_stubs.size() - 1);
    }
    settle(scene);
}

/// Positions each stub in its lane: on a strip above its items; beside a module left and right of it, one
/// below the other.
void StubShapes::settle(const Scene& scene) {
    double left = std::numeric_limits<double>::max();
    double right = std::numeric_limits<double>::lowest();
    std::unordered_map<LaneId, double> tops;
    for (const NodeShape& shape : scene.nodes().shapes()) {
        if (shape.id == NodeId::none || shape.isHidden || shape.card != kNoSlot) continue;
        if (shape.kind == NodeShape::Kind::hidden) continue; // inside a collapsed module
        left = std::min(left, shape.at.x);
        right = std::max(right, shape.at.x + shape.rect.width());
        double& top = tops.try_emplace(shape.lane, shape.at.y).first->second;
        top = std::min(top, shape.at.y);
    }
    std::map<std::pair<LaneId, StubShape::Kind>, std::vector<StubShape*>> columns;
    for (StubShape& stub : m_stubs) {
        if (stub.kind == StubShape::Kind::onLane) {
            stub.title = QString::number(stub.wires);
            const double width = std::ceil(roughWidth(stub.title.toStdString(), TextRole::strong)) + 18;
            stub.rect = {0, 0, std::max(width, 28.0), kStubHeight};
            stub.at = {stub.at.x - stub.rect.width() / 2, 0};
            continue;
        }
        stub.at.x = stub.kind == StubShape::Kind::producer ? left - kPortDistance - stub.rect.width()
                                                           : right + kPortDistance;
        columns[{stub.lane, stub.kind}].push_back(&stub);
    }
    for (auto& [where, column] : columns) {
        std::sort(column.begin(), column.end(), [](const StubShape* a, const StubShape* b) {
            return std::tuple(a->at.y, a->nodes.front()) < std::tuple(b->at.y, b->nodes.front());
        });
        double least = tops.contains(where.first) ? tops[where.first] : kLeastTop;
        for (StubShape* stub : column) {
            stub->at.y = std::max(stub->at.y, least);
            least = stub->at.y + kPortSpacing;
        }
    }
}

void StubShapes::makeRoom(LaneStack& lanes) const {
    for (const StubShape& stub : m_stubs)
        if (stub.kind != StubShape::Kind::onLane) lanes.makeRoom(stub.lane, stub.at.y + stub.rect.height());
}

void StubShapes::place(const LaneStack& lanes) {
    for (StubShape& stub : m_stubs) {
        const LaneBand* band = lanes.find(stub.lane);
        if (!band) continue;
        const bool isOnStrip = band->collapsed || stub.kind == StubShape::Kind::onLane;
        const double y = isOnStrip ? (band->height - stub.rect.height()) / 2 : stub.at.y;
        stub.rect.moveTo(stub.at.x, band->top + y);
    }
}

std::int32_t StubShapes::of(std::uint32_t slot, PortSide side) const noexcept {
    const auto found = m_indexOf.find(keyOf(slot, side));
    return found == m_indexOf.end() ? -1 : found->second;
}

} // namespace twb
