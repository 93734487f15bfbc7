#include "widgets/labels.h"
#include "widgets/panels/timeline_panel.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr int kPaintMargin = 16;
constexpr double kTold = 4;         ///< px; a wider bar is drawn separately
constexpr double kLeastGap = 12;    ///< px; a wider idle time shows what it waits for
constexpr std::size_t kFlows = 200; ///< with more flows, lines could not be distinguished
constexpr std::size_t kSearched = 20'000;

/// 1, 2 or 5 times a power of ten, such that about `count` of them fill `span`.
double tickStep(double span, int count) {
    const double raw = span / count;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power) return factor * power;
    return 10 * power;
}

} // namespace

void TimelinePanel::paintAxis(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const double step = tickStep(m_to - m_from, 6);
    const bool micro = m_to - m_from < 1e6;
    painter.setFont(twb::font(TextRole::smallFigure));
    for (double at = std::ceil(m_from / step) * step; at <= m_to; at += step) {
        const double x = std::round(toX(at)) + 0.5;
        painter.setPen(QPen(theme.border, 1));
        painter.drawLine(QPointF(x, area().top()), QPointF(x, area().bottom()));
        painter.setPen(theme.secondaryText);
        const double value = micro ? at / 1e3 : at / 1e6;
        const double unit = micro ? step / 1e3 : step / 1e6;
        const int decimals = std::max(0, int(std::ceil(-std::log10(unit) - 1e-9)));
        painter.drawText(QRectF(x - 48, area().bottom() + 6, 96, 16), Qt::AlignCenter,
                         fixed(value, decimals));
    }
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(
        QRectF(kPaintMargin, area().bottom() + 6, m_labelWidth - 24, 16), Qt::AlignLeft | Qt::AlignVCenter,
        (micro ? tr("µs") : tr("ms")) +
            (m_model.plan().virtualClock && !hasSeveralClocks() ? tr(", modelled times") : QString()));
}

void TimelinePanel::paintRows(QPainter& painter) const {
    const Theme& theme = Theme::current();
    painter.setFont(twb::font(TextRole::small));
    for (std::size_t row = 0; row < m_model.streams().size(); ++row) {
        const PlanStream& stream = m_model.plan().streams[m_model.streams()[row]];
        const double top = area().top() + double(row) * rowHeight();
        painter.fillRect(QRectF(kPaintMargin, top + 6, 3, rowHeight() - 12), theme.device(stream.device));
        painter.setPen(theme.text);
        const QRect label = QRectF(kPaintMargin + 12, top, m_labelWidth - 20, rowHeight()).toRect();
        const QString name = toQt(stream.label);
        const QString times = timesOf(stream);
        if (rowHeight() >= kTwoLines) {
            drawElided(painter, label.adjusted(0, 2, 0, -label.height() / 2),
                       Qt::AlignLeft | Qt::AlignVCenter, name);
            painter.setPen(theme.secondaryText);
            drawElided(painter, label.adjusted(0, label.height() / 2 - 2, 0, -2),
                       Qt::AlignLeft | Qt::AlignVCenter, times);
        } else {
            drawElided(painter, label, Qt::AlignLeft | Qt::AlignVCenter, oneLineOf(stream));
        }
        painter.setPen(QPen(theme.border, 1));
        painter.drawLine(QPointF(kPaintMargin, std::round(top + rowHeight()) + 0.5),
                         QPointF(area().right(), std::round(top + rowHeight()) + 0.5));
    }
}

void TimelinePanel::paintLayer(QPainter& painter, const TimelineModel::Layer& layer) const {
    for (const TimelineModel::Shown& bar : m_model.shown(layer, m_from, m_to, kTold * perPixel())) {
        if (layer.depth == 0) paintGap(painter, bar.record, layer.row);
        paintBar(painter, bar, layer);
        ++m_drawn;
    }
}

bool TimelinePanel::isSelected(const Step& step) const {
    const Selection& selection = m_document.selection();
    // The records may belong to an earlier run than the current one.
    const bool isOfRun = m_runs.figures() && &m_runs.figures()->plan() == &m_model.plan();
    if (step.transfer != kNone && selection.edge && isOfRun) {
        const std::vector<Edge>& served = m_runs.edgesOf(step.transfer);
        if (std::find(served.begin(), served.end(), *selection.edge) != served.end()) return true;
    }
    return selection.nodes.contains(step.node) ||
           std::any_of(step.members.begin(), step.members.end(),
                       [&](NodeId member) { return selection.nodes.contains(member); });
}

void TimelinePanel::paintBar(QPainter& painter, const TimelineModel::Shown& bar,
                             const TimelineModel::Layer& layer) const {
    const QRectF box = boxOf(layer.row, layer.depth, bar.start, bar.end);
    const Theme& theme = Theme::current();
    const Step& step = m_model.stepOf(bar.record);
    QColor color = theme.device(m_model.plan().streams[step.stream].device);
    const bool isOne = bar.count == 1 && box.width() > kTold;
    painter.setRenderHint(QPainter::Antialiasing, isOne);
    if (!isOne) {
        // A merged bar has one fixed shade, stronger than a single bar's, since the share of its gaps is
        // unknown.
        color.setAlphaF(0.6f);
        painter.fillRect(box, color);
        return;
    }
    const bool selected = isSelected(step);
    QColor fill = color;
    fill.setAlphaF(theme.isDark ? 0.34f : 0.26f);
    painter.setPen(selected ? QPen(theme.accent, 2) : QPen(color, 1));
    painter.setBrush(fill);
    const double radius = box.width() > 8 ? 3 : 0;
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    if (step.transfer != kNone) {
        color.setAlphaF(0.5f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(QBrush(color, Qt::BDiagPattern));
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius);
    }
    if (m_model.isCritical(bar.record) && !hasSeveralClocks()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.fillRect(QRectF(box.left() + 1, box.bottom() - 3, box.width() - 2, 3), theme.warning);
    }
    if (box.width() < 28 || box.height() < 12) return;
    painter.setPen(theme.text);
    painter.setFont(twb::font(TextRole::small));
    const QRectF room = box.adjusted(6, 0, -4, 0);
    const QString text =
        painter.fontMetrics().elidedText(toQt(step.label), Qt::ElideRight, int(room.width()));
    if (text == toQt(step.label) || text.size() > 4)
        painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, text);
}

/// The idle time before a step: dotted if the step waited for no other step, else in the colour of the
/// awaited device, dashed for a copy.
void TimelinePanel::paintGap(QPainter& painter, std::uint32_t record, int row) const {
    const std::uint32_t before = m_model.course().before[record];
    if (before == kNone) return;
    const double left = std::max(toX(m_model.endOf(before)), area().left());
    const double right = std::min(toX(m_model.startOf(record)), area().right());
    if (right - left < kLeastGap) return;
    const Theme& theme = Theme::current();
    const std::uint32_t after = m_model.course().after[record];
    const bool isKnown = after != kNone && after != before;
    QColor color = theme.disabledText;
    Qt::PenStyle style = Qt::DotLine;
    if (isKnown) {
        const Step& awaited = m_model.stepOf(after);
        color = theme.device(m_model.plan().streams[awaited.stream].device);
        style = awaited.transfer != kNone ? Qt::DashLine : Qt::SolidLine;
    }
    const double y = std::round(area().top() + (row + 0.5) * rowHeight()) + 0.5;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(color, 1, style));
    painter.drawLine(QPointF(left + 2, y), QPointF(right - 2, y));
    ++m_drawn;
}

void TimelinePanel::paintFlows(QPainter& painter) const {
    const std::span<const TensorFlow> flows = m_model.flows(m_from, m_to);
    if (flows.size() > kSearched) return; // too many to be distinguished at this zoom
    std::vector<const TensorFlow*> inView;
    const auto isNear = [&](std::uint32_t record) {
        return m_model.endOf(record) >= m_from && m_model.startOf(record) <= m_to;
    };
    for (const TensorFlow& flow : flows) {
        if (!isNear(flow.transfer)) continue;
        const double width = (m_model.endOf(flow.transfer) - m_model.startOf(flow.transfer)) / perPixel();
        if (width < kTold) continue;
        inView.push_back(&flow);
        if (inView.size() > kFlows) break;
    }
    for (const TensorFlow* flow : inView) {
        const bool isChosen = isSelected(m_model.stepOf(flow->transfer)) ||
                              isSelected(m_model.stepOf(flow->producer)) ||
                              isSelected(m_model.stepOf(flow->consumer));
        if (isChosen || inView.size() <= kFlows) paintFlow(painter, *flow, isChosen);
    }
}

/// From the end of the producing step to the copy, and from the end of the copy to the consumer.
void TimelinePanel::paintFlow(QPainter& painter, const TensorFlow& flow, bool isChosen) const {
    QColor color = isChosen ? Theme::current().accent : Theme::current().secondaryText;
    color.setAlphaF(isChosen ? 1.0f : 0.45f);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, isChosen ? 1.5 : 1));
    const auto pointOf = [&](std::uint32_t record, bool atEnd) {
        const double x = toX(atEnd ? m_model.endOf(record) : m_model.startOf(record));
        return QPointF(std::clamp(x, area().left() - 40, area().right() + 40),
                       area().top() + (m_model.rowOf(record) + 0.5) * rowHeight());
    };
    const auto connectPoints = [&](QPointF a, QPointF b) {
        const double bend = std::clamp((b.x() - a.x()) / 2, 6.0, 40.0);
        QPainterPath path(a);
        path.cubicTo(a + QPointF(bend, 0), b - QPointF(bend, 0), b);
        painter.drawPath(path);
        painter.save();
        painter.setBrush(color);
        painter.setPen(Qt::NoPen);
        painter.drawPolygon(QPolygonF({b, b + QPointF(-5, -3), b + QPointF(-5, 3)}));
        painter.restore();
        ++m_drawn;
    };
    // Flows that ended before the view are not drawn, since their lines would cross everything.
    if (m_model.endOf(flow.producer) >= m_from)
        connectPoints(pointOf(flow.producer, true), pointOf(flow.transfer, false));
    if (m_model.endOf(flow.transfer) >= m_from)
        connectPoints(pointOf(flow.transfer, true), pointOf(flow.consumer, false));
}

} // namespace twb
