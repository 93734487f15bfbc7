#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <QRectF>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace twb {

class Scene;

/// The labels beside cards and wires: prices of copies, and words about mismatches. A label has words and a
/// place after it was shown.
class PriceLabels {
public:
    /// The label of a To node, or of a File's staging copy; null if there is none.
    const PriceLabel* ofNode(std::uint32_t slot) const noexcept;
    const PriceLabel* ofWire(std::uint32_t slot) const noexcept;
    const PriceLabel* ofGhost(std::size_t ghost) const noexcept;

    /// Writes and places the labels of all that `area` shows. `run` may be null.
    void prepare(const Scene& scene, const SceneSource& source, const RunState* run, const QRectF& area,
                 double zoom);
    void forgetNode(std::uint32_t slot) { m_nodes.erase(slot); }
    void forgetWire(std::uint32_t slot) { m_wires.erase(slot); }
    void forgetGhosts() { m_ghosts.clear(); }
    void clear();

private:
    struct Source;
    void prepareNode(const Source& source, std::uint32_t slot);
    void prepareStaging(const Source& source, std::uint32_t slot);
    void prepareWire(const Source& source, std::uint32_t slot);
    void prepareGhost(const Source& source, std::size_t index);

    std::unordered_map<std::uint32_t, PriceLabel> m_nodes;
    std::unordered_map<std::uint32_t, PriceLabel> m_wires;
    std::vector<PriceLabel> m_ghosts;
};

} // namespace twb
