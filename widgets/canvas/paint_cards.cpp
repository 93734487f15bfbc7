#include "graph/card_size.h"
#include "widgets/canvas/paint_parts.h"

#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace twb {
namespace {

constexpr double kTextLeft = 16;
constexpr double kTextRight = 12;
constexpr double kPillTitleScale = 1.2; ///< for lower zoom
constexpr double kFineZoom = 0.8;       ///< below this zoom, shadows and port rims are smaller than a pixel

struct Outline {
    QColor color;
    double width = 1;
};

constexpr double kDisabledOpacity = 0.5; ///< of disabled nodes

/// Priority: selected, failed, hovered.
Outline outlineOf(const Pass& pass, const NodeShape& shape, const NodeRun* run) {
    const Theme& theme = pass.theme();
    if (pass.isSelected(shape.id)) return {theme.accent, 2};
    if (shape.hasError || (run && run->state == StepState::failed)) return {theme.error, 1.6};
    if (shape.hasWarning) return {theme.warning, 1.4};
    const bool isHovered = pass.state.hover.node == shape.id && pass.state.hover.kind != Hit::Kind::nothing;
    if (isHovered) return {withAlpha(theme.secondaryText, 0.75), 1};
    return {theme.border, 1};
}

/// At low zoom there are hundreds of cards with few different appearances. Each appearance is painted once
/// into a cached picture, and copied, which is much faster than painting paths.
class Sprites {
public:
    explicit Sprites(const Pass& pass)
        : m_painter(pass.painter), m_ratio(pass.painter.device()->devicePixelRatioF()),
          m_scale(pass.zoom * m_ratio) {}

    /// `draw` paints on a transparent background in canvas units, from the origin to `size`; `look`
    /// identifies everything else that it depends on. The painter must be in pixels.
    template <class Draw>
    void put(QPointF pixel, QSizeF size, const std::array<std::uint32_t, 4>& look, const Draw& draw) {
        constexpr std::size_t kMost = 512;
        static thread_local std::map<Key, QImage> kept;
        const Key key{m_scale, size.width(), size.height(), look};
        auto found = kept.find(key);
        if (found == kept.end()) {
            if (kept.size() >= kMost) kept.clear();
            QImage image((size * m_scale).toSize() + QSize(2, 2), QImage::Format_ARGB32_Premultiplied);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            painter.setRenderHint(QPainter::Antialiasing);
            painter.scale(m_scale, m_scale);
            draw(painter);
            painter.end();
            image.setDevicePixelRatio(m_ratio);
            found = kept.emplace(key, std::move(image)).first;
        }
        // Aligned to pixels, for speed and sharpness.
        const QPointF at(std::round(pixel.x() * m_ratio) / m_ratio,
                         std::round(pixel.y() * m_ratio) / m_ratio);
        m_painter.drawImage(at, found->second);
    }

private:
    using Key = std::tuple<double, double, double, std::array<std::uint32_t, 4>>;
    QPainter& m_painter;
    double m_ratio;
    double m_scale;
};

void paintMark(QPainter& painter, const Theme& theme, const NodeRun& run, bool stale, QPointF at) {
    const auto stroke = [&](const QColor& color, double width = 1.6) {
        painter.setPen(QPen(color, width, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
    };
    const auto check = [&](double scale) {
        const QPointF points[] = {at + QPointF(-4, 0.4) * scale, at + QPointF(-1.2, 3.2) * scale,
                                  at + QPointF(4.2, -3) * scale};
        painter.drawPolyline(points, 3);
    };
    switch (run.state) {
    case StepState::pending:
        return;
    case StepState::running: {
        const QPointF triangle[] = {at + QPointF(-3, -4.2), at + QPointF(4.4, 0), at + QPointF(-3, 4.2)};
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.accent);
        painter.drawPolygon(triangle, 3);
        return;
    }
    case StepState::done:
        if (stale) {
            painter.setPen(QPen(theme.disabledText, 1.3, Qt::DotLine));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(at, 6, 6);
            stroke(theme.disabledText, 1.4);
            check(0.62);
            return;
        }
        stroke(theme.good);
        check(1);
        return;
    case StepState::cached:
        stroke(stale ? theme.disabledText : theme.good, 1.3);
        painter.drawEllipse(at, 6, 6);
        check(0.62);
        return;
    case StepState::failed:
        stroke(theme.error, 1.8);
        painter.drawLine(at + QPointF(-3.4, -3.4), at + QPointF(3.4, 3.4));
        painter.drawLine(at + QPointF(-3.4, 3.4), at + QPointF(3.4, -3.4));
        return;
    case StepState::skipped: // a skipped step
        stroke(theme.secondaryText, 1.4);
        painter.drawArc(QRectF(at.x() - 5, at.y() - 3, 10, 9), 0, 180 * 16);
        painter.drawLine(at + QPointF(5, 1.5), at + QPointF(2.2, -0.6));
        painter.drawLine(at + QPointF(5, 1.5), at + QPointF(5.8, -1.8));
        return;
    case StepState::poisoned:
        stroke(theme.secondaryText, 1.4);
        painter.drawEllipse(at, 5, 5);
        painter.drawLine(at + QPointF(-3.5, 3.5), at + QPointF(3.5, -3.5));
        return;
    case StepState::cancelled:
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.secondaryText);
        painter.drawRoundedRect(QRectF(at - QPointF(3.5, 3.5), QSizeF(7, 7)), 1.5, 1.5);
        return;
    }
}

void paintPort(const Pass& pass, QPointF at, double radius, const PortLook& look, PortSide side,
               PortRef port) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const Preview* preview = pass.state.preview;
    double opacity = 1;
    QColor color = wireColor(theme, look.kind);
    bool isTarget = false;
    if (preview && preview->targets) {
        isTarget = preview->targetSide == side && preview->targets->contains(port);
        if (!isTarget) opacity = 0.25;
        if (preview->snapped == port && isTarget) radius += 2.5;
    }
    const Hit& hover = pass.state.hover;
    const bool isHovered = hover.port == port && (side == PortSide::input ? hover.kind == Hit::Kind::input
                                                                          : hover.kind == Hit::Kind::output);
    const bool isPlain = look.state == PortLook::State::connected && opacity == 1 && !isTarget && !isHovered;
    if (isPlain && pass.detail == Detail::titles) {
        pass.usePixels();
        Sprites(pass).put(pass.toScreen(at - QPointF(radius, radius)), {2 * radius, 2 * radius},
                          {color.rgba(), 0, 0, 1}, [&](QPainter& on) {
                              on.setPen(Qt::NoPen);
                              on.setBrush(color);
                              on.drawEllipse(QRectF(0, 0, 2 * radius, 2 * radius));
                          });
        pass.useCanvasUnits();
        return;
    }
    if (isHovered) radius += 1.4;
    painter.setOpacity(opacity);
    if (isTarget) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(withAlpha(theme.accent, 0.22));
        painter.drawEllipse(at, radius + 4, radius + 4);
    }
    switch (look.state) {
    case PortLook::State::connected:
        // A ring in the card's colour separates port, wire and stripe.
        if (pass.zoom >= kFineZoom)
            painter.setPen(QPen(theme.raised, 1.5));
        else
            painter.setPen(Qt::NoPen);
        painter.setBrush(isTarget && preview->snapped == port ? theme.accent : color);
        painter.drawEllipse(at, radius, radius);
        break;
    case PortLook::State::optional:
        painter.setPen(QPen(isTarget || isHovered ? theme.accent : theme.secondaryText, 1.3));
        painter.setBrush(theme.raised);
        painter.drawEllipse(at, radius - 0.8, radius - 0.8);
        break;
    case PortLook::State::missing:
        painter.setPen(QPen(isTarget ? theme.accent : theme.error, 1.7));
        painter.setBrush(theme.raised);
        painter.drawEllipse(at, radius, radius);
        painter.setPen(Qt::NoPen);
        painter.setBrush(isTarget ? theme.accent : theme.error);
        painter.drawEllipse(at, 1.7, 1.7);
        break;
    }
    painter.setOpacity(1);
}

void paintPorts(const Pass& pass, const NodeShape& shape, const NodeCard& card) {
    const double inputRadius = portRadius(shape, PortSide::input);
    const double outputRadius = portRadius(shape, PortSide::output);
    for (std::size_t port = 0; port < card.inputs.size(); ++port) {
        const auto number = static_cast<int>(port);
        // A folded port is shown while a wire is drawn that it accepts.
        if (isFolded(shape, number) && !(pass.state.preview && pass.state.preview->targets)) continue;
        paintPort(pass, portPosition(shape, PortSide::input, number), inputRadius, card.inputs[port],
                  PortSide::input, pass.scene.modules().portOf(shape, PortSide::input, number));
    }
    for (std::size_t port = 0; port < card.outputs.size(); ++port) {
        const auto number = static_cast<int>(port);
        paintPort(pass, portPosition(shape, PortSide::output, number), outputRadius, card.outputs[port],
                  PortSide::output, pass.scene.modules().portOf(shape, PortSide::output, number));
    }
}

void paintShadow(const Pass& pass, const NodeShape& shape, double radius) {
    pass.painter.setPen(Qt::NoPen);
    pass.painter.setBrush(QColor(0, 0, 0, pass.theme().isDark ? 70 : 22));
    pass.painter.drawRoundedRect(shape.rect.translated(0, shape.dragged ? 5 : 1.5), radius, radius);
}

/// A second card behind a module's shows that it has content, a third one that it repeats.
void paintStack(const Pass& pass, const NodeShape& shape, const Outline& outline) {
    pass.painter.setPen(QPen(outline.color, std::max(outline.width, 1 / pass.zoom)));
    pass.painter.setBrush(pass.theme().laneHeader);
    for (const double shift : {10.0, 5.0}) {
        if (shift > 5 && shape.repeats == 0) continue;
        pass.painter.drawRoundedRect(shape.rect.adjusted(shift + 1, shift + 1, shift, shift),
                                     metrics::cardRadius, metrics::cardRadius);
    }
}

/// The body of a card or pill at `r`, with the stripe of its device.
void paintBody(QPainter& painter, const QRectF& r, bool isPill, const QColor& fill, const Outline& outline,
               const QColor& accent) {
    const double radius = isPill ? r.height() / 2 : metrics::cardRadius;
    const double inset = outline.width / 2;
    painter.setPen(QPen(outline.color, outline.width));
    painter.setBrush(fill);
    painter.drawRoundedRect(r.adjusted(inset, inset, -inset, -inset), radius - inset, radius - inset);
    if (isPill) return;
    painter.setPen(Qt::NoPen);
    painter.setBrush(accent);
    painter.drawRoundedRect(QRectF(r.left() + 2, r.top() + 9, 4, r.height() - 18), 2, 2);
}

/// A pin in the colour of the device on which the node is kept.
void paintPin(QPainter& painter, const Theme& theme, const QColor& accent, QPointF at) {
    painter.setPen(QPen(accent, 1.5));
    painter.setBrush(theme.raised);
    painter.drawEllipse(at, 8, 8);
    painter.setPen(QPen(accent, 1.6, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(at + QPointF(0, 0.5), at + QPointF(0, 5));
    painter.setPen(Qt::NoPen);
    painter.setBrush(accent);
    painter.drawEllipse(at + QPointF(0, -1.6), 2.9, 2.9);
}

void paintCard(const Pass& pass, std::uint32_t slot, const NodeShape& shape) {
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    const NodeRun* run = nullptr;
    const ModuleShape* module = pass.scene.modules().of(shape);
    if (pass.state.run && !module) {
        const auto found = pass.state.run->nodes.find(shape.id);
        if (found != pass.state.run->nodes.end()) run = &found->second;
    }
    const NodeCard* card = pass.scene.texts().find(slot);
    if (module && card && card->moduleRun.state != StepState::pending) run = &card->moduleRun;
    const QRectF& r = shape.rect;
    const QRectF body = bodyOf(shape);
    const bool isColored = module && module->color != FrameColor::none;
    const QColor accent = isColored ? theme.frame(module->color) : theme.device(shape.device);
    const bool isPill = shape.kind == NodeShape::Kind::pill;
    const QColor ground = cardGround(pass, slot);
    // Secondary text would be hard to read on a hot background.
    const QColor& quiet = pass.state.heat ? theme.text : theme.secondaryText;
    Outline outline = outlineOf(pass, shape, run);
    if (isPill && outline.color == theme.border) outline = {accent, 1.8};
    const double opacity = shape.isDisabled ? kDisabledOpacity : 1;
    painter.setOpacity(opacity);
    if ((pass.zoom >= kFineZoom && !shape.isDisabled) || shape.dragged)
        paintShadow(pass, shape, isPill ? r.height() / 2 : metrics::cardRadius);
    if (module) paintStack(pass, shape, outline);
    if (pass.detail == Detail::titles) {
        outline.width =
            std::max(outline.width, 1 / pass.zoom); // at least a pixel, otherwise the card would have no edge
        pass.usePixels();
        painter.setOpacity(opacity); // saved with the layer's units
        Sprites(pass).put(pass.toScreen(r.topLeft()), r.size(),
                          {outline.color.rgba(), static_cast<std::uint32_t>(outline.width * 100),
                           ground.rgba(), isPill ? 0 : accent.rgba()},
                          [&](QPainter& on) {
                              paintBody(on, QRectF(QPointF(), r.size()), isPill, ground, outline, accent);
                          });
        painter.setOpacity(1);
        pass.useCanvasUnits();
        painter.setOpacity(opacity);
    } else {
        paintBody(painter, r, isPill, ground, outline, accent);
    }
    if (isPill) {
        if (card) {
            painter.setFont(font(TextRole::strong));
            painter.setPen(pass.state.heat ? theme.text : theme.deviceInk(shape.device));
            const QSizeF size = card->title.size();
            painter.save();
            painter.translate(r.center());
            if (pass.detail == Detail::titles) painter.scale(kPillTitleScale, kPillTitleScale);
            painter.drawStaticText(QPointF(-size.width() / 2, -size.height() / 2), card->title);
            painter.restore();
        }
    }
    if (card && !isPill && pass.detail == Detail::titles) {
        painter.save();
        painter.setPen(theme.text);
        painter.setFont(font(TextRole::nodeTitle));
        painter.translate(r.left() + kTextLeft, body.center().y());
        const double room = r.width() - kTextLeft - kTextRight;
        const double scale =
            std::min(kShortTitleScale, room / std::max(1.0, card->shortTitle.size().width()));
        painter.scale(scale, scale);
        painter.drawStaticText(QPointF(0, -card->shortTitle.size().height() / 2), card->shortTitle);
        painter.restore();
    }
    if (card && !isPill && pass.detail == Detail::full) {
        const bool stale = pass.state.run && pass.state.run->stale;
        painter.setPen(theme.text);
        painter.setFont(font(TextRole::nodeTitle));
        painter.drawStaticText(r.topLeft() + QPointF(kTextLeft, 10), card->title);
        painter.setPen(quiet);
        painter.setFont(font(TextRole::body));
        painter.drawStaticText(r.topLeft() + QPointF(kTextLeft, 29), card->subtitle);
        if (module)
            painter.drawStaticText(r.topLeft() + QPointF(kTextLeft, 29 + twb::card::moduleLine), card->size);
        painter.setFont(font(TextRole::smallFigure));
        if (card->timeWidth > 0) {
            painter.drawStaticText(QPointF(r.right() - kTextRight - card->timeWidth, r.top() + 11),
                                   card->time);
        }
        if (card->remarkWidth > 0) {
            painter.setFont(font(TextRole::small));
            painter.drawStaticText(QPointF(r.right() - kTextRight - card->remarkWidth, r.top() + 29),
                                   card->remark);
            painter.setFont(font(TextRole::smallFigure));
        }
        if (card->chipWidth > 0) {
            const QRectF chip(r.left() + kTextLeft, body.bottom() - 26, card->chipWidth + 14, 18);
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme.isDark ? theme.canvas : theme.window);
            painter.drawRoundedRect(chip, 5, 5);
            painter.setPen(theme.isDark ? theme.secondaryText.lighter(112) : theme.secondaryText);
            painter.drawStaticText(
                QPointF(chip.left() + 7, chip.center().y() - card->chip.size().height() / 2), card->chip);
        }
        if (run) paintMark(painter, theme, *run, stale, {r.right() - kTextRight - 6, body.bottom() - 17});
    }
    if (module && card && card->progress > 0 && card->progress < 1) {
        const QRectF bar(r.left() + kTextLeft, r.bottom() - 5, r.width() - kTextLeft - kTextRight, 2.5);
        painter.fillRect(bar, theme.border);
        painter.fillRect(QRectF(bar.topLeft(), QSizeF(bar.width() * card->progress, bar.height())),
                         theme.accent);
    }
    painter.setOpacity(1);
    if (card) paintPorts(pass, shape, *card);
    const bool failed = run && run->state == StepState::failed;
    if (shape.hasError || failed)
        paintBadge(painter, theme, Severity::error, {r.right() - 5, r.top() + 2}, 9);
    else if (shape.hasWarning)
        paintBadge(painter, theme, Severity::warning, {r.right() - 5, r.top() + 2}, 9);
    if (shape.isPinned && pass.detail == Detail::full)
        paintPin(painter, theme, accent, {r.left() + 5, r.top() + 2});
}

void paintLabel(const Pass& pass, const PriceLabel& label) {
    if (!label.rect.intersects(pass.viewport)) return;
    QPainter& painter = pass.painter;
    const Theme& theme = pass.theme();
    painter.save();
    painter.translate(label.rect.topLeft());
    painter.scale(label.scale, label.scale);
    const QRectF r(QPointF(), label.size);
    const double radius = std::min(9.0, r.height() / 2);
    painter.setPen(QPen(label.isError ? withAlpha(theme.error, 0.7) : theme.border, 1));
    painter.setBrush(theme.isDark ? theme.panel : theme.raised);
    painter.drawRoundedRect(r.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    const bool hasRemark = label.remarkWidth > 0;
    const double figuresTop = hasRemark ? 2 : r.center().y() - label.figures.size().height() / 2;
    if (label.isError) {
        const QPointF mark(12, r.center().y());
        painter.setPen(QPen(theme.error, 1.7, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(mark + QPointF(-3, -3), mark + QPointF(3, 3));
        painter.drawLine(mark + QPointF(-3, 3), mark + QPointF(3, -3));
        painter.setFont(font(TextRole::small));
        painter.setPen(theme.error);
        painter.drawStaticText(QPointF(22, figuresTop), label.figures);
    } else {
        painter.setFont(font(TextRole::smallFigure));
        painter.setPen(theme.isDark ? theme.text.darker(115) : theme.text);
        painter.drawStaticText(QPointF(r.center().x() - label.figuresWidth / 2, figuresTop), label.figures);
    }
    if (hasRemark) {
        painter.setFont(font(TextRole::small));
        painter.setPen(theme.secondaryText);
        painter.drawStaticText(QPointF(r.center().x() - label.remarkWidth / 2, 16), label.remark);
    }
    painter.restore();
}

} // namespace

void paintBadge(QPainter& painter, const Theme& theme, Severity severity, QPointF at, double radius) {
    const bool isError = severity == Severity::error;
    painter.setPen(QPen(theme.raised, 1.5));
    painter.setBrush(isError ? theme.error : theme.warning);
    if (isError) {
        painter.drawEllipse(at, radius, radius);
    } else {
        const QPointF triangle[] = {at + QPointF(0, -radius), at + QPointF(radius * 1.1, radius * 0.85),
                                    at + QPointF(-radius * 1.1, radius * 0.85)};
        painter.drawPolygon(triangle, 3);
    }
    const QColor ink = theme.isDark ? theme.canvas : theme.raised;
    const double shift = isError ? 0 : radius * 0.14;
    painter.setPen(QPen(ink, 1.9, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(at + QPointF(0, -radius * 0.46 + shift), at + QPointF(0, radius * 0.1 + shift));
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink);
    painter.drawEllipse(at + QPointF(0, radius * 0.47 + shift * 0.8), 1.2, 1.2);
}

void paintCards(const Pass& pass) {
    static thread_local std::vector<std::uint32_t> slots;
    slots.clear();
    pass.scene.nodes().visit(pass.viewport.adjusted(-16, -16, 16, 16),
                             [](std::uint32_t slot) { slots.push_back(slot); });
    const auto& nodes = pass.scene.nodes().shapes();
    // Dragged cards are on top of all others, and the order does not change between frames.
    const auto order = [&](std::uint32_t slot) {
        const bool isRow = nodes[slot].kind == NodeShape::Kind::row;
        const std::uint32_t card = isRow ? nodes[slot].card : slot;
        return std::tuple(nodes[card].dragged, card, isRow, slot);
    };
    std::sort(slots.begin(), slots.end(),
              [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });
    pass.useCanvasUnits();
    for (const std::uint32_t slot : slots) {
        if (nodes[slot].kind == NodeShape::Kind::row)
            paintRow(pass, slot);
        else
            paintCard(pass, slot, nodes[slot]);
    }
    pass.usePixels();
}

void paintGhosts(const Pass& pass) {
    const Theme& theme = pass.theme();
    QPainter& painter = pass.painter;
    pass.useCanvasUnits();
    for (std::size_t i = 0; i < pass.scene.ghosts().shapes().size(); ++i) {
        const GhostShape& ghost = pass.scene.ghosts().shapes()[i];
        if (!ghost.rect.intersects(pass.viewport)) continue;
        const QColor accent = theme.device(ghost.target);
        QPen pen(accent, 1.5);
        pen.setDashPattern({3.2, 2.6});
        painter.setPen(pen);
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(ghost.rect.adjusted(1, 1, -1, -1), ghost.rect.height() / 2 - 1,
                                ghost.rect.height() / 2 - 1);
        painter.setPen(theme.deviceInk(ghost.target));
        painter.setFont(font(TextRole::strong));
        painter.drawText(ghost.rect, Qt::AlignCenter, ghost.title);
    }
    pass.usePixels();
}

void paintLabels(const Pass& pass) {
    pass.useCanvasUnits();
    const QRectF around = pass.viewport.adjusted(-48, -48, 48, 48);
    pass.scene.wires().visit(around, [&](std::uint32_t slot) {
        if (const PriceLabel* label = pass.scene.labels().ofWire(slot)) paintLabel(pass, *label);
    });
    pass.scene.nodes().visit(around, [&](std::uint32_t slot) {
        // A staging copy happens once, so its price is omitted at a zoom where labels are larger than cards.
        if (pass.scene.nodes()[slot].isStaged && pass.detail < Detail::full) return;
        if (const PriceLabel* label = pass.scene.labels().ofNode(slot)) paintLabel(pass, *label);
    });
    for (std::size_t i = 0; i < pass.scene.ghosts().shapes().size(); ++i) {
        if (const PriceLabel* label = pass.scene.labels().ofGhost(i)) paintLabel(pass, *label);
    }
    pass.usePixels();
}

} // namespace twb
