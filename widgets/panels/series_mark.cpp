#include "widgets/panels/series_mark.h"

#include <QPolygonF>

#include <array>

namespace twb {
namespace {

QPainterPath polygon(std::initializer_list<QPointF> points) {
    QPainterPath path;
    path.addPolygon(QPolygonF(QList<QPointF>(points)));
    path.closeSubpath();
    return path;
}

std::array<QPainterPath, 6> makeMarks() {
    QPainterPath disc, square;
    disc.addEllipse(QPointF(), 3.5, 3.5);
    square.addRect(-3, -3, 6, 6);
    return {disc,
            square,
            polygon({{0, -4.2}, {4, 3}, {-4, 3}}),
            polygon({{0, -4.4}, {4.4, 0}, {0, 4.4}, {-4.4, 0}}),
            polygon({{0, 4.2}, {4, -3}, {-4, -3}}),
            polygon({{-1.3, -4},
                     {1.3, -4},
                     {1.3, -1.3},
                     {4, -1.3},
                     {4, 1.3},
                     {1.3, 1.3},
                     {1.3, 4},
                     {-1.3, 4},
                     {-1.3, 1.3},
                     {-4, 1.3},
                     {-4, -1.3},
                     {-1.3, -1.3}})};
}

} // namespace

const QPainterPath& seriesMark(std::size_t index) {
    static const std::array<QPainterPath, 6> marks = makeMarks();
    return marks[index % marks.size()];
}

} // namespace twb
