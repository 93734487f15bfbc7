#include "graph/layout_lanes.h"

#include <algorithm>
#include <map>
#include <set>

namespace twb {
namespace {

constexpr double kLongestStrip = 12000; ///< about 40 columns
constexpr double kMostGap = 32;         ///< between boxes of one lane, above each other
constexpr double kFrameGap = 64;        ///< for the border of a group's frame, and its title

/// The groups around a box, from the inside out.
std::vector<int> groupsAround(const LayoutBox& box, std::span<const int> parents) {
    std::vector<int> out;
    for (int at = box.group; at >= 0 && out.size() <= parents.size();
         at = parents[static_cast<std::size_t>(at)])
        out.push_back(at);
    return out;
}

/// Moves boxes up to `top`, and the ones below an empty stripe up to the ones above it. Returns their bottom.
double pack(std::vector<std::size_t>& section, std::span<const LayoutBox> boxes, double top,
            std::vector<Position>& places) {
    std::sort(section.begin(), section.end(),
              [&](std::size_t a, std::size_t b) { return places[a].y < places[b].y; });
    double reached = places[section.front()].y; // before the move
    double shift = top - reached;
    double bottom = top;
    for (const std::size_t i : section) {
        if (const double gap = places[i].y - reached; gap > kMostGap) shift -= gap - kMostGap;
        reached = std::max(reached, places[i].y + boxes[i].height);
        places[i].y += shift;
        bottom = std::max(bottom, places[i].y + boxes[i].height);
    }
    return bottom;
}

} // namespace

bool packLanes(std::vector<Position>& places, std::span<const LayoutBox> boxes,
               std::span<const int> parents) {
    std::map<int, std::vector<std::size_t>> lanes;
    std::map<int, std::set<int>> lanesOf; // by group
    double left = places.front().x;
    double right = left;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        lanes[boxes[i].lane].push_back(i);
        for (const int group : groupsAround(boxes[i], parents)) lanesOf[group].insert(boxes[i].lane);
        left = std::min(left, places[i].x);
        right = std::max(right, places[i].x + boxes[i].width);
    }
    if (lanes.size() < 2 || right - left > kLongestStrip) return false;
    for (const auto& [lane, members] : lanes) {
        // The more shared groups are around a box, the nearer it is to the border.
        std::map<int, std::vector<std::size_t>> sections;
        const int downwards = lane == lanes.begin()->first ? 1 : -1;
        for (const std::size_t i : members) {
            const std::vector<int> around = groupsAround(boxes[i], parents);
            const auto shared = std::count_if(around.begin(), around.end(),
                                              [&](int group) { return lanesOf.at(group).size() > 1; });
            sections[downwards * static_cast<int>(shared)].push_back(i);
        }
        double bottom = 0;
        for (auto& [depth, section] : sections) bottom = pack(section, boxes, bottom, places) + kFrameGap;
    }
    return true;
}

} // namespace twb
