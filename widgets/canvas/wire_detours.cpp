#include "widgets/canvas/wire_detours.h"

#include <algorithm>

namespace twb {
namespace {

/// A wire with more cards than these within its bounds goes straight: it crosses the whole graph.
constexpr std::size_t kMostCards = 256;

/// The cards in an area, in an order of their own; nothing if there are too many.
std::optional<std::vector<QRectF>> cardsOf(const WireDetours::CardsIn& cardsIn, const QRectF& area) {
    std::vector<QRectF> cards;
    cardsIn(area, [&](const QRectF& card) {
        cards.push_back(card);
        return cards.size() <= kMostCards;
    });
    if (cards.size() > kMostCards) return std::nullopt;
    std::sort(cards.begin(), cards.end(), [](const QRectF& a, const QRectF& b) {
        return std::pair(a.x(), a.y()) < std::pair(b.x(), b.y());
    });
    return cards;
}

} // namespace

bool WireDetours::find(std::uint32_t wire, std::span<const WireLeg> legs, const CardsIn& cardsIn) {
    Watched found;
    for (std::size_t i = 0; i < legs.size(); ++i) {
        const WirePath direct = legs[i].path();
        const auto near = cardsOf(cardsIn, direct.bounds().adjusted(-4, -4, 4, 4));
        const auto isInTheWay = [&](const QRectF& card) { return isBehind(direct, card); };
        if (!near || std::none_of(near->begin(), near->end(), isInTheWay)) continue;
        const QRectF area = detourArea(legs[i]);
        found.area |= area;
        if (const auto cards = cardsOf(cardsIn, area)) found.legs[i] = findDetour(legs[i], *cards);
    }
    if (found.area.isNull()) return false;
    m_grid.insert(wire, found.area);
    m_watched.insert_or_assign(wire, found);
    return found.legs[0] || found.legs[1];
}

void WireDetours::forget(std::uint32_t wire) {
    const auto found = m_watched.find(wire);
    if (found == m_watched.end()) return;
    m_grid.remove(wire, found->second.area);
    m_watched.erase(found);
}

} // namespace twb
