#include "widgets/canvas/lane_stack.h"

#include "backends/world.h"
#include "widgets/text.h"

#include <QCoreApplication>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

/// For translators.
struct LaneStackWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

constexpr double kLaneMargin = 20; ///< below the lowest card of a lane, clear of a pill on the border
constexpr double kLeastLane = 104; ///< for a header and a card
constexpr double kStrip = 48;      ///< of a collapsed lane

} // namespace

const LaneBand* LaneStack::find(LaneId id) const noexcept {
    const auto found = std::ranges::find(m_bands, id, &LaneBand::id);
    return found == m_bands.end() ? nullptr : &*found;
}

LaneBand* LaneStack::band(LaneId id) noexcept {
    const auto found = std::ranges::find(m_bands, id, &LaneBand::id);
    return found == m_bands.end() ? nullptr : &*found;
}

const LaneBand* LaneStack::at(double y) const noexcept {
    if (m_bands.empty()) return nullptr;
    for (const LaneBand& band : m_bands) {
        if (y < band.bottom()) return &band;
    }
    return &m_bands.back();
}

double LaneStack::leastHeightOf(const LaneBand& band) noexcept {
    if (band.collapsed) return kStrip;
    return std::max(band.contentBottom + kLaneMargin, kLeastLane);
}

void LaneStack::read(const SceneSource& source) {
    const std::vector<LaneBand> before = std::exchange(m_bands, {});
    std::vector<Device> seen;
    for (const Lane& lane : source.graph.lanesInOrder()) {
        LaneBand band;
        band.id = lane.id;
        band.device = source.devices.resolve(lane.device);
        const auto known = std::ranges::find(before, lane.id, &LaneBand::id);
        band.top = known != before.end() ? known->top : -1;
        band.height = lane.height;
        band.name = toQt(lane.device.toString());
        if (lane.device.isAuto()) band.name += QStringLiteral(" → ") + toQt(band.device.toString());
        band.title = toQt(lane.title);
        if (const int rank = band.device.rank;
            rank != 0 && (m_bands.empty() || m_bands.back().device.rank != rank))
            band.rankTitle =
                LaneStackWords::tr("Rank %1 · %2").arg(rank).arg(toQt(source.devices.link().name));
        if (const Backend* backend = source.devices.find(band.device)) {
            band.backend = toQt(backend->info().name);
            band.detail = toQt(backend->info().detail);
            band.simulated = backend->info().simulated;
        }
        band.collapsed = lane.collapsed;
        band.repeated = std::find(seen.begin(), seen.end(), band.device) != seen.end();
        seen.push_back(band.device);
        m_bands.push_back(std::move(band));
    }
}

void LaneStack::discount(NodeShape& shape) {
    if (const auto lane = m_bottoms.find(shape.contentLane); lane != m_bottoms.end()) {
        const auto bottom = lane->second.find(shape.contentBottom);
        if (--bottom->second == 0) lane->second.erase(bottom);
    }
    shape.contentLane = LaneId::none;
}

void LaneStack::count(NodeShape& shape) {
    discount(shape);
    if (shape.id == NodeId::none || shape.kind == NodeShape::Kind::row) return;
    if (shape.kind == NodeShape::Kind::hidden) return;
    double room = shape.frame != FrameId::none ? kFramePadding : 0.0;
    if (shape.kind == NodeShape::Kind::pill) room = kLabelRoom - kLaneMargin;
    if (shape.isStaged) room += kLabelRoom - kLaneMargin / 2;
    shape.contentLane = shape.lane;
    shape.contentBottom = shape.at.y + shape.rect.height() + room;
    ++m_bottoms[shape.lane][shape.contentBottom];
}

void LaneStack::makeRoom(LaneId lane, double bottom) {
    if (LaneBand* band = this->band(lane)) band->contentBottom = std::max(band->contentBottom, bottom);
}

void LaneStack::countHidden(LaneId lane, bool hasError) {
    LaneBand* band = this->band(lane);
    if (!band || !band->collapsed) return;
    ++band->hiddenNodes;
    band->hidesErrors = band->hidesErrors || hasError;
}

std::unordered_set<LaneId> LaneStack::stack(bool isPacked) {
    double top = 0;
    std::unordered_set<LaneId> moved;
    for (LaneBand& band : m_bands) {
        const auto bottoms = m_bottoms.find(band.id);
        if (bottoms != m_bottoms.end() && !bottoms->second.empty())
            band.contentBottom = std::max(band.contentBottom, bottoms->second.rbegin()->first);
        // A minimum height for hidden content would only waste space.
        if (band.collapsed || isPacked) band.height = 0;
        band.height = std::max(band.height, leastHeightOf(band));
        if (!band.rankTitle.isEmpty()) top += kRankTitle;
        if (band.top != top) moved.insert(band.id);
        band.top = top;
        top += band.height;
    }
    return moved;
}

} // namespace twb
