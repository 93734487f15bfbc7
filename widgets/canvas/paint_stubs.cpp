#include "widgets/canvas/paint_parts.h"

#include <algorithm>

namespace twb {
namespace {

bool standsForSelected(const Pass& pass, const StubShape& stub) {
    return std::any_of(stub.nodes.begin(), stub.nodes.end(), [&](NodeId id) { return pass.isSelected(id); });
}

void paintStub(const Pass& pass, const StubShape& stub, bool isHovered) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const bool isOnLane = stub.kind == StubShape::Kind::onLane;
    QPen rim(theme.device(stub.device), std::max(1.3, 1 / pass.zoom));
    if (!isOnLane) rim.setDashPattern({3.2, 2.6}); // the node is on another lane
    if (stub.hasError) rim.setColor(theme.error);
    if (isHovered) rim.setWidthF(2);
    if (standsForSelected(pass, stub)) rim = QPen(theme.accent, 2);
    const double inset = rim.widthF() / 2;
    const QRectF body = stub.rect.adjusted(inset, inset, -inset, -inset);
    painter.setPen(rim);
    painter.setBrush(isOnLane ? theme.raised : theme.panel);
    painter.drawRoundedRect(body, body.height() / 2, body.height() / 2);
    if (pass.detail < Detail::titles) return;
    painter.setFont(font(isOnLane ? TextRole::smallFigure : TextRole::strong));
    painter.setPen(isOnLane ? theme.text : theme.deviceInk(stub.device));
    painter.drawText(stub.rect, Qt::AlignCenter, stub.title);
    if (stub.hasError && !isOnLane)
        paintBadge(painter, theme, Severity::error, {stub.rect.right() - 5, stub.rect.top() + 2}, 8);
}

} // namespace

void paintStubs(const Pass& pass) {
    const auto& stubs = pass.scene.stubs().shapes();
    if (stubs.empty()) return;
    pass.useCanvasUnits();
    for (std::size_t i = 0; i < stubs.size(); ++i)
        if (stubs[i].rect.intersects(pass.viewport))
            paintStub(pass, stubs[i],
                      pass.state.hover.kind == Hit::Kind::stub && pass.state.hover.stub == int(i));
    pass.usePixels();
}

} // namespace twb
