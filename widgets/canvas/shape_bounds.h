#pragma once

#include <QRectF>

#include <algorithm>
#include <array>
#include <limits>

namespace twb {

/// The bounding rectangle of a changing set of shapes, updated without visiting all of them.
class ShapeBounds {
public:
    void add(const QRectF& rect) {
        const auto own = sidesOf(rect);
        for (std::size_t i = 0; i < own.size(); ++i) {
            auto& [farthest, count] = m_sides[i];
            if (own[i] > farthest || (own[i] == farthest && count == 0)) {
                farthest = own[i];
                count = 1;
            } else if (own[i] == farthest) {
                ++count;
            }
        }
        ++m_count;
    }
    void remove(const QRectF& rect) {
        const auto own = sidesOf(rect);
        for (std::size_t i = 0; i < own.size(); ++i)
            if (own[i] == m_sides[i].farthest && m_sides[i].count > 0) --m_sides[i].count;
        --m_count;
    }
    /// A shape on the boundary was removed: all other shapes must be added again, to a new ShapeBounds.
    bool isLost() const {
        return m_count > 0 &&
               std::any_of(m_sides.begin(), m_sides.end(), [](const Side& side) { return side.count == 0; });
    }
    /// Null if it is empty.
    QRectF rect() const {
        const auto& [left, top, right, bottom] = m_sides;
        if (m_count == 0) return {};
        return {QPointF(-left.farthest, -top.farthest), QPointF(right.farthest, bottom.farthest)};
    }

private:
    struct Side {
        double farthest = -std::numeric_limits<double>::infinity();
        int count = 0; ///< number of shapes that reach this far
    };
    /// Left, top, right and bottom, with signs such that larger is farther out.
    static std::array<double, 4> sidesOf(const QRectF& rect) {
        return {-rect.left(), -rect.top(), rect.right(), rect.bottom()};
    }

    std::array<Side, 4> m_sides;
    int m_count = 0;
};

} // namespace twb
