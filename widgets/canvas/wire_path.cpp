#include "widgets/canvas/wire_path.h"

#include "graph/routes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace twb {
namespace {

constexpr double kReach = 44;     ///< straight part of a wire before it turns back
constexpr double kClearance = 22; ///< between a card and a wire around it
constexpr int kSamples = 20;      ///< per cubic, for distances

QPointF cubicAt(const QPointF* p, double t) {
    const double u = 1 - t;
    return u * u * u * p[0] + 3 * u * u * t * p[1] + 3 * u * t * t * p[2] + t * t * t * p[3];
}

/// The centres of pieces of length at most `kPiece`, of the cubics that may touch `area`. Far from the
/// origin, where no piece can be that short, `halvings` and kMost bound the loop.
void sampleCubic(const std::array<QPointF, 4>& p, const QRectF& area, std::vector<QPointF>& out,
                 int halvings = 24) {
    constexpr double kPiece = 8;
    constexpr std::size_t kMost = 4096;
    const auto [left, right] = std::minmax({p[0].x(), p[1].x(), p[2].x(), p[3].x()});
    const auto [top, bottom] = std::minmax({p[0].y(), p[1].y(), p[2].y(), p[3].y()});
    if (left > area.right() || right < area.left() || top > area.bottom() || bottom < area.top()) return;
    const QPointF ab = (p[0] + p[1]) / 2, bc = (p[1] + p[2]) / 2, cd = (p[2] + p[3]) / 2;
    const QPointF abc = (ab + bc) / 2, bcd = (bc + cd) / 2, middle = (abc + bcd) / 2;
    if (out.size() >= kMost) return;
    if (halvings == 0 || (right - left <= kPiece && bottom - top <= kPiece)) {
        out.push_back(middle);
        return;
    }
    sampleCubic({p[0], ab, abc, middle}, area, out, halvings - 1);
    sampleCubic({middle, bcd, cd, p[3]}, area, out, halvings - 1);
}

/// Whether a cubic has a point in `rect`, up to pieces of about a pixel.
bool crossesCubic(const std::array<QPointF, 4>& p, const QRectF& rect, int halvings = 16) {
    const auto [left, right] = std::minmax({p[0].x(), p[1].x(), p[2].x(), p[3].x()});
    const auto [top, bottom] = std::minmax({p[0].y(), p[1].y(), p[2].y(), p[3].y()});
    if (left >= rect.right() || right <= rect.left() || top >= rect.bottom() || bottom <= rect.top())
        return false;
    if (rect.contains(p[0]) || rect.contains(p[3])) return true;
    constexpr double kPiece = 1;
    if (halvings == 0 || (right - left <= kPiece && bottom - top <= kPiece)) return false;
    const QPointF ab = (p[0] + p[1]) / 2, bc = (p[1] + p[2]) / 2, cd = (p[2] + p[3]) / 2;
    const QPointF abc = (ab + bc) / 2, bcd = (bc + cd) / 2, middle = (abc + bcd) / 2;
    return crossesCubic({p[0], ab, abc, middle}, rect, halvings - 1) ||
           crossesCubic({middle, bcd, cd, p[3]}, rect, halvings - 1);
}

double distance(QPointF a, QPointF b) { return std::hypot(b.x() - a.x(), b.y() - a.y()); }

QPointF nearestOnSegment(QPointF p, QPointF a, QPointF b) {
    const QPointF along = b - a;
    const double length = QPointF::dotProduct(along, along);
    const double t = length > 0 ? std::clamp(QPointF::dotProduct(p - a, along) / length, 0.0, 1.0) : 0.0;
    return a + t * along;
}

/// The horizontal reach of a turn for a height: larger for a long drop, so that the turn stays round.
double turnReach(double height) { return std::clamp(std::abs(height) * 0.75, 30.0, 72.0); }

/// The straight part of a wire between a port and a point that is `way` ahead.
double portReach(QPointF way) {
    if (way.x() < 0) return turnReach(way.y());
    // A steep wire has tangents longer than its width, a flat wire at most half of it.
    return std::max(way.x() * 0.5, std::min(kReach, std::abs(way.y()) * 0.45));
}

/// A mean of two direction components, closer to the smaller one; 0 for opposite signs.
double between(double a, double b) { return a * b > 0 ? 2 * a * b / (a + b) : 0; }

/// The passage of a wire through a dot.
struct Passage {
    QPointF direction;   ///< of length 1
    double reach = 0;    ///< minimum straight part on both sides
    bool isTurn = false; ///< maximum straight part is `reach`

    /// Towards a neighbour: not beyond the neighbour's position in this direction.
    QPointF tangent(QPointF way) const {
        const double along = isTurn ? 0 : std::abs(QPointF::dotProduct(way, direction));
        return direction * std::min(std::hypot(way.x(), way.y()) / 3, std::max(along, reach));
    }
};

/// At a dot that is an extreme of three points, the wire is horizontal or vertical, so that it does not go
/// beyond the dot and is straight between dots at one height. Otherwise, at a turn, the direction is the more
/// transverse the sharper the turn is, which makes the turn round and close to the dot.
Passage throughDot(QPointF before, QPointF dot, QPointF after) {
    const double in = distance(before, dot);
    const double out = distance(dot, after);
    const QPointF there = in > 0 ? (dot - before) / in : QPointF(1, 0);
    const QPointF on = out > 0 ? (after - dot) / out : there;
    // For the shorter segment: straight on, around a corner, and back by 180°.
    constexpr double kOn = 0.25;
    constexpr double kCorner = 0.15;
    constexpr double kTurn = 0.4;
    constexpr double kMost = 36;
    Passage passage{{between(there.x(), on.x()), between(there.y(), on.y())}, kOn};
    if (passage.direction.isNull()) {
        passage.isTurn = true;
        const double weight = std::clamp(1 + QPointF::dotProduct(there, on), 0.0, 1.0);
        passage.direction = there * std::pow(in, weight) + on * std::pow(out, weight);
        passage.reach = kTurn + (kCorner - kTurn) * weight;
    }
    passage.reach = std::min(passage.reach * std::min(in, out), kMost);
    const double length = std::hypot(passage.direction.x(), passage.direction.y());
    passage.direction = length > 1e-9 ? passage.direction / length : QPointF(-there.y(), there.x());
    return passage;
}

/// The height at which a backward wire crosses below or between the cards.
double returnHeight(QPointF start, QPointF end, const QRectF& source, const QRectF& target) {
    const bool down = end.y() >= start.y();
    const QRectF upper = down ? source : target;
    const QRectF lower = down ? target : source;
    const double upperBottom = upper.isEmpty() ? std::min(start.y(), end.y()) : upper.bottom();
    const double lowerTop = lower.isEmpty() ? std::max(start.y(), end.y()) : lower.top();
    if (lowerTop - upperBottom >= kClearance / 2) return (upperBottom + lowerTop) / 2;
    return std::max({upper.bottom(), lower.bottom(), start.y(), end.y()}) + kClearance;
}

} // namespace

void WirePath::cubicTo(QPointF control1, QPointF control2, QPointF end) {
    m_points.append(control1);
    m_points.append(control2);
    m_points.append(end);
}

void WirePath::sampleIn(const QRectF& area, std::vector<QPointF>& out) const {
    for (int c = 0; c < cubicCount(); ++c) {
        const QPointF* p = cubic(c);
        sampleCubic({p[0], p[1], p[2], p[3]}, area, out);
    }
}

bool WirePath::crosses(const QRectF& rect) const noexcept {
    for (int c = 0; c < cubicCount(); ++c) {
        const QPointF* p = cubic(c);
        if (crossesCubic({p[0], p[1], p[2], p[3]}, rect)) return true;
    }
    return false;
}

QPointF WirePath::at(double t) const noexcept {
    const int cubics = cubicCount();
    if (cubics == 0) return start();
    const double scaled = std::clamp(t, 0.0, 1.0) * cubics;
    const int index = std::min(static_cast<int>(scaled), cubics - 1);
    return cubicAt(cubic(index), scaled - index);
}

QRectF WirePath::bounds() const noexcept {
    double left = m_points[0].x(), right = left, top = m_points[0].y(), bottom = top;
    for (const QPointF p : m_points) {
        left = std::min(left, p.x());
        right = std::max(right, p.x());
        top = std::min(top, p.y());
        bottom = std::max(bottom, p.y());
    }
    return {left, top, right - left, bottom - top};
}

WirePath::Near WirePath::nearest(QPointF point) const noexcept {
    Near best{0, start(), distance(point, start())};
    for (int c = 0; c < cubicCount(); ++c) {
        const QPointF* p = cubic(c);
        QPointF before = p[0];
        for (int i = 1; i <= kSamples; ++i) {
            const QPointF next = cubicAt(p, static_cast<double>(i) / kSamples);
            const QPointF at = nearestOnSegment(point, before, next);
            if (const double d = distance(point, at); d < best.distance) best = {c, at, d};
            before = next;
        }
    }
    return best;
}

void WirePath::appendTo(QPainterPath& path) const {
    path.moveTo(start());
    for (int c = 0; c < cubicCount(); ++c) {
        const QPointF* p = cubic(c);
        path.cubicTo(p[1], p[2], p[3]);
    }
}

void routeWire(WirePath& path, QPointF end, const QRectF& source, const QRectF& target) {
    const QPointF start = path.end();
    const double dx = end.x() - start.x();
    const double dy = std::abs(end.y() - start.y());
    if (dx >= 0 || (dx >= -8 && dy > 60)) {
        const double tangent = portReach({std::max(dx, 0.0), dy});
        path.cubicTo(start + QPointF(tangent, 0), end - QPointF(tangent, 0), end);
        return;
    }
    const double height = returnHeight(start, end, source, target);
    const double out = turnReach(height - start.y());
    const double in = turnReach(height - end.y());
    const QPointF turn(start.x(), height);
    const QPointF back(end.x(), height);
    path.cubicTo(start + QPointF(out, 0), turn + QPointF(out, 0), turn);
    const QPointF third = (back - turn) / 3;
    path.cubicTo(turn + third, back - third, back);
    path.cubicTo(back - QPointF(in, 0), end - QPointF(in, 0), end);
}

void routeWire(WirePath& path, std::span<const QPointF> dots, QPointF end, const QRectF& source,
               const QRectF& target) {
    if (dots.empty()) return routeWire(path, end, source, target);
    const QPointF start = path.end();
    const QPointF first = dots.front();
    const QPointF last = dots.back();
    // A backward wire with dots leaves and enters around corners as without dots.
    constexpr double kLeastHeight = 12;
    const QPointF second = dots.size() > 1 ? dots[1] : end;
    const QPointF lastButOne = dots.size() > 1 ? dots[dots.size() - 2] : start;
    const bool turnsOut =
        std::max(first.x(), second.x()) < start.x() && std::abs(first.y() - start.y()) >= kLeastHeight;
    const bool turnsIn =
        std::min(last.x(), lastButOne.x()) > end.x() && std::abs(last.y() - end.y()) >= kLeastHeight;
    const QPointF back(-1, 0);

    QPointF at = start;
    if (turnsOut) {
        const QPointF turn(start.x(), first.y());
        const double reach = turnReach(first.y() - start.y());
        path.cubicTo(start + QPointF(reach, 0), turn + QPointF(reach, 0), turn);
        at = turn;
    }
    const QPointF until = turnsIn ? QPointF(end.x(), last.y()) : end;
    Passage passage; // at the last dot so far
    for (std::size_t i = 0; i <= dots.size(); ++i) {
        const QPointF next = i < dots.size() ? dots[i] : until;
        const QPointF way = next - at;
        const QPointF fromPort(portReach(way), 0);
        const QPointF level = back * distance(at, next) / 3;
        const QPointF out = i > 0 ? passage.tangent(way) : turnsOut ? level : fromPort;
        if (i < dots.size()) passage = throughDot(at, next, i + 1 < dots.size() ? dots[i + 1] : until);
        const QPointF in = i < dots.size() ? passage.tangent(way) : turnsIn ? level : fromPort;
        path.cubicTo(at + out, next - in, next);
        at = next;
    }
    if (!turnsIn) return;
    const double reach = turnReach(last.y() - end.y());
    path.cubicTo(at - QPointF(reach, 0), end - QPointF(reach, 0), end);
}

std::size_t dotsBefore(QPointF start, std::span<const QPointF> dots, QPointF end, QPointF put) {
    if (dots.empty()) return 0;
    std::vector<Position> way{{start.x(), start.y()}};
    for (const QPointF dot : dots) way.push_back({dot.x(), dot.y()});
    way.push_back({end.x(), end.y()});
    return leastDetour(way, {put.x(), put.y()});
}

} // namespace twb
