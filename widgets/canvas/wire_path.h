#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <QVarLengthArray>

#include <span>
#include <vector>

namespace twb {

/// The path of a wire: a chain of cubic Béziers. It is cheap to compute for each paint; only a wire with many
/// dots allocates memory.
class WirePath {
public:
    explicit WirePath(QPointF start) { m_points.append(start); }

    /// The point of the path nearest to a given point.
    struct Near {
        int cubic = 0;
        QPointF at;
        double distance = 0;
    };

    void cubicTo(QPointF control1, QPointF control2, QPointF end);
    int cubicCount() const noexcept { return int((m_points.size() - 1) / 3); }
    QPointF start() const noexcept { return m_points.first(); }
    QPointF end() const noexcept { return m_points.last(); }
    QPointF endOf(int cubic) const noexcept { return *this->cubic(cubic + 1); }
    /// A point of the whole chain, t in [0, 1]; each cubic has the same share.
    QPointF at(double t) const noexcept;
    QRectF bounds() const noexcept; ///< of all control points; may be too large, never too small
    Near nearest(QPointF point) const noexcept;
    /// Whether the path enters a rectangle by more than about a pixel.
    bool crosses(const QRectF& rect) const noexcept;
    double distanceTo(QPointF point) const noexcept { return nearest(point).distance; }
    /// Adds points of the path, a few pixels apart, for the part that may cross `area`.
    void sampleIn(const QRectF& area, std::vector<QPointF>& out) const;
    void appendTo(QPainterPath& path) const;

private:
    /// The start of the n-th cubic.
    const QPointF* cubic(int n) const noexcept { return m_points.data() + std::ptrdiff_t{3} * n; }

    static constexpr int kUsualCubics = 8;
    QVarLengthArray<QPointF, 3 * kUsualCubics + 1> m_points;
};

/// Adds the path from its current end to the input `end`. A forward wire is one curve. A backward wire leaves
/// to the right, returns in the gap between the two cards (below both if there is none), and enters from the
/// left. `source` and `target` are the cards; they may be empty.
void routeWire(WirePath& path, QPointF end, const QRectF& source, const QRectF& target);
/// The same, smoothly through dots. The cards count only without dots.
void routeWire(WirePath& path, std::span<const QPointF> dots, QPointF end, const QRectF& source,
               const QRectF& target);
/// The number of a wire's dots before a card that is inserted at `put`.
std::size_t dotsBefore(QPointF start, std::span<const QPointF> dots, QPointF end, QPointF put);

} // namespace twb
