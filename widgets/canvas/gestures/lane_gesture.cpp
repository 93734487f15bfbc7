#include "widgets/canvas/gestures/lane_gesture.h"

#include "widgets/graph_edits.h"

#include <algorithm>
#include <cmath>

namespace twb {

/// On the grid, and at least as high as the content.
double LaneGesture::heightAt(double y) const {
    const LaneBand* band = m_host.hostScene().lanes().find(m_lane);
    if (!band) return 0;
    return std::max(LaneStack::leastHeightOf(*band), std::round((y - band->top) / kGrid) * kGrid);
}

/// The number of positions down or up: lanes of the same rank whose centres the pointer has passed.
int LaneGesture::stepsAt(double y) const {
    const LaneStack& lanes = m_host.hostScene().lanes();
    const LaneBand* own = lanes.find(m_lane);
    int steps = 0;
    for (const LaneBand& band : lanes.bands()) {
        if (!band.device.sharesRankWith(own->device)) continue;
        const double middle = band.top + band.height / 2;
        if (&band > own && y > middle) ++steps;
        if (&band < own && y < middle) --steps;
    }
    return steps;
}

void LaneGesture::move(const Pointer& pointer) {
    const LaneBand* own = m_host.hostScene().lanes().find(m_lane);
    if (!own) return;
    m_preview.lanes = {m_lane};
    if (m_part == Part::edge) {
        m_preview.laneEdge = own->top + heightAt(pointer.at.y());
    } else {
        const int steps = stepsAt(pointer.at.y());
        const LaneBand& there = *(own + steps);
        m_preview.laneEdge = steps > 0 ? there.bottom() : there.top;
    }
    m_host.repaint();
}

void LaneGesture::finish(const Pointer& pointer) {
    const Graph& graph = m_host.document().graph();
    const double height = heightAt(pointer.at.y());
    const int steps = stepsAt(pointer.at.y());
    cancel();
    if (m_part == Part::edge)
        m_host.apply(resizeLane(graph, m_lane, height));
    else if (steps != 0)
        m_host.apply(moveLane(graph, m_lane, steps));
}

void LaneGesture::cancel() {
    m_preview = {};
    m_host.repaint();
}

} // namespace twb
