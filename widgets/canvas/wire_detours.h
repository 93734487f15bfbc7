#pragma once

#include "widgets/canvas/spatial_grid.h"
#include "widgets/canvas/wire_detour.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace twb {

/// The detours of all wires that would pass behind cards. The detour of a wire depends only on its ends and
/// on the cards near it, so that after an edit only those wires are routed again to or from which a card
/// moved.
class WireDetours {
public:
    using Legs = std::array<std::optional<Detour>, 2>;
    /// Calls `visit` for the cards in an area that may be in the way, until it returns false.
    using CardsIn = std::function<void(const QRectF& area, const std::function<bool(const QRectF&)>& visit)>;

    /// Finds the detours of a wire's legs, of which there are one or two. True if there is one.
    bool find(std::uint32_t wire, std::span<const WireLeg> legs, const CardsIn& cardsIn);
    /// Of a wire for which find() was true.
    const Legs& of(std::uint32_t wire) const { return m_watched.at(wire).legs; }
    void forget(std::uint32_t wire);

    /// Calls visit(wire) for the wires whose detour depends on cards in `rect`; maybe for others.
    template <class Visit> void visitWatching(const QRectF& rect, Visit&& visit) const {
        m_grid.query(rect, std::forward<Visit>(visit));
    }

private:
    struct Watched {
        Legs legs;   ///< empty where there is no way
        QRectF area; ///< of the cards that matter
    };
    std::unordered_map<std::uint32_t, Watched> m_watched; ///< wires with a card in their way
    SpatialGrid m_grid;                                   ///< the same, by area
};

} // namespace twb
