#include "widgets/canvas/paint_canvas.h"

#include "widgets/canvas/paint_parts.h"

#include <algorithm>

namespace twb {
namespace {

constexpr double kHeaderWidth = 164;
constexpr double kNarrowHeader = 104;

void paintFar(const Pass& pass) {
    pass.painter.setRenderHint(QPainter::Antialiasing, false);
    paintLanes(pass);
    if (pass.detail == Detail::density) {
        paintDensity(pass);
        return;
    }
    paintFrames(pass);
    if (pass.state.hasNotes) paintNotes(pass);
    paintFarWires(pass);
    paintFrameTitles(pass);
    pass.painter.setRenderHint(QPainter::Antialiasing, false);
    paintFarNodes(pass);
    if (!pass.state.bare) paintStubs(pass);
}

void paintNear(const Pass& pass) {
    pass.painter.setRenderHint(QPainter::Antialiasing, false);
    paintLanes(pass);
    pass.painter.setRenderHint(QPainter::Antialiasing);
    paintFrames(pass);
    if (pass.state.hasNotes) paintNotes(pass);
    paintWires(pass);
    paintFrameTitles(pass);
    paintGhosts(pass);
    paintStubs(pass);
    paintCards(pass);
    paintStops(pass);
    if (pass.zoom >= kReadableZoom) paintLabels(pass);
    paintJourney(pass);
}

} // namespace

void Pass::useCanvasUnits() const {
    painter.save();
    painter.scale(zoom, zoom);
    painter.translate(-viewport.topLeft());
}

void Pass::usePixels() const { painter.restore(); }

QColor cardGround(const Pass& pass, std::uint32_t slot) {
    const Heat* heat = pass.state.heat;
    return heat && slot < heat->shares.size() ? heatColor(pass.theme(), heat->shares[slot])
                                              : pass.theme().raised;
}

QColor withAlpha(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

QColor wireColor(const Theme& theme, WireClass kind) {
    switch (kind) {
    case WireClass::floating:
        return theme.floatWire;
    case WireClass::integer:
        return theme.integerWire;
    case WireClass::boolean:
        return theme.boolWire;
    case WireClass::unknown:
        break;
    }
    return theme.secondaryText;
}

double headerWidthFor(double viewWidth) noexcept {
    return std::clamp(viewWidth * 0.175, kNarrowHeader, kHeaderWidth);
}

QRectF chevronOf(const QRectF& header, double viewHeight) noexcept {
    constexpr double kSize = 20;
    const double from = std::max(header.top(), 0.0);
    const double seen = std::min(header.bottom(), viewHeight) - from;
    if (header.height() < 14 || seen < 14) return {};
    const double top = header.height() < 60 ? header.center().y() - kSize / 2
                       : seen < 60          ? from + 6
                                            : from + 13;
    return {header.right() - kSize - 8, top, kSize, kSize};
}

void paintOverview(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                   double zoom) {
    if (viewport.isEmpty() || zoom <= 0) return;
    const Pass pass{painter,  scene, state,
                    viewport, zoom,  std::min(detailFor(zoom, scene.nodes().count()), Detail::plain)};
    paintFar(pass);
}

void paintCanvas(QPainter& painter, const Scene& scene, const PaintState& state, const QRectF& viewport,
                 double zoom) {
    if (viewport.isEmpty() || zoom <= 0) return;
    const Pass pass{painter, scene, state, viewport, zoom, detailFor(zoom, scene.nodes().count())};
    painter.save();
    if (pass.detail >= Detail::titles)
        paintNear(pass);
    else
        paintFar(pass);
    painter.setRenderHint(QPainter::Antialiasing);
    if (state.preview) paintPreview(pass);
    if (state.headerWidth > 0) paintLaneHeaders(pass);
    if (state.heat) paintHeatScale(painter, state.theme, *state.heat, heatScaleBox(viewport.size() * zoom));
    painter.restore();
}

} // namespace twb
