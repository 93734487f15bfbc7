#include "widgets/canvas/gestures/alignment_guides.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace twb {
namespace {

constexpr double kReach = 640;   ///< maximum distance to a card for alignment
constexpr double kExact = 0.01;  ///< tolerance of exact alignment
constexpr double kOverhang = 10; ///< overhang of a guide

/// Left, middle, right; or top, middle, bottom.
std::array<double, 3> columnsOf(const QRectF& r) { return {r.left(), r.center().x(), r.right()}; }
std::array<double, 3> rowsOf(const QRectF& r) { return {r.top(), r.center().y(), r.bottom()}; }

/// Calls visit(rect, isOnLane) for each card and dot that can be aligned with.
template <class Visit>
void visitNeighbours(const Scene& scene, const QRectF& bounds, const MovedThings& moved, LaneId lane,
                     Visit&& visit) {
    const QRectF near = bounds.adjusted(-kReach, -kReach, kReach, kReach);
    scene.nodes().visit(near, [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        if (shape.kind == NodeShape::Kind::row || moved.nodes.contains(shape.id)) return;
        visit(shape.rect, shape.lane == lane);
    });
    if (!moved.nodes.empty()) return;
    for (const QPointF end : moved.ends) visit(QRectF(end, QSizeF(0, 0)), true);
    scene.wires().visitDots(near, [&](const DotRef& ref, const DotShape& dot) {
        if (!moved.dots.contains(ref)) visit(QRectF(dot.at, QSizeF(0, 0)), dot.dot.lane == lane);
    });
}

void takeNearer(std::optional<double>& best, const std::array<double, 3>& own,
                const std::array<double, 3>& other, double range) {
    for (std::size_t i = 0; i < own.size(); ++i) {
        const double way = other[i] - own[i];
        if (std::abs(way) <= range && (!best || std::abs(way) < std::abs(*best))) best = way;
    }
}

/// The first of the three lines that both share.
std::optional<double> shared(const std::array<double, 3>& own, const std::array<double, 3>& other) {
    for (std::size_t i = 0; i < own.size(); ++i)
        if (std::abs(own[i] - other[i]) < kExact) return other[i];
    return std::nullopt;
}

/// Merges lines at the same position.
void extend(std::vector<QLineF>& lines, const QLineF& line, bool isVertical) {
    for (QLineF& known : lines) {
        const double apart = isVertical ? known.x1() - line.x1() : known.y1() - line.y1();
        if (std::abs(apart) >= kExact) continue;
        if (isVertical)
            known = {known.x1(), std::min(known.y1(), line.y1()), known.x1(),
                     std::max(known.y2(), line.y2())};
        else
            known = {std::min(known.x1(), line.x1()), known.y1(), std::max(known.x2(), line.x2()),
                     known.y1()};
        return;
    }
    lines.push_back(line);
}

} // namespace

QRectF around(const QRectF& a, const QRectF& b) noexcept {
    return {QPointF(std::min(a.left(), b.left()), std::min(a.top(), b.top())),
            QPointF(std::max(a.right(), b.right()), std::max(a.bottom(), b.bottom()))};
}

AlignmentGuides findGuides(const Scene& scene, const QRectF& bounds, const MovedThings& moved, LaneId lane,
                           double range) {
    AlignmentGuides guides;
    visitNeighbours(scene, bounds, moved, lane, [&](const QRectF& other, bool isOnLane) {
        takeNearer(guides.x, columnsOf(bounds), columnsOf(other), range);
        if (isOnLane) takeNearer(guides.y, rowsOf(bounds), rowsOf(other), range);
    });
    return guides;
}

std::vector<QLineF> guideLines(const Scene& scene, const QRectF& bounds, const MovedThings& moved,
                               LaneId lane) {
    std::vector<QLineF> columns;
    std::vector<QLineF> rows;
    visitNeighbours(scene, bounds, moved, lane, [&](const QRectF& other, bool isOnLane) {
        const QRectF both = around(bounds, other).adjusted(-kOverhang, -kOverhang, kOverhang, kOverhang);
        if (const auto x = shared(columnsOf(bounds), columnsOf(other)))
            extend(columns, {*x, both.top(), *x, both.bottom()}, true);
        const auto y = isOnLane ? shared(rowsOf(bounds), rowsOf(other)) : std::nullopt;
        if (y) extend(rows, {both.left(), *y, both.right(), *y}, false);
    });
    columns.insert(columns.end(), rows.begin(), rows.end());
    return columns;
}

} // namespace twb
