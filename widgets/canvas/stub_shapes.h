#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <unordered_map>
#include <vector>

namespace twb {

class LaneStack;
class Scene;

/// The stubs at which the wires of hidden nodes end.
class StubShapes {
public:
    const std::vector<StubShape>& shapes() const noexcept { return m_stubs; }
    const StubShape& operator[](std::int32_t index) const { return m_stubs[static_cast<std::size_t>(index)]; }
    /// The index of the stub that represents a hidden slot on that side of a wire; -1: none.
    std::int32_t of(std::uint32_t slot, PortSide side) const noexcept;

    /// Finds the stubs of a scene whose lanes are not stacked yet. Stubs on strips get their positions; the
    /// others need room, which may make lanes higher.
    void read(const Scene& scene, const Graph& graph);
    void makeRoom(LaneStack& lanes) const;
    /// Puts the stubs on the stacked lanes.
    void place(const LaneStack& lanes);

private:
    void settle(const Scene& scene);

    std::vector<StubShape> m_stubs;
    std::unordered_map<std::uint64_t, std::int32_t> m_indexOf; ///< by hidden slot, and its side of the wire
};

} // namespace twb
