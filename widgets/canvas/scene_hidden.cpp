// Hidden items, on a collapsed lane or outside the open module, and the stubs at which their wires end.

#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QCoreApplication>

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

} // namespace

/// Whether a slot is outside the open module.
bool Scene::isOutside(std::uint32_t slot) const noexcept {
    return !m_inside.empty() && !m_inside.contains(m_nodes[slot].frame);
}

void Scene::readHidden(const SceneSource& source) {
    m_inside.clear();
    m_open = source.graph.find(source.inside) ? source.inside : FrameId::none;
    if (m_open != FrameId::none) {
        m_inside.insert(source.inside);
        // Parents may come after their children, so this repeats as often as frames can be nested.
        for (std::size_t before = 0; before != m_inside.size();) {
            before = m_inside.size();
            for (const Frame& frame : source.graph.frames())
                if (m_inside.contains(frame.parent)) m_inside.insert(frame.id);
        }
    }
    std::unordered_set<LaneId> collapsed;
    for (const LaneBand& band : m_lanes)
        if (band.collapsed) collapsed.insert(band.id);
    const bool any = !collapsed.empty() || !m_inside.empty();
    if (!any && !m_hasHidden) return;
    m_hasHidden = any;
    for (std::uint32_t slot = 0; slot < m_nodes.size(); ++slot) {
        NodeShape& shape = m_nodes[slot];
        if (shape.id == NodeId::none) continue;
        // A row is on its card.
        const std::uint32_t at = drawnSlot(shape.card == kNoSlot ? slot : shape.card);
        const bool isHidden = collapsed.contains(m_nodes[at].lane) || isOutside(at);
        if (isHidden == shape.isHidden) continue;
        shape.isHidden = isHidden;
        measure(slot);
        touch(slot);
    }
}

/// Determines the ends of hidden items' wires. Stubs on strips get their positions; the others need room,
/// which may make lanes higher.
void Scene::readStubs(const SceneSource& source) {
    m_stubs.clear();
    m_stubOf.clear();
    if (!m_hasHidden) return;
    std::map<std::uint32_t, int> onStrips; ///< wires by hidden item on a collapsed lane
    const auto addPort = [&](std::uint32_t slot, PortSide side, std::uint32_t inside, QPointF port) {
        const auto [known, isNew] =
            m_stubOf.try_emplace(keyOf(slot, side), static_cast<std::int32_t>(m_stubs.size()));
        const NodeShape& shape = m_nodes[slot];
        if (isNew) {
            StubShape stub;
            stub.kind = side == PortSide::output ? StubShape::Kind::producer : StubShape::Kind::consumer;
            stub.lane = shape.lane;
            stub.device = shape.device;
            stub.nodes = {shape.id};
            const Node* node = source.graph.find(shape.id);
            const auto module = m_modules.find(slot);
            if (module != m_modules.end()) stub.nodes = module->second.nodes;
            const QString name = module != m_modules.end() ? module->second.title : toQt(node->name);
            stub.title = elided(name, TextRole::strong, kWidestPort - 24);
            stub.hasError = shape.hasError;
            const double width = std::ceil((roughWidth(stub.title.toStdString(), TextRole::strong) + 26) / 8);
            stub.rect = {0, 0, std::clamp(width * 8, 64.0, kWidestPort), kPortHeight};
            stub.at.y = m_nodes[inside].lane == shape.lane ? port.y() - kPortHeight / 2 : 0;
            m_stubs.push_back(std::move(stub));
        }
        ++m_stubs[static_cast<std::size_t>(known->second)].wires;
    };
    for (const WireShape& wire : m_wires) {
        if (wire.free) continue;
        const std::uint32_t from = drawnSlot(wire.from);
        const std::uint32_t to = drawnSlot(wire.to);
        const NodeShape& sender = m_nodes[from];
        const NodeShape& taker = m_nodes[to];
        if ((!sender.isHidden && !taker.isHidden) || from == to || isRow(from)) continue;
        const bool comesIn = isOutside(from);
        const bool goesOut = isOutside(to);
        if (isBetweenHidden(from, to)) continue;
        // Relative to its lane, since the lanes are not stacked yet.
        const auto portIn = [&](const NodeShape& shape, PortRef port, PortSide side) {
            return portAt(port, side) - shape.rect.topLeft() + QPointF(shape.at.x, shape.at.y);
        };
        if (comesIn)
            addPort(from, PortSide::output, to, portIn(taker, wire.edge.to, PortSide::input));
        else if (sender.isHidden)
            ++onStrips[from];
        if (goesOut)
            addPort(to, PortSide::input, from, portIn(sender, wire.edge.from, PortSide::output));
        else if (taker.isHidden)
            ++onStrips[to];
    }
    std::vector<std::uint32_t> slots;
    for (const auto& [slot, wires] : onStrips) slots.push_back(slot);
    const auto order = [this](std::uint32_t slot) {
        return std::tuple(value(m_nodes[slot].lane), m_nodes[slot].at.x, value(m_nodes[slot].id));
    };
    std::sort(slots.begin(), slots.end(), [&](auto a, auto b) { return order(a) < order(b); });
    double first = 0;
    for (const std::uint32_t slot : slots) {
        const NodeShape& shape = m_nodes[slot];
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
        const auto module = m_modules.find(slot);
        if (module == m_modules.end())
            stub.nodes.push_back(shape.id);
        else
            stub.nodes.insert(stub.nodes.end(), module->second.nodes.begin(), module->second.nodes.end());
        stub.wires += onStrips[slot];
        stub.hasError = stub.hasError || shape.hasError;
        stub.at.x = (first + shape.at.x + card::minWidth) / 2; // the centre, until its width is known
        for (const PortSide side : {PortSide::input, PortSide::output})
            m_stubOf[keyOf(slot, side)] = static_cast<std::int32_t>(m_stubs.size() - 1);
    }
    settleStubs();
    for (std::uint32_t i = 0; i < m_wires.size(); ++i)
        if (!m_wires[i].free &&
            (m_nodes[drawnSlot(m_wires[i].from)].isHidden || m_nodes[drawnSlot(m_wires[i].to)].isHidden))
            m_restyle.push_back(i);
}

/// Positions each stub in its lane: on a strip above its items; beside a module left and right of it, one
/// below the other.
void Scene::settleStubs() {
    double left = std::numeric_limits<double>::max();
    double right = std::numeric_limits<double>::lowest();
    std::unordered_map<LaneId, double> tops;
    for (const NodeShape& shape : m_nodes) {
        if (shape.id == NodeId::none || shape.isHidden || shape.card != kNoSlot) continue;
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
        std::stable_sort(column.begin(), column.end(),
                         [](const StubShape* a, const StubShape* b) { return a->at.y < b->at.y; });
        double least = tops.contains(where.first) ? tops[where.first] : kLeastTop;
        for (StubShape* stub : column) {
            stub->at.y = std::max(stub->at.y, least);
            least = stub->at.y + kPortSpacing;
        }
    }
}

bool Scene::isBetweenHidden(std::uint32_t from, std::uint32_t to) const noexcept {
    if (!m_nodes[from].isHidden || !m_nodes[to].isHidden || isOutside(from) != isOutside(to)) return false;
    return isOutside(from) || m_nodes[from].lane == m_nodes[to].lane;
}

void Scene::placeStubs() {
    for (StubShape& stub : m_stubs) {
        const LaneBand* band = lane(stub.lane);
        if (!band) continue;
        const bool isOnStrip = band->collapsed || stub.kind == StubShape::Kind::onLane;
        const double y = isOnStrip ? (band->height - stub.rect.height()) / 2 : stub.at.y;
        stub.rect.moveTo(stub.at.x, band->top + y);
    }
}

/// The end of a wire: its node's port, or the stub that represents the node.
QPointF Scene::endOf(PortRef port, PortSide side, std::int32_t stub) const noexcept {
    if (stub < 0) return portAt(port, side);
    const QRectF& rect = m_stubs[static_cast<std::size_t>(stub)].rect;
    return {side == PortSide::output ? rect.right() : rect.left(), rect.center().y()};
}

std::int32_t Scene::stubOf(std::uint32_t slot, PortSide side) const noexcept {
    if (!m_nodes[slot].isHidden) return -1;
    const auto found = m_stubOf.find(keyOf(slot, side));
    return found == m_stubOf.end() ? -1 : found->second;
}

} // namespace twb
