#pragma once

#include <QRectF>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace twb {

/// A spatial index for rectangles. Each item is in exactly one cell, on the level whose cells are at least as
/// large as the item, so that a wire across the whole graph costs as little as a node. Queries are
/// conservative: they may return items whose rectangle is only near.
class SpatialGrid {
public:
    void clear() {
        for (auto& level : m_levels) level.clear();
    }

    void insert(std::uint32_t item, const QRectF& rect) {
        m_levels[levelOf(rect)][keyOf(rect)].push_back(item);
    }

    /// `rect` must be the one of the insertion.
    void remove(std::uint32_t item, const QRectF& rect) {
        auto& level = m_levels[levelOf(rect)];
        const auto cell = level.find(keyOf(rect));
        if (cell == level.end()) return;
        auto& items = cell->second;
        const auto found = std::find(items.begin(), items.end(), item);
        if (found == items.end()) return;
        *found = items.back();
        items.pop_back();
        if (items.empty()) level.erase(cell);
    }

    template <class Visit> void query(const QRectF& rect, Visit&& visit) const {
        any(rect, [&](std::uint32_t item) {
            visit(item);
            return false;
        });
    }

    /// Whether `test` is true for any of them; stops at the first.
    template <class Test> bool any(const QRectF& rect, Test&& test) const {
        for (std::size_t l = 0; l < kLevels; ++l) {
            const auto& level = m_levels[l];
            if (level.empty()) continue;
            // The top left of an item is in its cell, and the item is no larger than a cell: look one cell
            // further up and left.
            const double size = cellSize(l);
            const auto left = cellAt(rect.left() - size, size);
            const auto right = cellAt(rect.right(), size);
            const auto top = cellAt(rect.top() - size, size);
            const auto bottom = cellAt(rect.bottom(), size);
            const double cells =
                (static_cast<double>(right) - left + 1) * (static_cast<double>(bottom) - top + 1);
            if (cells > static_cast<double>(level.size())) {
                for (const auto& [key, items] : level) {
                    const auto x = static_cast<std::int32_t>(key >> 32);
                    const auto y = static_cast<std::int32_t>(key & 0xffffffffU);
                    if (x < left || x > right || y < top || y > bottom) continue;
                    if (std::any_of(items.begin(), items.end(), test)) return true;
                }
                continue;
            }
            for (std::int32_t y = top; y <= bottom; ++y) {
                for (std::int32_t x = left; x <= right; ++x) {
                    const auto cell = level.find(key(x, y));
                    if (cell == level.end()) continue;
                    if (std::any_of(cell->second.begin(), cell->second.end(), test)) return true;
                }
            }
        }
        return false;
    }

private:
    static constexpr std::size_t kLevels = 16;
    static constexpr double kSmallestCell = 256;

    static double cellSize(std::size_t level) { return std::ldexp(kSmallestCell, static_cast<int>(level)); }
    static std::int32_t cellAt(double at, double size) {
        return static_cast<std::int32_t>(std::clamp(std::floor(at / size), -1e9, 1e9));
    }
    static std::uint64_t key(std::int32_t x, std::int32_t y) {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(x)) << 32) |
               static_cast<std::uint32_t>(y);
    }
    static std::size_t levelOf(const QRectF& rect) {
        const double extent = std::max(rect.width(), rect.height());
        std::size_t level = 0;
        while (level + 1 < kLevels && cellSize(level) < extent) ++level;
        return level;
    }
    static std::uint64_t keyOf(const QRectF& rect) {
        const double size = cellSize(levelOf(rect));
        return key(cellAt(rect.left(), size), cellAt(rect.top(), size));
    }

    std::array<std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>, kLevels> m_levels;
};

} // namespace twb
