#include "graph/layout_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

constexpr double kShape = 1.6;      ///< desired ratio of width to height
constexpr double kFullRow = 0.6;    ///< of a row's length: a row may end from here on
constexpr double kShortRow = 0.3;   ///< of a row's length: too short for a row
constexpr double kLongRow = 1.4;    ///< of a row's length: a longer row is better than a short next one
constexpr double kLeastRow = 1150;  ///< shorter strips stay whole
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

} // namespace

void breakIntoRows(std::vector<Position>& places, std::span<const LayoutBox> boxes,
                   std::span<const LayoutLink> links, std::span<const int> parents) {
    Span width;
    Span height;
    std::vector<Span> groups(parents.size());
    std::size_t deepest = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        width.take(places[i].x, places[i].x + boxes[i].width);
        height.take(places[i].y, places[i].y + boxes[i].height);
        int at = boxes[i].group;
        for (std::size_t steps = parents.size(); at >= 0 && steps > 0; --steps) {
            groups[static_cast<std::size_t>(at)].take(places[i].x, places[i].x + boxes[i].width);
            at = parents[static_cast<std::size_t>(at)];
            deepest = std::max(deepest, parents.size() - steps + 1);
        }
    }
    const double between = kBetweenRows + kFrame * static_cast<double>(deepest);
    const double row = std::max(std::sqrt(kShape * width.length() * (height.length() + between)), kLeastRow);
    if (width.length() < 1.3 * row) return;

    std::vector<Break> breaks = breaksOf(places, boxes);
    const auto firstAfter = [&](double x) {
        return std::partition_point(breaks.begin(), breaks.end(), [x](const Break& b) { return b.x < x; });
    };
    std::vector<Indent> indents;
    for (const Span& group : groups) {
        const auto first = firstAfter(group.from);
        const auto end = firstAfter(group.to);
        if (group.length() <= row) {
            for (auto at = first; at < end; ++at) at->allowed = false;
            continue;
        }
        if (first != breaks.begin()) std::prev(first)->opens = true;
        if (first != breaks.begin()) indents.push_back({group.from, group.to, 0});
        if (end != breaks.end()) end->forced = true;
    }
    // A long link crosses every break between its ends.
    std::vector<int> steps(breaks.size() + 1, 0);
    for (const LayoutLink& link : links) {
        const auto a = firstAfter(places[link.from].x) - breaks.begin();
        const auto b = firstAfter(places[link.to].x) - breaks.begin();
        ++steps[static_cast<std::size_t>(std::min(a, b))];
        --steps[static_cast<std::size_t>(std::max(a, b))];
    }
    int crossings = 0;
    for (std::size_t i = 0; i < breaks.size(); ++i) breaks[i].crossings = crossings += steps[i];

    std::vector<double> starts{width.from - 1};
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
        if (!best->forced && !best->opens && width.to - starts.back() < 1.15 * row) break;
        starts.push_back(best->x);
        at = static_cast<std::size_t>(best - breaks.data()) + 1;
    }

    std::vector<Span> widths(starts.size());
    std::vector<Span> heights(starts.size());
    std::vector<std::size_t> rowOf(boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        rowOf[i] = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), places[i].x) -
                                            starts.begin() - 1);
        widths[rowOf[i]].take(places[i].x, places[i].x + boxes[i].width);
        heights[rowOf[i]].take(places[i].y, places[i].y + boxes[i].height);
    }
    std::vector<Position> shifts;
    double top = 0;
    for (std::size_t r = 0; r < starts.size(); ++r) {
        double left = 0;
        for (const Indent& indent : indents)
            if (starts[r] > indent.from && starts[r] < indent.to) left = std::max(left, indent.by);
        for (Indent& indent : indents) {
            const double end = r + 1 < starts.size() ? starts[r + 1] : width.to;
            if (indent.from > starts[r] && indent.from < end) indent.by = indent.from - widths[r].from + left;
        }
        shifts.push_back({left - widths[r].from, top - heights[r].from});
        top += heights[r].length() + between;
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        places[i].x += shifts[rowOf[i]].x;
        places[i].y += shifts[rowOf[i]].y;
    }
}

} // namespace twb
