// Wires do not pass behind cards. The detour of a wire depends only on its ends and on the cards near it, so
// that after an edit only the wires are routed again that have a card moving to or from there.

#include "widgets/canvas/scene.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// A wire that has more cards than these within its bounds goes straight: it is drawn over the whole graph.
constexpr std::size_t kMostCards = 256;

} // namespace

/// A dragged card is not in the way: it can be dropped on a wire.
bool Scene::isInTheWay(std::uint32_t slot) const noexcept {
    const NodeShape& shape = m_nodes[slot];
    return shape.placed && !shape.dragged && shape.kind != NodeShape::Kind::row;
}

/// The detour of one leg. `isWatching` becomes true if it depends on the cards in detourArea().
std::optional<Detour> Scene::detourOf(const WireShape& wire, const WireLeg& leg, bool& isWatching) const {
    const std::uint32_t from = drawnSlot(wire.from);
    const std::uint32_t to = drawnSlot(wire.to);
    // False if there are too many cards.
    const auto visitCards = [&](const QRectF& area, auto&& visit) {
        std::size_t count = 0;
        return !m_nodeGrid.any(area, [&](std::uint32_t slot) {
            if (!isInTheWay(slot) || slot == from || slot == to) return false;
            if (!m_nodes[slot].rect.intersects(area)) return false;
            visit(m_nodes[slot].rect);
            return ++count > kMostCards;
        });
    };
    const WirePath direct = leg.path();
    bool isBehindOne = false;
    const auto look = [&](const QRectF& card) { isBehindOne = isBehindOne || isBehind(direct, card); };
    if (!visitCards(direct.bounds().adjusted(-4, -4, 4, 4), look) || !isBehindOne) return std::nullopt;
    isWatching = true;
    std::vector<QRectF> cards;
    if (!visitCards(detourArea(leg), [&](const QRectF& card) { cards.push_back(card); })) return std::nullopt;
    // In an order of their own: the grid's depends on the history.
    std::sort(cards.begin(), cards.end(), [](const QRectF& a, const QRectF& b) {
        return std::pair(a.x(), a.y()) < std::pair(b.x(), b.y());
    });
    return findDetour(leg, cards);
}

/// Finds the detours of a wire. One with dots runs as its dots lead it.
void Scene::avoidCards(std::uint32_t slot) {
    WireShape& wire = m_wires[slot];
    if (wire.showsDots) return;
    WireDetour detour;
    bool isWatching = false;
    const auto legs = legsOf(wire);
    for (qsizetype i = 0; i < legs.size(); ++i) {
        bool watches = false;
        detour.legs[std::size_t(i)] = detourOf(wire, legs[i], watches);
        if (watches) detour.area |= detourArea(legs[i]);
        isWatching = isWatching || watches;
    }
    if (!isWatching) return;
    wire.turnsAside = detour.legs[0] || detour.legs[1];
    m_detourGrid.insert(slot, detour.area);
    m_detours.insert_or_assign(slot, detour);
}

void Scene::forgetDetour(std::uint32_t slot) {
    m_wires[slot].turnsAside = false;
    const auto found = m_detours.find(slot);
    if (found == m_detours.end()) return;
    m_detourGrid.remove(slot, found->second.area);
    m_detours.erase(found);
}

/// Has the wires routed that cards may have got in the way of, or out of.
void Scene::restyleDisturbed() {
    if (m_disturbed.size() > m_wires.size() / 4 + 16) {
        m_restyle.clear();
        for (std::uint32_t i = 0; i < m_wires.size(); ++i)
            if (!m_wires[i].free) m_restyle.push_back(i);
    } else {
        for (const QRectF& rect : m_disturbed) {
            visitWires(rect.adjusted(-4, -4, 4, 4), [&](std::uint32_t wire) { m_restyle.push_back(wire); });
            m_detourGrid.query(rect, [&](std::uint32_t wire) { m_restyle.push_back(wire); });
        }
    }
    m_disturbed = {};
}

} // namespace twb
