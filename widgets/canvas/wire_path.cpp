#include "widgets/canvas/wire_path.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr double kReach = 44;     ///< how far a wire runs straight on before it turns back
constexpr double kClearance = 22; ///< between a card and a wire that goes around it
constexpr int kSamples = 20;      ///< a cubic, for distances

QPointF cubicAt(const QPointF* p, double t) {
    const double u = 1 - t;
    return u * u * u * p[0] + 3 * u * u * t * p[1] + 3 * u * t * t * p[2] + t * t * t * p[3];
}

/// The middles of pieces that are at most `kPiece` long, of those that may lie in `area`. So far from the
/// origin that no piece can be as short, `halvings` and kMost end it.
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

double distanceToSegment(QPointF p, QPointF a, QPointF b) {
    const QPointF along = b - a;
    const double length = QPointF::dotProduct(along, along);
    const double t = length > 0 ? std::clamp(QPointF::dotProduct(p - a, along) / length, 0.0, 1.0) : 0.0;
    const QPointF rest = p - (a + t * along);
    return std::hypot(rest.x(), rest.y());
}

/// The height at which a wire that runs back crosses under or between the cards.
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
    const auto at = std::size_t{3} * static_cast<std::size_t>(m_cubics);
    if (at + 3 >= m_points.size()) return;
    m_points[at + 1] = control1;
    m_points[at + 2] = control2;
    m_points[at + 3] = end;
    ++m_cubics;
}

void WirePath::sampleIn(const QRectF& area, std::vector<QPointF>& out) const {
    for (int c = 0; c < m_cubics; ++c) {
        const QPointF* p = cubic(c);
        sampleCubic({p[0], p[1], p[2], p[3]}, area, out);
    }
}

QPointF WirePath::at(double t) const noexcept {
    if (m_cubics == 0) return m_points[0];
    const double scaled = std::clamp(t, 0.0, 1.0) * m_cubics;
    const int index = std::min(static_cast<int>(scaled), m_cubics - 1);
    return cubicAt(cubic(index), scaled - index);
}

QRectF WirePath::bounds() const noexcept {
    double left = m_points[0].x(), right = left, top = m_points[0].y(), bottom = top;
    for (int i = 1; i <= 3 * m_cubics; ++i) {
        const QPointF p = m_points[static_cast<std::size_t>(i)];
        left = std::min(left, p.x());
        right = std::max(right, p.x());
        top = std::min(top, p.y());
        bottom = std::max(bottom, p.y());
    }
    return {left, top, right - left, bottom - top};
}

double WirePath::distanceTo(QPointF point) const noexcept {
    double nearest = std::hypot(point.x() - start().x(), point.y() - start().y());
    for (int c = 0; c < m_cubics; ++c) {
        const QPointF* p = cubic(c);
        QPointF before = p[0];
        for (int i = 1; i <= kSamples; ++i) {
            const QPointF next = cubicAt(p, static_cast<double>(i) / kSamples);
            nearest = std::min(nearest, distanceToSegment(point, before, next));
            before = next;
        }
    }
    return nearest;
}

void WirePath::appendTo(QPainterPath& path) const {
    path.moveTo(m_points[0]);
    for (int c = 0; c < m_cubics; ++c) {
        const QPointF* p = cubic(c);
        path.cubicTo(p[1], p[2], p[3]);
    }
}

void routeWire(WirePath& path, QPointF end, const QRectF& source, const QRectF& target) {
    const QPointF start = path.end();
    const double dx = end.x() - start.x();
    const double dy = std::abs(end.y() - start.y());
    if (dx >= 0 || (dx >= -8 && dy > 60)) {
        // A steep wire needs longer tangents than its width gives, a flat one no more than half of it.
        const double tangent = std::max(dx * 0.5, std::min(kReach, dy * 0.45));
        path.cubicTo(start + QPointF(tangent, 0), end - QPointF(tangent, 0), end);
        return;
    }
    const double height = returnHeight(start, end, source, target);
    // The turns are wide where the drop is long, so that they stay round.
    const double out = std::clamp(std::abs(height - start.y()) * 0.75, 30.0, 72.0);
    const double in = std::clamp(std::abs(height - end.y()) * 0.75, 30.0, 72.0);
    const QPointF turn(start.x(), height);
    const QPointF back(end.x(), height);
    path.cubicTo(start + QPointF(out, 0), turn + QPointF(out, 0), turn);
    const QPointF third = (back - turn) / 3;
    path.cubicTo(turn + third, back - third, back);
    path.cubicTo(back - QPointF(in, 0), end - QPointF(in, 0), end);
}

} // namespace twb
