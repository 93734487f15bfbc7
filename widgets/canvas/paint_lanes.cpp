#include "core/format.h"
#include "widgets/canvas/note_text.h"
#include "widgets/canvas/paint_parts.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainterPath>
#include <QPixmap>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// For translators.
struct LaneWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

constexpr double kDotSpacing = 24;
constexpr double kTagHeight = 17;
constexpr double kMemoryHeight = 36; ///< the line of figures and the bar below it, with margins

/// The dot grid, aligned to pixels, wider at lower zoom.
void paintDots(const Pass& pass, const QRectF& area) {
    if (pass.state.bare || pass.zoom < 0.2) return;
    double spacing = kDotSpacing * pass.zoom;
    while (spacing < 15) spacing *= 2;
    const double step = spacing / pass.zoom;
    pass.painter.setPen(Qt::NoPen);
    const QColor color = pass.theme().dotGrid;
    const double size = pass.zoom >= 1.5 ? 2 : 1.5;
    static thread_local std::vector<QRectF> dots;
    dots.clear();
    const auto first = [step](double from) { return static_cast<std::int64_t>(std::ceil(from / step)); };
    for (std::int64_t row = first(pass.viewport.top()); row < first(pass.viewport.bottom()); ++row) {
        for (std::int64_t column = first(pass.viewport.left()); column < first(pass.viewport.right());
             ++column) {
            const QPointF at =
                pass.toScreen({static_cast<double>(column) * step, static_cast<double>(row) * step});
            if (at.y() < area.top() || at.y() > area.bottom()) continue;
            dots.emplace_back(std::round(at.x()), std::round(at.y()), size, size);
        }
    }
    pass.painter.setBrush(color);
    pass.painter.drawRects(dots.data(), static_cast<int>(dots.size()));
}

/// The position of a band on the screen.
QRectF onScreen(const Pass& pass, const LaneBand& band) {
    const double top = std::round((band.top - pass.viewport.top()) * pass.zoom);
    double bottom = std::round((band.bottom() - pass.viewport.top()) * pass.zoom);
    // Drops below the last lane go to it, so the area is painted as part of it.
    if (&band == &pass.scene.lanes().bands().back())
        bottom = std::max(bottom, pass.viewport.height() * pass.zoom);
    return {0, top, pass.viewport.width() * pass.zoom, bottom - top};
}

/// Diagonal lines for a simulated device.
QBrush hatching(const QColor& color) {
    static thread_local std::map<QRgb, QPixmap> tiles;
    QPixmap& tile = tiles[color.rgba()];
    if (tile.isNull()) {
        constexpr int kTile = 9;
        tile = QPixmap(kTile, kTile);
        tile.fill(Qt::transparent);
        QPainter painter(&tile);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(color, 1.4));
        for (const int shift : {-kTile, 0, kTile})
            painter.drawLine(QPointF(shift - 1, kTile + 1), QPointF(shift + kTile + 1, -1));
    }
    return {tile};
}

void paintTag(QPainter& painter, const Theme& theme, QPointF at) {
    const QString word = LaneWords::tr("modelled");
    const QFontMetricsF metrics(font(TextRole::capsLabel));
    const QRectF pill(at.x(), at.y(), std::ceil(metrics.horizontalAdvance(word)) + 16, kTagHeight);
    painter.setPen(QPen(withAlpha(theme.warning, 0.45), 1));
    painter.setBrush(withAlpha(theme.warning, theme.isDark ? 0.16 : 0.12));
    painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
    painter.setFont(font(TextRole::capsLabel));
    painter.setPen(theme.warningInk());
    painter.drawText(pill, Qt::AlignCenter, word);
}

/// Draws wrapped words on at most `lines` lines, elided if necessary; returns their height.
double paintWrapped(QPainter& painter, const QString& words, TextRole role, const QRectF& room, int lines) {
    const QFontMetricsF metrics(font(role));
    painter.setFont(font(role));
    double y = room.top();
    for (const QString& line : wrapped(words, font(role), room.width(), lines)) {
        painter.drawText(QPointF(room.left(), y + metrics.ascent()), line);
        y += std::ceil(metrics.height()) + 1;
    }
    return y - room.top();
}

void paintMemory(const Pass& pass, const LaneBand& band, const QRectF& room) {
    const auto known = pass.state.memory.find(band.device);
    if (known == pass.state.memory.end() || known->second.total == 0) return;
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const MemoryStats& memory = known->second;
    const double share =
        std::clamp(static_cast<double>(memory.used) / static_cast<double>(memory.total), 0.0, 1.0);
    const QRectF bar(room.left(), room.bottom() - 4, room.width(), 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.border);
    painter.drawRoundedRect(bar, 2, 2);
    if (memory.used > 0) {
        painter.setBrush(theme.device(band.device));
        painter.drawRoundedRect(
            QRectF(bar.left(), bar.top(), std::max(4.0, bar.width() * share), bar.height()), 2, 2);
    }
    painter.setFont(font(TextRole::small));
    painter.setPen(theme.secondaryText);
    const QFontMetricsF metrics(font(TextRole::small));
    const QString used = localized(formatBytes(static_cast<double>(memory.used)));
    QString words =
        LaneWords::tr("%1 of %2").arg(used, localized(formatBytes(static_cast<double>(memory.total))));
    if (metrics.horizontalAdvance(words) > room.width()) words = used; // the bar shows the share
    painter.drawText(QPointF(room.left(), bar.top() - 6),
                     metrics.elidedText(words, Qt::ElideRight, room.width()));
}

/// Points down for an open lane, to the right for a collapsed one.
void paintChevron(QPainter& painter, const Theme& theme, const QRectF& room, bool isCollapsed) {
    const QPointF at = room.center();
    const QPointF down[] = {at + QPointF(-4, -2), at + QPointF(0, 2.4), at + QPointF(4, -2)};
    const QPointF right[] = {at + QPointF(-2, -4), at + QPointF(2.4, 0), at + QPointF(-2, 4)};
    painter.setPen(QPen(theme.secondaryText, 1.7, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(isCollapsed ? right : down, 3);
}

/// The header of a collapsed lane: its name and the number of its nodes.
void paintStripHeader(const Pass& pass, const LaneBand& band, const QRectF& room) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const QFontMetricsF names(font(TextRole::strong));
    const QFontMetricsF words(font(TextRole::small));
    const bool hasTwo = room.height() >= names.height() + words.height() + 4;
    const double height = names.height() + (hasTwo ? words.height() : 0);
    const double top = room.center().y() - height / 2;
    const QString name =
        band.title.isEmpty() ? band.name : QStringLiteral("%1 · %2").arg(band.name, band.title);
    painter.setPen(theme.deviceInk(band.device));
    painter.setFont(font(TextRole::strong));
    painter.drawText(QPointF(room.left(), top + names.ascent()),
                     names.elidedText(name, Qt::ElideRight, room.width()));
    if (!hasTwo) return;
    QString count = LaneWords::tr("%1 nodes").arg(band.hiddenNodes);
    if (band.hiddenNodes == 0) count = LaneWords::tr("empty");
    if (band.hiddenNodes == 1) count = LaneWords::tr("1 node");
    if (band.hidesErrors) count += LaneWords::tr(", with errors");
    painter.setPen(band.hidesErrors ? theme.error : theme.secondaryText);
    painter.setFont(font(TextRole::small));
    painter.drawText(QPointF(room.left(), top + names.height() + words.ascent()),
                     words.elidedText(count, Qt::ElideRight, room.width()));
}

/// The title of a rank, above its first lane.
void paintRankTitle(const Pass& pass, const LaneBand& band) {
    const double height = LaneStack::kRankTitle * pass.zoom;
    const double bottom = std::round((band.top - pass.viewport.top()) * pass.zoom);
    const double width = pass.viewport.width() * pass.zoom;
    if (bottom < 0 || bottom - height > pass.viewport.height() * pass.zoom) return;
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const QRectF strip(0, std::round(bottom - height), width, std::round(height));
    painter.fillRect(QRectF(0, strip.top(), pass.state.headerWidth, strip.height()), theme.canvas);
    painter.fillRect(QRectF(0, strip.bottom() - 1, width, 1), theme.border);
    const QFontMetricsF metrics(font(TextRole::strong));
    if (strip.height() < metrics.height()) return;
    painter.setPen(theme.text);
    painter.setFont(font(TextRole::strong));
    const QRectF room = strip.adjusted(16, 0, pass.state.headerWidth - width - 12, 0);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(band.rankTitle, Qt::ElideRight, room.width()));
}

bool isFrameHovered(const Pass& pass, const FrameShape& frame) {
    return pass.state.hover.kind == Hit::Kind::frame && pass.state.hover.frame == frame.id;
}

/// One header, as much as fits its height: the name, the label "modelled", the memory, the hardware.
void paintHeader(const Pass& pass, const LaneBand& band, const QRectF& box) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const QColor accent = theme.device(band.device);
    painter.fillRect(box, theme.laneHeader);
    if (band.simulated) {
        // Faint, so that text on it is legible.
        painter.save();
        painter.setBrushOrigin(box.topLeft());
        painter.fillRect(box, hatching(withAlpha(accent, theme.isDark ? 0.1 : 0.13)));
        painter.restore();
    }
    painter.fillRect(QRectF(box.left(), box.top(), 3, box.height()), accent);
    painter.fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), theme.border);
    if (box.height() < 14) return;

    const QRectF room = box.adjusted(16, 0, -12, 0);
    const QRectF chevron = chevronOf(box, pass.viewport.height() * pass.zoom);
    if (!chevron.isEmpty()) paintChevron(painter, theme, chevron, band.collapsed);
    const double nameWidth = chevron.isEmpty() ? room.width() : chevron.left() - 4 - room.left();
    if (band.collapsed)
        return paintStripHeader(pass, band, {room.left(), box.top(), nameWidth, box.height()});
    // The band may start above the view; its name stays visible.
    const double from = std::max(box.top(), 0.0);
    const double until = std::min(box.bottom(), pass.viewport.height() * pass.zoom);
    const QRectF seen(room.left(), from, room.width(), until - from);
    const QFontMetricsF nameMetrics(font(TextRole::laneTitle));
    painter.setPen(theme.deviceInk(band.device));
    if (box.height() < 36 || seen.height() < 28) {
        const QFontMetricsF small(font(TextRole::strong));
        painter.setFont(font(TextRole::strong));
        const double y = box.height() < 36 ? box.center().y() - small.height() / 2
                                           : std::min(from + 6, box.bottom() - small.height() - 4);
        painter.drawText(QPointF(room.left(), y + small.ascent()),
                         small.elidedText(band.name, Qt::ElideRight, nameWidth));
        return;
    }
    painter.setFont(font(TextRole::laneTitle));
    const double nameTop = seen.height() < 60 ? 7 : 14;
    painter.drawText(QPointF(room.left(), seen.top() + nameTop + nameMetrics.ascent()),
                     nameMetrics.elidedText(band.name, Qt::ElideRight, nameWidth));
    double y = seen.top() + nameTop + std::ceil(nameMetrics.height()) + 3;
    const double tagRoom = band.simulated && until - y >= kTagHeight + 4 ? kTagHeight + 4 : 0;
    const bool hasMemory = !band.repeated && until - y >= tagRoom + kMemoryHeight;
    const double foot = tagRoom + (hasMemory ? kMemoryHeight : tagRoom > 0 ? 0 : 8);
    const auto left = [&] { return until - foot - y; };
    const auto rest = [&] { return QRectF(room.left(), y, room.width(), left()); };
    if (!band.title.isEmpty() && left() > 15) {
        painter.setPen(theme.text);
        y += paintWrapped(painter, band.title, TextRole::body, rest(), left() > 60 ? 2 : 1);
    }
    painter.setPen(theme.secondaryText);
    if (!band.repeated || band.title.isEmpty()) {
        if (left() > 15)
            y += paintWrapped(painter, band.backend, TextRole::body, rest(), left() > 32 ? 2 : 1);
        if (!band.repeated && left() > 15) y += paintWrapped(painter, band.detail, TextRole::body, rest(), 1);
    }
    if (tagRoom > 0) paintTag(painter, theme, {room.left(), y + std::clamp(left(), 0.0, 6.0)});
    if (hasMemory) paintMemory(pass, band, QRectF(room.left(), from, room.width(), until - from - 12));
}

} // namespace

void paintLanes(const Pass& pass) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const QSizeF size = pass.viewport.size() * pass.zoom;
    painter.fillRect(QRectF(QPointF(), size), theme.canvas);
    double bottom = 0;
    double top = size.height();
    for (const LaneBand& band : pass.scene.lanes().bands()) {
        const QRectF box = onScreen(pass, band);
        if (box.bottom() < 0 || box.top() > size.height()) continue;
        painter.fillRect(box, theme.laneBackground(band.device));
        top = std::min(top, box.top());
        bottom = std::max(bottom, box.bottom());
    }
    paintDots(pass, QRectF(0, top, size.width(), bottom - top));
    for (const LaneBand& band : pass.scene.lanes().bands()) {
        const QRectF box = onScreen(pass, band);
        if (box.bottom() < 0 || box.top() > size.height()) continue;
        painter.fillRect(QRectF(0, box.bottom() - 1, size.width(), 1), theme.border);
        const auto* preview = pass.state.preview;
        if (!preview ||
            std::find(preview->lanes.begin(), preview->lanes.end(), band.id) == preview->lanes.end())
            continue;
        const QColor accent = theme.device(band.device);
        painter.fillRect(box, withAlpha(accent, 0.09));
        painter.fillRect(QRectF(0, box.top(), size.width(), 2), accent);
        painter.fillRect(QRectF(0, box.bottom() - 2, size.width(), 2), accent);
    }
}

void paintLaneHeaders(const Pass& pass) {
    const double height = pass.viewport.height() * pass.zoom;
    pass.painter.save();
    pass.painter.setClipRect(QRectF(0, 0, pass.state.headerWidth, height), Qt::IntersectClip);
    for (const LaneBand& band : pass.scene.lanes().bands()) {
        if (!band.rankTitle.isEmpty()) paintRankTitle(pass, band);
        QRectF box = onScreen(pass, band);
        box.setWidth(pass.state.headerWidth);
        if (box.bottom() < 0 || box.top() > height) continue;
        paintHeader(pass, band, box);
        pass.painter.fillRect(QRectF(0, box.bottom() - 1, box.width(), 1), pass.theme().border);
    }
    pass.painter.restore();
}

void paintFrames(const Pass& pass) {
    const Theme& theme = pass.theme();
    pass.useCanvasUnits();
    QPainter& painter = pass.painter;
    for (const FrameShape& frame : pass.scene.frames().shapes()) {
        if (frame.rect.isEmpty() || !frame.rect.adjusted(0, -12, 0, 0).intersects(pass.viewport)) continue;
        const bool isPlain = frame.color == FrameColor::none;
        const QColor ink = theme.frame(frame.color);
        QPen outline(withAlpha(ink, frame.isBody || !isPlain ? 0.7 : 0.4), std::max(1.0, 1 / pass.zoom));
        if (frame.isBody) outline.setDashPattern({5, 4});
        const bool takes = pass.state.preview && pass.state.preview->frame == frame.id;
        if (isFrameHovered(pass, frame)) {
            outline.setColor(withAlpha(ink, 0.95));
            outline.setWidthF(2 / std::min(pass.zoom, 1.0));
        }
        if (takes) outline.setColor(theme.accent);
        if (takes) outline.setWidthF(2);
        painter.setPen(outline);
        painter.setBrush(takes ? withAlpha(theme.accent, 0.08) : withAlpha(ink, isPlain ? 0.045 : 0.08));
        painter.drawRoundedRect(frame.rect.adjusted(0.5, 0.5, -0.5, -0.5), 12, 12);
    }
    pass.usePixels();
}

void paintFrameTitles(const Pass& pass) {
    if (pass.state.bare) return;
    const Theme& theme = pass.theme();
    pass.useCanvasUnits();
    QPainter& painter = pass.painter;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(font(TextRole::small));
    for (const FrameShape& frame : pass.scene.frames().shapes()) {
        if (frame.titleRect.isEmpty() || !frame.titleRect.intersects(pass.viewport)) continue;
        const bool isPlain = frame.color == FrameColor::none;
        const QColor ink = theme.frame(frame.color);
        const bool isHovered = isFrameHovered(pass, frame);
        painter.save();
        painter.translate(frame.titleRect.topLeft());
        painter.scale(frame.titleScale, frame.titleScale);
        const QRectF pill(QPointF(), frame.titleRect.size() / frame.titleScale);
        painter.setPen(QPen(withAlpha(ink, isHovered ? 0.9 : isPlain ? 0.4 : 0.7), 1));
        painter.setBrush(theme.laneHeader);
        painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), 9, 9);
        painter.setPen(isPlain && !isHovered ? theme.secondaryText : isPlain ? theme.text : ink);
        painter.drawText(pill, Qt::AlignCenter, frame.shownTitle);
        painter.restore();
    }
    pass.usePixels();
}

void paintNotes(const Pass& pass) {
    const Theme& theme = pass.theme();
    pass.useCanvasUnits();
    QPainter& painter = pass.painter;
    for (const NoteShape& note : pass.scene.notes()) {
        if (!note.rect.intersects(pass.viewport)) continue;
        const bool isSelected = pass.state.selection && pass.state.selection->notes.contains(note.id);
        const bool isHovered = pass.state.hover.kind == Hit::Kind::note && pass.state.hover.note == note.id;
        const double line = isSelected ? 2 : 1;
        painter.setPen(isSelected ? QPen(theme.accent, 2)
                                  : QPen(isHovered ? withAlpha(theme.secondaryText, 0.6) : theme.border, 1));
        painter.setBrush(withAlpha(theme.panel, theme.isDark ? 0.86 : 0.92));
        const double inset = line / 2;
        painter.drawRoundedRect(note.rect.adjusted(inset, inset, -inset, -inset), metrics::cardRadius,
                                metrics::cardRadius);
        painter.setPen(Qt::NoPen);
        painter.setBrush(withAlpha(theme.accent, 0.7));
        painter.drawRoundedRect(
            QRectF(note.rect.left() + 4, note.rect.top() + 10, 3, note.rect.height() - 20), 1.5, 1.5);
        const QPointF at = note.rect.topLeft() + QPointF(16, 12);
        if (pass.zoom < kReadableZoom)
            paintNoteLines(painter, theme, *note.text, at);
        else
            paintNoteText(painter, theme, *note.text, at);
    }
    pass.usePixels();
}

} // namespace twb
