#include "widgets/canvas/heat.h"

#include "core/format.h"
#include "widgets/labels.h"
#include "widgets/price.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// For translators.
struct HeatWords {
    Q_DECLARE_TR_FUNCTIONS(Heat)
};

double bytesOf(const NodeFacts* facts) {
    double sum = 0;
    for (const auto& type : facts ? facts->outputs : decltype(facts->outputs)())
        if (type && type->isKnown()) sum += double(type->byteCount());
    return sum;
}

std::uint32_t cardOf(const NodeShape& shape, std::uint32_t slot) {
    if (shape.module != kNoSlot) return shape.module;
    return shape.kind == NodeShape::Kind::row ? shape.card : slot;
}

} // namespace

Heat heatOf(const Scene& scene, const Analysis& analysis, const RunState* run, HeatBy by) {
    Heat heat;
    heat.by = by;
    if (by == HeatBy::none) return heat;
    if (run) heat.host = run->host;
    const std::vector<NodeShape>& shapes = scene.nodes().shapes();
    std::vector<double> sums(shapes.size(), 0.0);
    for (std::uint32_t slot = 0; slot < shapes.size(); ++slot) {
        const NodeShape& shape = shapes[slot];
        if (shape.id == NodeId::none || shape.isDisabled) continue;
        double value = 0;
        if (by == HeatBy::bytes) {
            value = bytesOf(analysis.find(shape.id));
        } else if (run) {
            const auto found = run->nodes.find(shape.id);
            if (found == run->nodes.end() || found->second.once || found->second.ns <= 0) continue;
            value = found->second.ns;
            (found->second.modelled ? heat.hasModelled : heat.hasMeasured) = true;
        }
        const std::uint32_t card = cardOf(shape, slot);
        if (card < sums.size()) sums[card] += value;
    }
    for (const double sum : sums) heat.most = std::max(heat.most, sum);
    heat.shares.assign(sums.size(), 0);
    if (heat.most > 0)
        for (std::size_t slot = 0; slot < sums.size(); ++slot)
            heat.shares[slot] = static_cast<float>(sums[slot] / heat.most);
    return heat;
}

QString heatKind(const Heat& heat) {
    if (heat.by == HeatBy::bytes) return HeatWords::tr("exact");
    if (heat.hasMeasured && heat.hasModelled) return HeatWords::tr("partly modelled");
    return heat.hasModelled ? HeatWords::tr("modelled") : measuredText(heat.host);
}

QColor heatColor(const Theme& theme, double share, HeatHue hue) {
    // Similar times share a colour, so that cards can share pictures.
    constexpr double kSteps = 32;
    const double s = std::round(std::clamp(share, 0.0, 1.0) * kSteps) / kSteps;
    const QColor orange = theme.isDark ? QColor(0x9A4A08) : QColor(0xDD7A14);
    const QColor blue = theme.isDark ? QColor(0x1C5FA6) : QColor(0x5C9FE6);
    const QColor hot = hue == HeatHue::blue ? blue : orange;
    const QColor cold = theme.isDark ? QColor(0x2C313A) : QColor(0xDFDAD2); // stands out from every lane
    const auto mixed = [s](int from, int to) { return int(std::lround(from * (1 - s) + to * s)); };
    return QColor(mixed(cold.red(), hot.red()), mixed(cold.green(), hot.green()),
                  mixed(cold.blue(), hot.blue()));
}

QRectF heatScaleBox(QSizeF view) {
    constexpr QSizeF kSize{164, 62};
    constexpr double kMargin = 14; // as the map and the legend
    if (view.width() < 3 * kSize.width() || view.height() < 3 * kSize.height()) return {};
    return {QPointF(view.width() - kSize.width() - kMargin, view.height() - kSize.height() - kMargin), kSize};
}

void paintHeatScale(QPainter& painter, const Theme& theme, const Heat& heat, const QRectF& box) {
    constexpr double kMargin = 10;
    if (heat.by == HeatBy::none || box.isEmpty()) return;
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), metrics::cardRadius, metrics::cardRadius);
    const QRectF room = box.adjusted(kMargin, 6, -kMargin, -4);
    painter.setFont(font(TextRole::small));
    painter.setPen(theme.text);
    const QString what = heat.by == HeatBy::time ? HeatWords::tr("time") : HeatWords::tr("bytes");
    painter.drawText(room, Qt::AlignTop | Qt::AlignLeft, what);
    if (heat.most <= 0) {
        painter.setPen(theme.secondaryText);
        painter.drawText(room.adjusted(0, 16, 0, 0), Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap,
                         heat.by == HeatBy::time ? HeatWords::tr("run to see values")
                                                 : HeatWords::tr("unknown"));
        return;
    }
    painter.setPen(theme.secondaryText);
    const double left = QFontMetricsF(painter.font()).horizontalAdvance(what + QLatin1Char(' '));
    drawElided(painter, room.adjusted(left, 0, 0, 0).toRect(), Qt::AlignTop | Qt::AlignRight, heatKind(heat));
    const QRectF bar(room.left(), room.top() + 18, room.width(), 10);
    QLinearGradient ramp(bar.topLeft(), bar.topRight());
    ramp.setColorAt(0, heatColor(theme, 0));
    ramp.setColorAt(1, heatColor(theme, 1));
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(ramp);
    painter.drawRoundedRect(bar, 3, 3);
    painter.setFont(font(TextRole::smallFigure));
    painter.setPen(theme.secondaryText);
    const QRectF figures(room.left(), bar.bottom() + 3, room.width(), room.bottom() - bar.bottom() - 3);
    painter.drawText(figures, Qt::AlignTop | Qt::AlignLeft, QStringLiteral("0"));
    painter.drawText(figures, Qt::AlignTop | Qt::AlignRight,
                     localized(heat.by == HeatBy::time ? formatMs(heat.most) : formatBytes(heat.most)));
}

} // namespace twb
