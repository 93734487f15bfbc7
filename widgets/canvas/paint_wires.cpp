#include "widgets/canvas/caption.h"
#include "widgets/canvas/paint_parts.h"

#include <QLineF>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace twb {
namespace {

constexpr std::size_t kMostCurves = 3000; ///< per frame; beyond this, wires are straight lines

/// A path whose memory is reused between frames.
QPainterPath& emptyPath() {
    static thread_local QPainterPath path;
    path.clear();
    return path;
}

struct WireLook {
    QColor color;
    double width = 1.5;
    bool dashed = false;
    int layer = 0; ///< highlighted wires are above the others
};

WireLook lookOf(const Pass& pass, const WireShape& wire) {
    const Theme& theme = pass.theme();
    const PaintState& state = pass.state;
    WireLook look{wireColor(theme, wire.kind), wire.width, false, 0};
    if (wire.kind == WireClass::unknown) look.color = withAlpha(theme.secondaryText, 0.7);
    if (wire.mismatch) look = {theme.error, std::max(1.8, look.width * 0.8), true, 1};
    const bool isReplaced =
        state.preview && state.preview->splice && state.preview->splice->wire == wire.edge;
    if (state.preview && state.preview->cut.contains(wire.edge))
        look = {withAlpha(theme.error, 0.55), wire.width, true, 1};
    else if (isReplaced || (state.preview && state.preview->lifted == wire.edge))
        look.color = withAlpha(look.color, 0.2);
    else if (state.preview && state.preview->targets)
        look.color = withAlpha(look.color, 0.35);
    const bool isUnderPointer = state.hover.kind == Hit::Kind::wire || state.hover.kind == Hit::Kind::dot;
    const bool isHovered = isUnderPointer && state.hover.wire == wire.edge;
    if (isHovered || (state.journey && state.journey->wires.contains(wire.edge))) {
        look.width += 1.4;
        look.layer = 2;
    }
    if (state.selection && state.selection->edge == wire.edge) {
        look.color = theme.accent;
        look.width += 1.2;
        look.layer = 3;
    }
    return look;
}

/// Separated from crossing wires by a rim in the canvas's colour.
void paintDots(const Pass& pass, const WireShape& wire, const WireLook& look) {
    const Theme& theme = pass.theme();
    constexpr double kLeastPixels = 2.4;
    const double radius = std::max(kDotRadius, kLeastPixels / pass.zoom);
    const std::vector<DotShape>& dots = pass.scene.wires().dots().on(wire.edge.to);
    for (std::size_t i = 0; i < dots.size(); ++i) {
        if (dots[i].isHidden) continue;
        const bool isSelected =
            pass.state.selection && pass.state.selection->dots.contains({wire.edge.to, i});
        const Hit& hover = pass.state.hover;
        const bool isHovered = hover.kind == Hit::Kind::dot && hover.wire == wire.edge && hover.dot == i;
        pass.painter.setPen(QPen(theme.canvas, 1.6));
        pass.painter.setBrush(isSelected ? theme.accent : look.color);
        pass.painter.drawEllipse(dots[i].at, radius + (isHovered ? 2.2 : 0.8),
                                 radius + (isHovered ? 2.2 : 0.8));
        if (!isSelected) continue;
        pass.painter.setPen(QPen(theme.accent, 1.6));
        pass.painter.setBrush(Qt::NoBrush);
        pass.painter.drawEllipse(dots[i].at, radius + 3.6, radius + 3.6);
    }
}

void paintWire(const Pass& pass, const WireShape& wire, const WireLook& look) {
    QPainterPath& path = emptyPath();
    pass.scene.wires().path(wire).appendTo(path);
    // At least a pixel wide at any zoom.
    QPen pen(look.color, std::max(look.width, 1.1 / pass.zoom), Qt::SolidLine, Qt::RoundCap);
    if (wire.rank == 0) pen.setDashPattern({0.1, kDotGap});
    if (look.dashed) {
        pen.setDashPattern({3.4, 2.8});
        pen.setCapStyle(Qt::FlatCap);
    }
    pass.painter.strokePath(path, pen);
    if (wire.rank < 1 || look.dashed || pass.detail < Detail::full) return;
    const WirePath way = pass.scene.wires().path(wire);
    const QPointF end = way.end();
    constexpr double kLeastLength = 56;
    if (std::hypot(end.x() - wire.start.x(), end.y() - wire.start.y()) < kLeastLength) return;
    // On a straight part without other wires nearby: an input has only one wire.
    constexpr double kBefore = 16;
    QPointF before = way.at(1);
    for (int i = 1; i <= 60 && std::hypot(end.x() - before.x(), end.y() - before.y()) < kBefore; ++i)
        before = way.at(1 - i / (100.0 * way.cubicCount()));
    paintRank(pass.painter, end, end - before, wire.rank, look.color);
}

/// Wires that end at the same ports of collapsed modules, one on top of the other. All but the first are left
/// out of `slots`.
struct Bundle {
    std::uint32_t wire = 0; ///< the first one
    int count = 1;
};

void gatherBundles(const Pass& pass, std::vector<std::uint32_t>& slots, std::vector<Bundle>& bundles) {
    bundles.clear();
    if (pass.scene.modules().all().empty()) return;
    const auto& wires = pass.scene.wires().shapes();
    const NodeShapes& nodes = pass.scene.nodes();
    static thread_local std::vector<std::uint32_t> ends;
    ends.clear();
    for (const std::uint32_t slot : slots) {
        const WireShape& wire = wires[slot];
        const bool isOfModule = nodes[wire.from].module != kNoSlot || nodes[wire.to].module != kNoSlot;
        if (isOfModule && wire.ghost < 0 && !wire.showsDots && lookOf(pass, wire).layer == 0)
            ends.push_back(slot);
    }
    const auto key = [&](std::uint32_t slot) {
        const WireShape& wire = wires[slot];
        return std::tuple(wire.start.x(), wire.start.y(), wire.end.x(), wire.end.y());
    };
    std::sort(ends.begin(), ends.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(key(a), a) < std::tuple(key(b), b);
    });
    static thread_local std::vector<std::uint32_t> hidden;
    hidden.clear();
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (i == 0 || key(ends[i]) != key(ends[i - 1])) {
            bundles.push_back({ends[i], 1});
            continue;
        }
        ++bundles.back().count;
        hidden.push_back(ends[i]);
    }
    std::erase_if(bundles, [](const Bundle& bundle) { return bundle.count == 1; });
    std::sort(hidden.begin(), hidden.end());
    std::erase_if(slots,
                  [](std::uint32_t slot) { return std::binary_search(hidden.begin(), hidden.end(), slot); });
}

/// The number of wires of a bundle, in the middle of it. A bundle between lanes has a price there.
void paintCount(const Pass& pass, const WireShape& wire, int count) {
    if (wire.crosses || pass.detail < Detail::titles) return;
    const QPointF at = pass.scene.wires().path(wire).at(0.5);
    const QString text = QString::number(count);
    const double width = std::max(16.0, roughWidth(text.toStdString(), TextRole::small) + 10);
    const QRectF box(at.x() - width / 2, at.y() - 8, width, 16);
    pass.painter.setPen(QPen(wireColor(pass.theme(), wire.kind), 1));
    pass.painter.setBrush(pass.theme().panel);
    pass.painter.drawRoundedRect(box, 8, 8);
    pass.painter.setFont(font(TextRole::small));
    pass.painter.setPen(pass.theme().text);
    pass.painter.drawText(box, Qt::AlignCenter, text);
}

} // namespace

void paintRank(QPainter& painter, QPointF end, QPointF direction, int rank, const QColor& color) {
    constexpr double kFirst = 13; ///< from the end, clear of the port
    constexpr double kApart = 3.6;
    constexpr double kHalf = 3.6;
    constexpr int kMost = 8;
    const double length = std::hypot(direction.x(), direction.y());
    if (length <= 0) return;
    const QPointF along = direction / length;
    const QPointF across(-along.y(), along.x());
    painter.setPen(QPen(color, 1.1, Qt::SolidLine, Qt::RoundCap));
    for (int i = 0; i < std::min(rank, kMost); ++i) {
        const QPointF at = end - along * (kFirst + i * kApart);
        painter.drawLine(at - across * kHalf + along, at + across * kHalf - along);
    }
}

void paintWires(const Pass& pass) {
    static thread_local std::vector<std::uint32_t> slots;
    slots.clear();
    pass.scene.wires().visit(pass.viewport.adjusted(-8, -8, 8, 8),
                             [](std::uint32_t slot) { slots.push_back(slot); });
    if (slots.size() > kMostCurves) {
        paintFarWires(pass);
        return;
    }
    std::sort(slots.begin(), slots.end());
    static thread_local std::vector<Bundle> bundles;
    gatherBundles(pass, slots, bundles);
    const auto& wires = pass.scene.wires().shapes();
    pass.useCanvasUnits();
    for (int layer = 0; layer <= 3; ++layer) {
        for (const std::uint32_t slot : slots) {
            const WireLook look = lookOf(pass, wires[slot]);
            if (look.layer == layer) paintWire(pass, wires[slot], look);
        }
    }
    for (const std::uint32_t slot : slots)
        if (wires[slot].showsDots) paintDots(pass, wires[slot], lookOf(pass, wires[slot]));
    for (const Bundle& bundle : bundles) paintCount(pass, wires[bundle.wire], bundle.count);
    pass.usePixels();
}

void paintFarWires(const Pass& pass) {
    // One batch of lines per colour; the last two are mismatches and the selected wire.
    static thread_local std::array<std::vector<QLineF>, 6> batches;
    for (auto& batch : batches) batch.clear();
    const Selection* selection = pass.state.selection;
    const auto& wires = pass.scene.wires().shapes();
    pass.scene.wires().visit(pass.viewport, [&](std::uint32_t slot) {
        const WireShape& wire = wires[slot];
        std::size_t batch = static_cast<std::size_t>(wire.kind);
        if (wire.mismatch) batch = 4;
        if (selection && selection->edge == wire.edge) batch = 5;
        if (wire.end.x() >= wire.start.x() && !wire.showsDots && !wire.turnsAside) {
            batches[batch].emplace_back(pass.toScreen(wire.start), pass.toScreen(wire.end));
            return;
        }
        // At any zoom, a wire goes around cards and through its dots.
        const WirePath way = pass.scene.wires().path(wire);
        const int parts = way.cubicCount();
        for (int i = 0; i < parts; ++i)
            batches[batch].emplace_back(pass.toScreen(way.at(double(i) / parts)),
                                        pass.toScreen(way.at(double(i + 1) / parts)));
    });
    std::size_t count = 0;
    for (const auto& batch : batches) count += batch.size();
    pass.painter.save();
    pass.painter.setRenderHint(QPainter::Antialiasing, count < 800);
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (batches[i].empty()) continue;
        QColor color = i < 4 ? wireColor(pass.theme(), static_cast<WireClass>(i))
                             : (i == 4 ? pass.theme().error : pass.theme().accent);
        if (i < 4) color = withAlpha(color, pass.state.bare ? 0.35 : 0.6);
        pass.painter.setPen(QPen(color, i < 4 ? 0 : 2));
        pass.painter.drawLines(batches[i].data(), static_cast<int>(batches[i].size()));
    }
    pass.painter.restore();
}

namespace {

/// The wires of a splice, and the ports that they would connect.
void paintSplice(const Pass& pass, const SplicePreview& splice) {
    const WireShape* wire = pass.scene.wires().find(splice.wire);
    if (!wire) return;
    const Theme& theme = pass.theme();
    const auto dots = pass.scene.wires().dots().shownOn(*wire);
    const std::span<const QPointF> all(dots);
    const std::size_t before = dotsBefore(wire->start, all, wire->end, (splice.input + splice.output) / 2);
    for (const auto& [from, through, to] : {std::tuple(wire->start, all.first(before), splice.input),
                                            std::tuple(splice.output, all.subspan(before), wire->end)}) {
        WirePath way(from);
        routeWire(way, through, to, {}, {});
        QPainterPath& path = emptyPath();
        way.appendTo(path);
        pass.painter.strokePath(path, QPen(theme.accent, 3, Qt::SolidLine, Qt::RoundCap));
    }
    pass.painter.setPen(QPen(theme.raised, 1.5));
    pass.painter.setBrush(theme.accent);
    for (const QPointF port : {splice.input, splice.output})
        pass.painter.drawEllipse(port, metrics::portRadius, metrics::portRadius);
}

void paintStroke(const Pass& pass, const std::vector<QPointF>& stroke) {
    const Theme& theme = pass.theme();
    pass.painter.setBrush(Qt::NoBrush);
    // A rim in the canvas's colour separates it from the wires that it crosses.
    for (const auto& [color, width] : {std::pair(theme.canvas, 5.0), std::pair(theme.error, 2.0)}) {
        pass.painter.setPen(QPen(color, width / pass.zoom, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        pass.painter.drawPolyline(stroke.data(), int(stroke.size()));
    }
}

} // namespace

void paintPreview(const Pass& pass) {
    const Preview& preview = *pass.state.preview;
    const Theme& theme = pass.theme();
    QPainter& painter = pass.painter;
    pass.useCanvasUnits();
    if (preview.drop) {
        QPen pen(theme.accent, 1.6);
        pen.setDashPattern({3, 2.4});
        painter.setPen(pen);
        painter.setBrush(withAlpha(theme.accent, 0.12));
        painter.drawRoundedRect(*preview.drop, metrics::cardRadius, metrics::cardRadius);
        painter.setPen(theme.accent);
        painter.setFont(font(TextRole::nodeTitle));
        painter.drawText(preview.drop->adjusted(8, 0, -8, 0), Qt::AlignCenter, preview.dropTitle);
    }
    if (preview.wire) {
        const WirePreview& wire = *preview.wire;
        WirePath way(wire.output);
        routeWire(way, wire.dots, wire.input, {}, {});
        QPainterPath& path = emptyPath();
        way.appendTo(path);
        const bool isSnapped = wire.state == WirePreview::State::snapped;
        const bool isRefused = wire.state == WirePreview::State::refused;
        QPen pen(isRefused ? theme.error : (isSnapped ? theme.accent : wireColor(theme, wire.kind)),
                 isSnapped ? 3 : 2.2, Qt::SolidLine, Qt::RoundCap);
        if (!isSnapped) pen.setDashPattern({2.4, 2.6});
        painter.strokePath(path, pen);
        painter.setPen(QPen(theme.raised, 1.5));
        painter.setBrush(pen.color());
        painter.drawEllipse(wire.output, metrics::portRadius, metrics::portRadius);
        painter.drawEllipse(wire.input, metrics::portRadius, metrics::portRadius);
    }
    if (preview.laneEdge) {
        painter.setPen(QPen(theme.accent, 2 / pass.zoom));
        painter.drawLine(
            QLineF(pass.viewport.left(), *preview.laneEdge, pass.viewport.right(), *preview.laneEdge));
    }
    if (!preview.guides.empty()) {
        painter.setRenderHint(QPainter::Antialiasing, false); // a sharp hairline instead of two blurred ones
        painter.setPen(QPen(withAlpha(theme.accent, 0.8), 0));
        painter.drawLines(preview.guides.data(), int(preview.guides.size()));
        painter.setRenderHint(QPainter::Antialiasing);
    }
    if (preview.splice) paintSplice(pass, *preview.splice);
    if (!preview.stroke.empty()) paintStroke(pass, preview.stroke);
    if (preview.rubberBand) {
        painter.setPen(QPen(theme.accent, 1 / pass.zoom));
        painter.setBrush(withAlpha(theme.accent, 0.1));
        painter.drawRoundedRect(*preview.rubberBand, 3 / pass.zoom, 3 / pass.zoom);
    }
    pass.usePixels();
}

} // namespace twb
