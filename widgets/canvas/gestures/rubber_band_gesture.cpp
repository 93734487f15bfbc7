#include "widgets/canvas/gestures/rubber_band_gesture.h"

#include <QApplication>

namespace twb {

RubberBandGesture::RubberBandGesture(GestureHost& host, const Pointer& start)
    : Gesture(host), m_start(start.at), m_startPixel(start.pixel) {
    if (start.modifiers & (Qt::ControlModifier | Qt::ShiftModifier)) m_before = host.document().selection();
    m_before.edge.reset();
    m_selection = m_before;
}

void RubberBandGesture::move(const Pointer& pointer) {
    const bool began = m_preview.rubberBand.has_value();
    if (!began && (pointer.pixel - m_startPixel).manhattanLength() < QApplication::startDragDistance())
        return;
    const QRectF band = QRectF(m_start, pointer.at).normalized();
    m_preview.rubberBand = band;
    m_selection = m_before;
    const Scene& scene = m_host.hostScene();
    scene.nodes().visit(band, [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        m_selection->nodes.insert(shape.id);
        if (const ModuleShape* module = scene.modules().of(shape))
            m_selection->nodes.insert(module->nodes.begin(), module->nodes.end());
    });
    scene.wires().visitDots(band, [&](const DotRef& ref, const DotShape&) { m_selection->dots.insert(ref); });
    for (const NoteShape& note : scene.notes()) {
        if (note.rect.intersects(band)) m_selection->notes.insert(note.id);
    }
    m_host.repaint();
}

void RubberBandGesture::finish(const Pointer& pointer) {
    move(pointer);
    m_preview.rubberBand.reset();
    m_host.document().select(*m_selection);
    m_host.repaint();
}

void RubberBandGesture::cancel() {
    m_preview.rubberBand.reset();
    m_selection.reset();
    m_host.repaint();
}

} // namespace twb
