#pragma once

#include "graph/delta.h"
#include "widgets/canvas/scene_shapes.h"
#include "widgets/dot_ref.h"

#include <QVarLengthArray>

#include <optional>
#include <unordered_map>
#include <vector>

namespace twb {

class LaneStack;
class Scene;
class WirePath;

/// The dots of wires, by the input that the wire feeds.
class WireDots {
public:
    bool empty() const noexcept { return m_dots.empty(); }
    /// All dots of the wire into an input, including hidden ones.
    const std::vector<DotShape>& on(PortRef input) const noexcept;
    /// The visible dots of a wire, from its start on.
    QVarLengthArray<QPointF, 16> shownOn(const WireShape& wire) const;
    /// The place for a new dot on a wire with this path, where its n-th cubic comes near a point.
    DotPlace placeIn(const WireShape& wire, const WirePath& path, int cubic, QPointF at) const;
    /// Of all visible dots.
    QRectF bounds() const;
    /// The dots that are shown at an offset.
    std::vector<DotRef> dragged() const;

    void set(PortRef input, const std::vector<Dot>& dots);
    /// Makes lanes at least as high as their dots.
    void makeRoom(const Scene& scene, LaneStack& lanes) const;
    /// Positions the dots on the stacked lanes. Returns the inputs of the wires whose dots moved.
    std::vector<PortRef> place(const Scene& scene);
    /// Shows a dot at an offset. False if there is no such dot.
    bool drag(const DotRef& ref, QPointF offset);
    /// Shows a temporary dot, before the dot at its index, until dropHeld().
    void hold(const DotRef& ref, const DotShape& dot);
    /// Returns the input of the wire that the temporary dot was on.
    std::optional<PortRef> dropHeld();

private:
    std::unordered_map<PortRef, std::vector<DotShape>, PortHash> m_dots;
    std::optional<DotRef> m_held;
};

} // namespace twb
