#pragma once

#include "widgets/canvas/wire_path.h"

#include <optional>
#include <span>

namespace twb {

/// A level stretch that leads a wire above or below the cards in its way, in canvas units.
struct Detour {
    QPointF first; ///< where the wire becomes level
    QPointF last;
    bool operator==(const Detour&) const = default;
};

/// One part of a wire without dots: from a port, or a pill on the wire, to the next one.
struct WireLeg {
    QPointF start;
    QPointF end;
    QRectF source; ///< the cards at both ends, as for routeWire(); may be empty
    QRectF target;

    WirePath path(const std::optional<Detour>& detour = {}) const;
};

/// Whether a leg passes behind a card that is not one of its ends.
bool isBehind(const WirePath& path, const QRectF& card);
/// The cards that determine the detour of a leg lie in this area.
QRectF detourArea(const WireLeg& leg);
/// The detour of a leg that passes behind one of `cards`, which are those in detourArea() except its ends:
/// the least vertical way that passes behind no card. Nothing if there is none.
std::optional<Detour> findDetour(const WireLeg& leg, std::span<const QRectF> cards);

} // namespace twb
