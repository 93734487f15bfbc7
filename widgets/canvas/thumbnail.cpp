#include "widgets/canvas/thumbnail.h"

#include <QPainter>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

Analysis withoutFileErrors(Analysis analysis) {
    std::erase_if(analysis.diagnostics, [](const Diagnostic& problem) { return problem.code == "file"; });
    return analysis;
}

PaintState stateWith(double headerWidth) {
    PaintState state(Theme::current());
    state.headerWidth = headerWidth;
    return state;
}

Scene& rebuilt(Scene& scene, const SceneSource& source) {
    scene.rebuild(source);
    return scene;
}

} // namespace

Thumbnail::Thumbnail(const Graph& graph, Analysis analysis, const DeviceMap& devices, double headerWidth)
    : m_analysis(withoutFileErrors(std::move(analysis))),
      m_picture(rebuilt(m_scene, {graph, m_analysis, devices}), {graph, m_analysis, devices},
                stateWith(headerWidth)) {}

QImage Thumbnail::small(QSize size, double ratio) const {
    constexpr double kMargin = 10;     // of the picture
    constexpr double kMostZoom = 0.55; // a box larger than a small card would be no overview
    QRectF drawn = m_scene.nodes().bounds() | m_scene.wires().bounds();
    for (const FrameShape& frame : m_scene.frames().shapes()) drawn |= frame.rect;
    if (drawn.isEmpty()) drawn = m_scene.extent();
    const double zoom = std::min({std::max(size.width() - 2 * kMargin, 1.0) / drawn.width(),
                                  std::max(size.height() - 2 * kMargin, 1.0) / drawn.height(), kMostZoom});
    QRectF viewport({}, QSizeF(size) / zoom);
    viewport.moveCenter(drawn.center());
    PaintState state = stateWith(0);
    state.bare = true;
    state.hasNotes = false;

    QImage image((QSizeF(size) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(state.theme.canvas);
    QPainter painter(&image);
    paintOverview(painter, m_scene, state, viewport, zoom);
    return image;
}

} // namespace twb
