#include "graph/layout_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace twb {
namespace {

constexpr double kShape = 1.6;    ///< desired ratio of width to height
constexpr double kFullRow = 0.6;  ///< of a row's length: a row may end from here on
constexpr double kShortRow = 0.3; ///< of a row's length: too short for a row
constexpr double kLongRow = 1.4;  ///< of a row's length: a longer row is better than a short next one
constexpr double kLeastRow = 850; ///< fits in a small window at full size
constexpr std::array kRowShares{1.4, 1.2, 1.0, 0.85, 0.7}; ///< of a balanced row: the lengths that are tried
constexpr double kWorthARow = 0.95; ///< of a view: shorter rows must need a view that is so much smaller
constexpr double kBetweenRows = 72; ///< room for the wires that run back
constexpr double kFrame = 32;       ///< above and below the nodes of a frame

struct Span {
    double from = std::numeric_limits<double>::max();
    double to = std::numeric_limits<double>::lowest();
    void take(double left, double right) {
        from = std::min(from, left);
        to = std::max(to, right);
    }
    double length() const { return to - from; }
};

/// Between two neighbouring columns.
struct Break {
    double x = 0;
    int crossings = 0;
    bool allowed = true;
    bool forced = false; ///< a long group ends here
    bool opens = false;  ///< a long group starts here
};

/// All rows of a long group, except the first, start at the group's start.
struct Indent {
    double from = 0;
    double to = 0;
    double by = 0;
};

/// From left to right. The first break is left of all boxes.
std::vector<Break> breaksOf(const std::vector<Position>& places, std::span<const LayoutBox> boxes) {
    std::vector<Span> covered;
    for (std::size_t i = 0; i < boxes.size(); ++i)
        covered.push_back({places[i].x, places[i].x + boxes[i].width});
    std::sort(covered.begin(), covered.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
    std::vector<Break> breaks;
    double end = covered.front().from;
    for (const Span& box : covered) {
        if (box.from >= end) breaks.push_back({(end + box.from) / 2, 0, true, false, false});
        end = std::max(end, box.to);
    }
    return breaks;
}

/// The extent of a group of boxes.
struct Extent {
    Span x;
    Span y;
    void take(Position at, const LayoutBox& box) {
        x.take(at.x, at.x + box.width);
        y.take(at.y, at.y + box.height);
    }
};

class Strip {
public:
    Strip(const std::vector<Position>& places, std::span<const LayoutBox> boxes,
          std::span<const LayoutLink> links, std::span<const int> parents)
        : m_places(places), m_boxes(boxes), m_groups(parents.size()), m_breaks(breaksOf(places, boxes)) {
        std::size_t deepest = 0;
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            m_all.take(places[i], boxes[i]);
            int at = boxes[i].group;
            for (std::size_t steps = parents.size(); at >= 0 && steps > 0; --steps) {
                m_groups[static_cast<std::size_t>(at)].take(places[i].x, places[i].x + boxes[i].width);
                at = parents[static_cast<std::size_t>(at)];
                deepest = std::max(deepest, parents.size() - steps + 1);
            }
        }
        m_between = kBetweenRows + kFrame * static_cast<double>(deepest);
        countCrossings(links);
    }

    double width() const { return m_all.x.length(); }

    /// The length of the rows whose width and height are about in the desired ratio.
    double balancedRow() const { return std::sqrt(kShape * width() * (m_all.y.length() + m_between)); }

    /// The boxes' places in rows of about this length.
    std::vector<Position> inRowsOf(double row) const {
        std::vector<Indent> indents;
        const std::vector<double> starts = startsOf(row, indents);
        std::vector<Extent> rows(starts.size());
        std::vector<std::size_t> rowOf(m_boxes.size());
        for (std::size_t i = 0; i < m_boxes.size(); ++i) {
            rowOf[i] = static_cast<std::size_t>(
                std::upper_bound(starts.begin(), starts.end(), m_places[i].x) - starts.begin() - 1);
            rows[rowOf[i]].take(m_places[i], m_boxes[i]);
        }
        std::vector<Position> shifts;
        double top = 0;
        for (std::size_t r = 0; r < starts.size(); ++r) {
            double left = 0;
            for (const Indent& indent : indents)
                if (starts[r] > indent.from && starts[r] < indent.to) left = std::max(left, indent.by);
            for (Indent& indent : indents) {
                const double end = r + 1 < starts.size() ? starts[r + 1] : m_all.x.to;
                if (indent.from > starts[r] && indent.from < end)
                    indent.by = indent.from - rows[r].x.from + left;
            }
            shifts.push_back({left - rows[r].x.from, top - rows[r].y.from});
            top += rows[r].y.length() + m_between;
        }
        std::vector<Position> places = m_places;
        for (std::size_t i = 0; i < m_boxes.size(); ++i) {
            places[i].x += shifts[rowOf[i]].x;
            places[i].y += shifts[rowOf[i]].y;
        }
        return places;
    }

    /// How wide a view of the desired shape must be to show the boxes at these places.
    double viewOf(const std::vector<Position>& places) const {
        Extent extent;
        for (std::size_t i = 0; i < m_boxes.size(); ++i) extent.take(places[i], m_boxes[i]);
        return std::max(extent.x.length(), kShape * extent.y.length());
    }

private:
    std::size_t firstAfter(double x) const {
        return static_cast<std::size_t>(
            std::partition_point(m_breaks.begin(), m_breaks.end(), [x](const Break& b) { return b.x < x; }) -
            m_breaks.begin());
    }

    /// A long link crosses every break between its ends.
    void countCrossings(std::span<const LayoutLink> links) {
        std::vector<int> steps(m_breaks.size() + 1, 0);
        for (const LayoutLink& link : links) {
            const std::size_t a = firstAfter(m_places[link.from].x);
            const std::size_t b = firstAfter(m_places[link.to].x);
            ++steps[std::min(a, b)];
            --steps[std::max(a, b)];
        }
        int crossings = 0;
        for (std::size_t i = 0; i < m_breaks.size(); ++i) m_breaks[i].crossings = crossings += steps[i];
    }

    /// The breaks for rows of this length. Adds an Indent for each long group.
    std::vector<Break> breaksFor(double row, std::vector<Indent>& indents) const {
        std::vector<Break> breaks = m_breaks;
        for (const Span& group : m_groups) {
            const std::size_t first = firstAfter(group.from);
            const std::size_t end = firstAfter(group.to);
            if (group.length() <= row) {
                for (std::size_t at = first; at < end; ++at) breaks[at].allowed = false;
                continue;
            }
            if (first > 0) breaks[first - 1].opens = true;
            if (first > 0) indents.push_back({group.from, group.to, 0});
            if (end < breaks.size()) breaks[end].forced = true;
        }
        return breaks;
    }

    std::vector<double> startsOf(double row, std::vector<Indent>& indents) const {
        const std::vector<Break> breaks = breaksFor(row, indents);
        std::vector<double> starts{m_all.x.from - 1};
        std::size_t at = 1; // the first break is left of all boxes
        while (at < breaks.size()) {
            const Break* best = nullptr;
            for (; at < breaks.size(); ++at) {
                const Break& candidate = breaks[at];
                const double length = candidate.x - starts.back();
                const bool isShort = best && best->x - starts.back() < kFullRow * row;
                if (best && length > (isShort ? kLongRow : 1.0) * row) break;
                // A few boxes before a long group may stay beside it.
                if (candidate.forced || (candidate.opens && length > kShortRow * row)) {
                    best = &candidate;
                    break;
                }
                if (!candidate.allowed) continue;
                if (!best || isShort || candidate.crossings <= best->crossings) best = &candidate;
            }
            if (!best) break;
            // A short rest does not get its own row.
            if (!best->forced && !best->opens && m_all.x.to - starts.back() < 1.15 * row) break;
            starts.push_back(best->x);
            at = static_cast<std::size_t>(best - breaks.data()) + 1;
        }
        return starts;
    }

    const std::vector<Position>& m_places;
    std::span<const LayoutBox> m_boxes;
    Extent m_all;
    std::vector<Span> m_groups;
    std::vector<Break> m_breaks;
    double m_between = 0; ///< between two rows
};

} // namespace

void breakIntoRows(std::vector<Position>& places, std::span<const LayoutBox> boxes,
                   std::span<const LayoutLink> links, std::span<const int> parents) {
    const Strip strip(places, boxes, links, parents);
    const double balanced = strip.balancedRow();
    std::vector<Position> best = places;
    double least = strip.viewOf(best);
    // From long to short, since fewer rows are easier to follow.
    for (const double share : kRowShares) {
        const double row = std::max(share * balanced, kLeastRow);
        if (strip.width() < 1.3 * row) continue;
        std::vector<Position> candidate = strip.inRowsOf(row);
        const double view = strip.viewOf(candidate);
        if (std::max(view, kLeastRow) >= kWorthARow * least) continue;
        least = view;
        best = std::move(candidate);
    }
    places = std::move(best);
}

} // namespace twb
