#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>

#include <array>
#include <vector>

namespace twb {

/// The way of a wire: a chain of cubic Béziers in a fixed buffer, cheap to make anew each time it is drawn.
class WirePath {
public:
    explicit WirePath(QPointF start) { m_points[0] = start; }

    void cubicTo(QPointF control1, QPointF control2, QPointF end);
    int cubicCount() const noexcept { return m_cubics; }
    QPointF start() const noexcept { return m_points[0]; }
    QPointF end() const noexcept { return *cubic(m_cubics); }
    /// Along the whole chain, t in [0, 1], each cubic taking the same share.
    QPointF at(double t) const noexcept;
    QRectF bounds() const noexcept; ///< of all control points, so never too small
    double distanceTo(QPointF point) const noexcept;
    /// Adds points of the way, a few pixels apart, as far as it may run through `area`.
    void sampleIn(const QRectF& area, std::vector<QPointF>& out) const;
    void appendTo(QPainterPath& path) const;

private:
    /// Where the n-th cubic starts.
    const QPointF* cubic(int n) const noexcept { return m_points.data() + std::ptrdiff_t{3} * n; }

    static constexpr std::size_t kMostCubics = 8;
    std::array<QPointF, 3 * kMostCubics + 1> m_points;
    int m_cubics = 0;
};

/// Adds the way from the path's end to the input `end`. A wire that runs forward is one curve; one that runs
/// back leaves to the right, returns in the gap between the two cards (below both when there is none), and
/// enters from the left. `source` and `target` are the cards, which may be empty.
void routeWire(WirePath& path, QPointF end, const QRectF& source, const QRectF& target);

} // namespace twb
