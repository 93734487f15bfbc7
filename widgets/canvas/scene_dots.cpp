// The dots that wires run through.

#include "widgets/canvas/scene.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace twb {

const std::vector<DotShape>& Scene::dotsOf(const WireShape& wire) const noexcept {
    static const std::vector<DotShape> none;
    const auto found = m_dots.empty() ? m_dots.end() : m_dots.find(wire.edge.to);
    return found == m_dots.end() ? none : found->second;
}

const DotShape* Scene::dot(const DotRef& ref) const noexcept {
    const auto wire = m_wireInto.find(ref.wire);
    if (wire == m_wireInto.end() || !m_wires[wire->second].showsDots) return nullptr;
    const std::vector<DotShape>& dots = dotsOf(m_wires[wire->second]);
    return ref.index < dots.size() && !dots[ref.index].isHidden ? &dots[ref.index] : nullptr;
}

void Scene::takeRoute(const Change<Route>& change) {
    const PortRef input = change.after ? change.after->id : change.before->id;
    if (const auto wire = m_wireInto.find(input); wire != m_wireInto.end()) m_restyle.push_back(wire->second);
    m_dots.erase(input);
    if (!change.after) return;
    std::vector<DotShape>& dots = m_dots[input];
    for (const Dot& dot : change.after->dots) dots.push_back({dot, {}, {}});
}

/// The lane is at least as high as its dots.
void Scene::makeRoomForDots() {
    std::unordered_map<LaneId, double> lowest;
    for (const auto& [input, dots] : m_dots) {
        const auto wire = m_wireInto.find(input);
        if (wire == m_wireInto.end() || isOutside(drawnSlot(m_wires[wire->second].from)) ||
            isOutside(drawnSlot(m_wires[wire->second].to)))
            continue;
        for (const DotShape& dot : dots) {
            double& y = lowest[dot.dot.lane];
            y = std::max(y, dot.dot.position.y + kDotRadius);
        }
    }
    if (lowest.empty()) return;
    for (LaneBand& band : m_lanes)
        if (const auto y = lowest.find(band.id); y != lowest.end())
            band.contentBottom = std::max(band.contentBottom, y->second);
}

/// Positions all dots after the lanes were placed.
void Scene::layDots() {
    std::unordered_map<LaneId, const LaneBand*> bands;
    if (!m_dots.empty())
        for (const LaneBand& band : m_lanes) bands[band.id] = &band;
    for (auto& [input, dots] : m_dots) {
        const auto wire = m_wireInto.find(input);
        if (wire == m_wireInto.end()) continue;
        // Dots below the card of a collapsed module belong to hidden paths.
        std::array<const NodeShape*, 2> modules{};
        const std::uint32_t ends[] = {m_wires[wire->second].from, m_wires[wire->second].to};
        for (std::size_t side = 0; side < 2; ++side)
            if (const std::uint32_t card = m_nodes[ends[side]].module; card != kNoSlot)
                modules[side] = &m_nodes[card];
        bool moved = false;
        for (DotShape& dot : dots) {
            const auto band = bands.find(dot.dot.lane);
            if (band == bands.end()) continue;
            const QPointF at(dot.dot.position.x + dot.drag.x(),
                             band->second->top + dot.dot.position.y + dot.drag.y());
            const bool isHidden = band->second->collapsed ||
                                  std::any_of(modules.begin(), modules.end(),
                                              [&](auto* card) { return card && card->rect.contains(at); });
            moved = moved || at != dot.at || isHidden != dot.isHidden;
            dot.at = at;
            dot.isHidden = isHidden;
        }
        if (moved) m_restyle.push_back(wire->second);
    }
}

void Scene::holdDot(const DotRef& ref, const Dot& dot) {
    const auto wire = m_wireInto.find(ref.wire);
    const LaneBand* band = lane(dot.lane);
    if (wire == m_wireInto.end() || !band) return;
    std::vector<DotShape>& dots = m_dots[ref.wire];
    DotShape shape{dot, {}, {dot.position.x, band->top + dot.position.y}};
    dots.insert(dots.begin() + static_cast<std::ptrdiff_t>(std::min(ref.index, dots.size())), shape);
    m_heldDot = ref;
    ++m_version;
    routeWireOf(wire->second);
}

void Scene::dropHeldDot() {
    if (!m_heldDot) return;
    const DotRef ref = *std::exchange(m_heldDot, std::nullopt);
    const auto found = m_dots.find(ref.wire);
    if (found == m_dots.end() || ref.index >= found->second.size()) return;
    found->second.erase(found->second.begin() + static_cast<std::ptrdiff_t>(ref.index));
    if (found->second.empty()) m_dots.erase(found);
    ++m_version;
    if (const auto wire = m_wireInto.find(ref.wire); wire != m_wireInto.end()) routeWireOf(wire->second);
}

void Scene::dragDots(std::span<const std::pair<DotRef, QPointF>> dots) {
    for (const auto& [ref, offset] : dots) {
        const auto found = m_dots.find(ref.wire);
        if (found == m_dots.end() || ref.index >= found->second.size()) continue;
        DotShape& dot = found->second[ref.index];
        dot.at += offset - dot.drag;
        dot.drag = offset;
        if (const auto wire = m_wireInto.find(ref.wire); wire != m_wireInto.end())
            m_restyle.push_back(wire->second);
    }
}

bool Scene::takesDots(const WireShape& wire) const noexcept {
    const auto isBeside = [this](std::int32_t stub) {
        return stub >= 0 && m_stubs[static_cast<std::size_t>(stub)].kind != StubShape::Kind::onLane;
    };
    return !wire.hidden && !isBeside(wire.fromStub) && !isBeside(wire.toStub);
}

QVarLengthArray<QPointF, 16> Scene::shownDotsOf(const WireShape& wire) const {
    QVarLengthArray<QPointF, 16> points;
    if (!wire.showsDots) return points;
    for (const DotShape& dot : dotsOf(wire))
        if (!dot.isHidden) points.append(dot.at);
    return points;
}

DotPlace Scene::placeNear(const WireShape& wire, QPointF point) const {
    const WirePath way = path(wire);
    const WirePath::Near near = way.nearest(point);
    return placeIn(wire, way, near.cubic, near.at);
}

DotPlace Scene::placeAmid(const WireShape& wire) const {
    const WirePath way = path(wire);
    int longest = 0;
    double most = -1;
    for (int cubic = 0; cubic < way.cubicCount(); ++cubic) {
        const QPointF stretch = way.endOf(cubic) - way.endOf(cubic - 1);
        const double length = QPointF::dotProduct(stretch, stretch);
        if (length > most) longest = cubic;
        most = std::max(most, length);
    }
    return placeIn(wire, way, longest, way.at((longest + 0.5) / way.cubicCount()));
}

/// After the last visible dot that the path passes before this cubic.
DotPlace Scene::placeIn(const WireShape& wire, const WirePath& way, int cubic, QPointF at) const {
    DotPlace place{0, at};
    if (!wire.showsDots) return place;
    const std::vector<DotShape>& dots = dotsOf(wire);
    int before = 0;
    for (std::size_t i = 0; i < dots.size(); ++i) {
        if (dots[i].isHidden) continue;
        while (before < cubic && way.endOf(before) != dots[i].at) ++before;
        if (before == cubic) break;
        ++before;
        place.index = i + 1;
    }
    return place;
}

} // namespace twb
