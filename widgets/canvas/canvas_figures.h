#pragma once

#include "core/buffer.h"
#include "widgets/canvas/heat.h"

#include <map>

namespace twb {

class Document;
class Scene;

/// The figures that the canvas shows: those of a run, the heat of the cards, and the memory of the devices.
class CanvasFigures {
public:
    CanvasFigures(const Document& document, const Scene& scene) : m_document(document), m_scene(scene) {}

    /// Null for none.
    const RunState* run() const noexcept { return m_run; }
    HeatBy heatBy() const noexcept { return m_heatBy; }
    const Heat& heat() const;
    const std::map<Device, MemoryStats>& memory() const noexcept { return m_memory; }

    void setRun(const RunState* run) { m_run = run; }
    void setHeatBy(HeatBy by);
    /// After a change of the lanes, of the run or of the devices.
    void refresh();
    /// After any other change of the scene.
    void outdateHeat() { m_heatIsOld = true; }

private:
    const Document& m_document;
    const Scene& m_scene;
    const RunState* m_run = nullptr;
    HeatBy m_heatBy = HeatBy::none;
    mutable Heat m_heat;
    mutable bool m_heatIsOld = true;
    std::map<Device, MemoryStats> m_memory;
};

} // namespace twb
