#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <QVarLengthArray>

#include <span>
#include <vector>

namespace twb {

/// The way of a wire: a chain of cubic Béziers, cheap to make anew each time it is drawn: it takes no memory
/// but for a wire of many dots.
class WirePath {
public:
    explicit WirePath(QPointF start) { m_points.append(start); }

    /// The place on the way that is nearest to a point.
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
    /// Along the whole chain, t in [0, 1], each cubic taking the same share.
    QPointF at(double t) const noexcept;
    QRectF bounds() const noexcept; ///< of all control points, so never too small
    Near nearest(QPointF point) const noexcept;
    double distanceTo(QPointF point) const noexcept { return nearest(point).distance; }
    /// Adds points of the way, a few pixels apart, as far as it may run through `area`.
    void sampleIn(const QRectF& area, std::vector<QPointF>& out) const;
    void appendTo(QPainterPath& path) const;

private:
    /// Where the n-th cubic starts.
    const QPointF* cubic(int n) const noexcept { return m_points.data() + std::ptrdiff_t{3} * n; }

    static constexpr int kUsualCubics = 8;
    QVarLengthArray<QPointF, 3 * kUsualCubics + 1> m_points;
};

/// Adds the way from the path's end to the input `end`. A wire that runs forward is one curve; one that runs
/// back leaves to the right, returns in the gap between the two cards (below both when there is none), and
/// enters from the left. `source` and `target` are the cards, which may be empty.
void routeWire(WirePath& path, QPointF end, const QRectF& source, const QRectF& target);
/// The same through dots, smoothly through each of them. The cards count only where there are none.
void routeWire(WirePath& path, std::span<const QPointF> dots, QPointF end, const QRectF& source,
               const QRectF& target);
/// How many of a wire's dots come before something that is put into it at `put`.
std::size_t dotsBefore(QPointF start, std::span<const QPointF> dots, QPointF end, QPointF put);

} // namespace twb
