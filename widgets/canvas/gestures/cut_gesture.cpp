#include "widgets/canvas/gestures/cut_gesture.h"

#include "widgets/wire_edits.h"

#include <QLineF>

namespace twb {
namespace {

bool crosses(const WirePath& way, const QLineF& stroke) {
    constexpr int kPartsOfCubic = 16;
    const int parts = way.cubicCount() * kPartsOfCubic;
    QPointF before = way.start();
    for (int i = 1; i <= parts; ++i) {
        const QPointF next = way.at(double(i) / parts);
        if (QLineF(before, next).intersects(stroke, nullptr) == QLineF::BoundedIntersection) return true;
        before = next;
    }
    return false;
}

} // namespace

void CutGesture::move(const Pointer& pointer) {
    if (pointer.at == m_last) return;
    const QLineF stroke(m_last, pointer.at);
    if (m_preview.stroke.empty()) m_preview.stroke.push_back(m_last);
    m_preview.stroke.push_back(pointer.at);
    m_last = pointer.at;
    const Scene& scene = m_host.hostScene();
    scene.wires().visit(QRectF(stroke.p1(), stroke.p2()).normalized(), [&](std::uint32_t slot) {
        const WireShape& wire = scene.wires()[slot];
        if (!wire.hidden && crosses(scene.wires().path(wire), stroke)) m_preview.cut.insert(wire.edge);
    });
    m_host.repaint();
}

void CutGesture::finish(const Pointer& pointer) {
    move(pointer);
    const std::set<Edge> edges = std::move(m_preview.cut);
    cancel();
    if (!edges.empty()) m_host.apply(cut(m_host.document().graph(), edges));
}

void CutGesture::cancel() {
    m_preview = {};
    m_host.repaint();
}

} // namespace twb
