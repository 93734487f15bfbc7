#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace twb {

/// The lanes of a scene as bands, one below the other. A band is at least as high as its content.
class LaneStack {
public:
    const std::vector<LaneBand>& bands() const noexcept { return m_bands; }
    const LaneBand* find(LaneId id) const noexcept;
    /// The band at this height, or the nearest one; null if there are none.
    const LaneBand* at(double y) const noexcept;
    static constexpr double kRankTitle = 34; ///< the height of a rank's title, above its first lane
    /// The minimum height of a lane with its contents.
    static double leastHeightOf(const LaneBand& band) noexcept;

    /// Reads the lanes of the graph. They keep their places until stack().
    void read(const SceneSource& source);
    /// Counts a node as content of its lane, as it is drawn now.
    void count(NodeShape& shape);
    void discount(NodeShape& shape);
    /// Makes the lane at least this high for something that is not a node.
    void makeRoom(LaneId lane, double bottom);
    /// Counts a hidden node if the lane is collapsed.
    void countHidden(LaneId lane, bool hasError);
    /// Places the bands; packed, they are as low as their content. Returns the lanes that moved.
    std::unordered_set<LaneId> stack(bool isPacked);

private:
    LaneBand* band(LaneId id) noexcept;

    std::vector<LaneBand> m_bands;
    std::unordered_map<LaneId, std::map<double, int>> m_bottoms; ///< by lane: how many nodes end there
};

} // namespace twb
