#include "widgets/canvas/wire_detour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace twb {
namespace {

constexpr double kTouch = 2;          ///< closer than this to a card, a wire seems to pass behind it
constexpr double kClear = 11;         ///< between a card and the level stretch beside it
constexpr double kTurn = 26;          ///< horizontal room of a turn beside a card
constexpr double kAcross = 60;        ///< how far a detour may leave the wire's own bounds
constexpr double kUpOrDown = 260;     ///< the same vertically
constexpr std::size_t kMostRows = 24; ///< heights that are tried

/// The heights of level stretches, the least detour first: of both ends, and above and below each card.
std::vector<double> rows(const WireLeg& leg, std::span<const QRectF> cards, const QRectF& area) {
    std::vector<double> out{leg.start.y(), leg.end.y()};
    for (const QRectF& card : cards) {
        out.push_back(card.top() - kClear);
        out.push_back(card.bottom() + kClear);
    }
    std::erase_if(out, [&](double y) { return y < area.top() + kClear || y > area.bottom() - kClear; });
    const auto detour = [&](double y) { return std::abs(y - leg.start.y()) + std::abs(y - leg.end.y()); };
    std::sort(out.begin(), out.end(),
              [&](double a, double b) { return std::pair(detour(a), a) < std::pair(detour(b), b); });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    if (out.size() > kMostRows) out.resize(kMostRows);
    return out;
}

/// Where the level stretch may begin and end: close to the cards in the way, or to the ends of the leg.
struct Span {
    double left = 0;
    double right = 0;
};

std::vector<Span> spans(const WireLeg& leg, const QRectF& inTheWay) {
    if (leg.end.x() < leg.start.x()) return {{leg.start.x() - kClear, leg.end.x() + kClear}}; // backward
    const double length = leg.end.x() - leg.start.x();
    const double turn = std::min(kTurn, length / 4);
    const std::array<double, 2> lefts{std::max(leg.start.x() + turn, inTheWay.left() - kTurn),
                                      leg.start.x() + turn};
    const std::array<double, 2> rights{std::min(leg.end.x() - turn, inTheWay.right() + kTurn),
                                       leg.end.x() - turn};
    std::vector<Span> out;
    for (const double left : lefts)
        for (const double right : rights)
            if (left < right) out.push_back({left, right});
    return out;
}

} // namespace

WirePath WireLeg::path(const std::optional<Detour>& detour) const {
    WirePath out(start);
    if (detour)
        routeWire(out, std::array{detour->first, detour->last}, end, source, target);
    else
        routeWire(out, end, source, target);
    return out;
}

bool isBehind(const WirePath& path, const QRectF& card) {
    return path.crosses(card.adjusted(-kTouch, -kTouch, kTouch, kTouch));
}

QRectF detourArea(const WireLeg& leg) {
    return leg.path().bounds().adjusted(-kAcross, -kUpOrDown, kAcross, kUpOrDown);
}

std::optional<Detour> findDetour(const WireLeg& leg, std::span<const QRectF> cards) {
    const WirePath direct = leg.path();
    QRectF inTheWay;
    for (const QRectF& card : cards)
        if (isBehind(direct, card)) inTheWay |= card;
    const QRectF area = detourArea(leg);
    // A leg touches its own cards at its ends, but never passes behind them.
    const auto own = [](const QRectF& card) { return card.adjusted(kTouch, kTouch, -kTouch, -kTouch); };
    const std::vector<Span> all = spans(leg, inTheWay);
    for (const double y : rows(leg, cards, area)) {
        for (const Span& span : all) {
            const Detour detour{{span.left, y}, {span.right, y}};
            const WirePath path = leg.path(detour);
            if (!area.contains(path.bounds())) continue;
            const bool isFree = std::none_of(cards.begin(), cards.end(),
                                             [&](const QRectF& card) { return isBehind(path, card); }) &&
                                !path.crosses(own(leg.source)) && !path.crosses(own(leg.target));
            if (isFree) return detour;
        }
    }
    return std::nullopt;
}

} // namespace twb
