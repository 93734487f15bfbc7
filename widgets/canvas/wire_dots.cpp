#include "widgets/canvas/wire_dots.h"

#include "widgets/canvas/scene.h"

#include <algorithm>
#include <utility>

namespace twb {

const std::vector<DotShape>& WireDots::on(PortRef input) const noexcept {
    static const std::vector<DotShape> none;
    const auto found = m_dots.empty() ? m_dots.end() : m_dots.find(input);
    return found == m_dots.end() ? none : found->second;
}

QVarLengthArray<QPointF, 16> WireDots::shownOn(const WireShape& wire) const {
    QVarLengthArray<QPointF, 16> points;
    if (!wire.showsDots) return points;
    for (const DotShape& dot : on(wire.edge.to))
        if (!dot.isHidden) points.append(dot.at);
    return points;
}

/// After the last visible dot that the path passes before this cubic.
DotPlace WireDots::placeIn(const WireShape& wire, const WirePath& path, int cubic, QPointF at) const {
    DotPlace place{0, at};
    if (!wire.showsDots) return place;
    const std::vector<DotShape>& dots = on(wire.edge.to);
    int before = 0;
    for (std::size_t i = 0; i < dots.size(); ++i) {
        if (dots[i].isHidden) continue;
        while (before < cubic && path.endOf(before) != dots[i].at) ++before;
        if (before == cubic) break;
        ++before;
        place.index = i + 1;
    }
    return place;
}

QRectF WireDots::bounds() const {
    QRectF all;
    for (const auto& [input, dots] : m_dots)
        for (const DotShape& dot : dots)
            if (!dot.isHidden)
                all |= QRectF(dot.at, QSizeF()).adjusted(-kDotRadius, -kDotRadius, kDotRadius, kDotRadius);
    return all;
}

std::vector<DotRef> WireDots::dragged() const {
    std::vector<DotRef> out;
    for (const auto& [input, dots] : m_dots)
        for (std::size_t i = 0; i < dots.size(); ++i)
            if (!dots[i].drag.isNull()) out.push_back({input, i});
    return out;
}

void WireDots::set(PortRef input, const std::vector<Dot>& dots) {
    m_dots.erase(input);
    for (const Dot& dot : dots) m_dots[input].push_back({dot, {}, {}});
}

void WireDots::makeRoom(const Scene& scene, LaneStack& lanes) const {
    for (const auto& [input, dots] : m_dots) {
        const WireShape* wire = scene.wires().into(input);
        const auto isOutside = [&](std::uint32_t end) {
            return scene.hidden().isOutside(scene.nodes()[scene.nodes().drawnSlot(end)].frame);
        };
        if (!wire || isOutside(wire->from) || isOutside(wire->to)) continue;
        for (const DotShape& dot : dots) lanes.makeRoom(dot.dot.lane, dot.dot.position.y + kDotRadius);
    }
}

std::vector<PortRef> WireDots::place(const Scene& scene) {
    std::vector<PortRef> changed;
    const NodeShapes& nodes = scene.nodes();
    for (auto& [input, dots] : m_dots) {
        const WireShape* wire = scene.wires().into(input);
        if (!wire) continue;
        // Dots below the card of a collapsed module belong to hidden paths.
        const auto isBelowModule = [&](std::uint32_t end, QPointF at) {
            return nodes[end].module != kNoSlot && nodes[nodes[end].module].rect.contains(at);
        };
        bool moved = false;
        for (DotShape& dot : dots) {
            const LaneBand* band = scene.lanes().find(dot.dot.lane);
            if (!band) continue;
            const QPointF at(dot.dot.position.x + dot.drag.x(),
                             band->top + dot.dot.position.y + dot.drag.y());
            const bool isHidden =
                band->collapsed || isBelowModule(wire->from, at) || isBelowModule(wire->to, at);
            moved = moved || at != dot.at || isHidden != dot.isHidden;
            dot.at = at;
            dot.isHidden = isHidden;
        }
        if (moved) changed.push_back(input);
    }
    return changed;
}

bool WireDots::drag(const DotRef& ref, QPointF offset) {
    const auto found = m_dots.find(ref.wire);
    if (found == m_dots.end() || ref.index >= found->second.size()) return false;
    DotShape& dot = found->second[ref.index];
    dot.at += offset - dot.drag;
    dot.drag = offset;
    return true;
}

void WireDots::hold(const DotRef& ref, const DotShape& dot) {
    std::vector<DotShape>& dots = m_dots[ref.wire];
    dots.insert(dots.begin() + static_cast<std::ptrdiff_t>(std::min(ref.index, dots.size())), dot);
    m_held = ref;
}

std::optional<PortRef> WireDots::dropHeld() {
    if (!m_held) return std::nullopt;
    const DotRef ref = *std::exchange(m_held, std::nullopt);
    const auto found = m_dots.find(ref.wire);
    if (found == m_dots.end() || ref.index >= found->second.size()) return std::nullopt;
    found->second.erase(found->second.begin() + static_cast<std::ptrdiff_t>(ref.index));
    if (found->second.empty()) m_dots.erase(found);
    return ref.wire;
}

} // namespace twb
