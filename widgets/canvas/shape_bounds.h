#pragma once

#include <QRectF>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace twb {

/// The bounding rectangle of a changing set of shapes, updated without visiting all of them: on each side,
/// the positions of the farthest shapes are known, so that the next one takes the place of one that is
/// removed.
class ShapeBounds {
public:
    void add(const QRectF& rect) {
        const auto own = sidesOf(rect);
        for (std::size_t i = 0; i < own.size(); ++i) m_sides[i].add(own[i]);
        ++m_count;
    }
    void remove(const QRectF& rect) {
        const auto own = sidesOf(rect);
        for (std::size_t i = 0; i < own.size(); ++i) m_sides[i].remove(own[i]);
        --m_count;
    }
    /// All known shapes of one side were removed: the others must be added again, to a new ShapeBounds.
    bool isLost() const {
        return m_count > 0 &&
               std::any_of(m_sides.begin(), m_sides.end(), [](const Side& side) { return side.isEmpty(); });
    }
    /// Null if it is empty. Must not be called if isLost().
    QRectF rect() const {
        const auto& [left, top, right, bottom] = m_sides;
        if (m_count == 0) return {};
        return {QPointF(-left.farthest(), -top.farthest()), QPointF(right.farthest(), bottom.farthest())};
    }

private:
    class Side {
    public:
        void add(double at) {
            if (at < m_least) return;
            const auto place = std::lower_bound(m_known.begin(), m_known.end(), at, isNearer);
            if (place != m_known.end() && place->first == at)
                ++place->second;
            else
                m_known.insert(place, {at, 1});
            if (std::ssize(m_known) <= 2 * kKnown) return;
            m_known.erase(m_known.begin(), m_known.end() - kKnown);
            m_least = m_known.front().first;
        }
        void remove(double at) {
            const auto place = std::lower_bound(m_known.begin(), m_known.end(), at, isNearer);
            if (place != m_known.end() && place->first == at && --place->second == 0) m_known.erase(place);
        }
        bool isEmpty() const { return m_known.empty(); }
        double farthest() const { return m_known.back().first; }

    private:
        static constexpr std::ptrdiff_t kKnown = 32;
        static bool isNearer(const std::pair<double, int>& known, double at) { return known.first < at; }

        /// Positions with the number of shapes there, in ascending order: all that are at least m_least.
        std::vector<std::pair<double, int>> m_known;
        double m_least = -std::numeric_limits<double>::infinity();
    };
    /// Left, top, right and bottom, with signs such that larger is farther out.
    static std::array<double, 4> sidesOf(const QRectF& rect) {
        return {-rect.left(), -rect.top(), rect.right(), rect.bottom()};
    }

    std::array<Side, 4> m_sides;
    int m_count = 0;
};

} // namespace twb
