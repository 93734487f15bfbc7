#include "widgets/canvas/canvas_figures.h"

#include "widgets/document.h"

#include <utility>

namespace twb {

const Heat& CanvasFigures::heat() const {
    if (std::exchange(m_heatIsOld, false)) m_heat = heatOf(m_scene, m_document.analysis(), m_run, m_heatBy);
    return m_heat;
}

void CanvasFigures::setHeatBy(HeatBy by) {
    m_heatBy = by;
    outdateHeat();
}

void CanvasFigures::refresh() {
    outdateHeat();
    m_memory.clear();
    for (const LaneBand& band : m_scene.lanes().bands()) {
        if (Backend* backend = m_document.devices().find(band.device))
            m_memory[band.device] = backend->memory().stats();
    }
}

} // namespace twb
