#include "widgets/panels/timeline_panel.h"

#include "profile/report.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

constexpr int kLabelWidth = 152;
constexpr int kAxisHeight = 28;
constexpr int kMargin = 16;
constexpr double kMostRow = 36;
constexpr double kLeastView = 100; // ns

/// 1, 2 or 5 times a power of ten, so that about `count` of them fill `span`.
double tickStep(double span, int count) {
    const double raw = span / count;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power) return factor * power;
    return 10 * power;
}

} // namespace

TimelinePanel::TimelinePanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs) {
    setAccessibleName(tr("Timeline of the last iterations"));
    setMouseTracking(true);
    connect(&m_runs, &RunController::frame, this, &TimelinePanel::refresh);
    connect(&m_runs, &RunController::stateChanged, this, &TimelinePanel::refresh);
    connect(&m_document, &Document::selectionChanged, this, qOverload<>(&QWidget::update));
}

void TimelinePanel::refresh() {
    if (!isVisible()) return;
    m_bars.clear();
    m_streams.clear();
    m_plan.reset();
    m_length = 0;
    if (const RunFigures* figures = m_runs.figures()) {
        m_plan = figures->sharedPlan();
        const std::vector<StepRecord> records = figures->recent(2);
        std::int64_t first = std::numeric_limits<std::int64_t>::max();
        for (const StepRecord& record : records) first = std::min(first, record.startNs);
        std::vector<int> rowOf(m_plan->streams.size(), -1);
        for (std::uint32_t stream = 0; stream < rowOf.size(); ++stream)
            for (const StepRecord& record : records)
                if (m_plan->steps[record.step].stream == stream) {
                    rowOf[stream] = int(m_streams.size());
                    m_streams.push_back(stream);
                    break;
                }
        for (const StepRecord& record : records) {
            const int row = rowOf[m_plan->steps[record.step].stream];
            m_bars.push_back(
                {double(record.startNs - first), double(record.endNs - first), record.step, row});
            m_length = std::max(m_length, m_bars.back().end);
        }
    }
    m_from = 0;
    m_to = std::max(1.0, m_length);
    update();
}

QRectF TimelinePanel::area() const {
    return QRectF(rect()).adjusted(kMargin + kLabelWidth, 8, -kMargin, -kAxisHeight);
}

double TimelinePanel::rowHeight() const {
    return m_streams.empty() ? kMostRow : std::min(kMostRow, area().height() / double(m_streams.size()));
}

double TimelinePanel::toX(double ns) const {
    return area().left() + (ns - m_from) / (m_to - m_from) * area().width();
}

double TimelinePanel::toNs(double x) const {
    return m_from + (x - area().left()) / area().width() * (m_to - m_from);
}

QRectF TimelinePanel::rectOf(const Bar& bar) const {
    const double left = toX(bar.start);
    const double gap = std::min(4.0, rowHeight() / 5);
    return {left, area().top() + bar.row * rowHeight() + gap, std::max(1.5, toX(bar.end) - left),
            rowHeight() - 2 * gap};
}

const TimelinePanel::Bar* TimelinePanel::barAt(QPointF point) const {
    for (const Bar& bar : m_bars)
        if (rectOf(bar).adjusted(-1, 0, 1, 0).contains(point)) return &bar;
    return nullptr;
}

void TimelinePanel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = Theme::current();
    if (m_bars.empty()) {
        painter.setPen(theme.secondaryText);
        painter.drawText(rect(), Qt::AlignCenter, tr("Run the graph to see when each step ran."));
        return;
    }
    paintAxis(painter);
    paintRows(painter);
    painter.setClipRect(area().adjusted(0, -4, 0, 0));
    for (const Bar& bar : m_bars) paintBar(painter, bar);
}

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
                         QString::number(value, 'f', decimals));
    }
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(QRectF(kMargin, area().bottom() + 6, kLabelWidth - 24, 16),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     (micro ? tr("µs") : tr("ms")) + (m_plan->virtualClock ? tr(", modelled") : QString()));
}

void TimelinePanel::paintRows(QPainter& painter) const {
    const Theme& theme = Theme::current();
    painter.setFont(twb::font(TextRole::small));
    for (std::size_t row = 0; row < m_streams.size(); ++row) {
        const PlanStream& stream = m_plan->streams[m_streams[row]];
        const double top = area().top() + double(row) * rowHeight();
        painter.fillRect(QRectF(kMargin, top + 6, 3, rowHeight() - 12), theme.device(stream.device));
        painter.setPen(theme.secondaryText);
        const QRectF label(kMargin + 12, top, kLabelWidth - 20, rowHeight());
        painter.drawText(
            label, Qt::AlignLeft | Qt::AlignVCenter,
            painter.fontMetrics().elidedText(toQt(stream.label), Qt::ElideRight, int(label.width())));
        painter.setPen(QPen(theme.border, 1));
        painter.drawLine(QPointF(kMargin, std::round(top + rowHeight()) + 0.5),
                         QPointF(area().right(), std::round(top + rowHeight()) + 0.5));
    }
}

void TimelinePanel::paintBar(QPainter& painter, const Bar& bar) const {
    const QRectF box = rectOf(bar);
    if (box.right() < area().left() || box.left() > area().right()) return;
    const Theme& theme = Theme::current();
    const Step& step = m_plan->steps[bar.step];
    QColor color = theme.device(m_plan->streams[step.stream].device);
    const auto& chosen = m_document.selection().nodes;
    const bool selected =
        chosen.contains(step.node) || std::any_of(step.members.begin(), step.members.end(),
                                                  [&](NodeId member) { return chosen.contains(member); });
    painter.setRenderHint(QPainter::Antialiasing, box.width() > 3);
    QColor fill = color;
    fill.setAlphaF(theme.isDark ? 0.34f : 0.26f);
    painter.setPen(selected ? QPen(theme.accent, 2) : box.width() > 4 ? QPen(color, 1) : QPen(Qt::NoPen));
    painter.setBrush(box.width() > 4 ? fill : color);
    const double radius = box.width() > 8 ? 3 : 0;
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    if (step.transfer != kNone && box.width() > 4) {
        color.setAlphaF(0.5f);
        painter.setPen(Qt::NoPen);
        painter.setBrush(QBrush(color, Qt::BDiagPattern));
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius);
    }
    if (box.width() < 28 || box.height() < 12) return;
    painter.setPen(theme.text);
    painter.setFont(twb::font(TextRole::small));
    const QRectF room = box.adjusted(6, 0, -4, 0);
    const QString text =
        painter.fontMetrics().elidedText(toQt(step.label), Qt::ElideRight, int(room.width()));
    if (text.size() > 1) painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, text);
}

void TimelinePanel::keepInside() {
    const double span = std::clamp(m_to - m_from, std::min(kLeastView, m_length), std::max(1.0, m_length));
    m_from = std::clamp(m_from, 0.0, std::max(0.0, m_length - span));
    m_to = m_from + span;
    update();
}

void TimelinePanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void TimelinePanel::wheelEvent(QWheelEvent* event) {
    if (m_bars.empty()) return;
    const double at = toNs(event->position().x());
    const double factor = std::pow(0.85, event->angleDelta().y() / 120.0);
    m_from = at - (at - m_from) * factor;
    m_to = at + (m_to - at) * factor;
    keepInside();
    event->accept();
}

void TimelinePanel::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    m_pressed = event->position();
    m_pressedFrom = m_from;
    m_dragged = false;
}

void TimelinePanel::mouseMoveEvent(QMouseEvent* event) {
    if (!m_pressed) {
        setCursor(barAt(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
        return;
    }
    const double moved = event->position().x() - m_pressed->x();
    if (std::abs(moved) > 3) m_dragged = true;
    const double span = m_to - m_from;
    m_from = m_pressedFrom - moved / area().width() * span;
    m_to = m_from + span;
    keepInside();
}

void TimelinePanel::mouseReleaseEvent(QMouseEvent* event) {
    m_pressed.reset();
    if (m_dragged || event->button() != Qt::LeftButton) return;
    const Bar* bar = barAt(event->position());
    if (!bar || m_plan->steps[bar->step].node == NodeId::none) return;
    Selection selection;
    selection.nodes = {m_plan->steps[bar->step].node};
    m_document.select(std::move(selection));
}

void TimelinePanel::mouseDoubleClickEvent(QMouseEvent*) {
    m_from = 0;
    m_to = std::max(1.0, m_length);
    update();
}

bool TimelinePanel::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const Bar* bar = barAt(help->pos());
    if (!bar) {
        QToolTip::hideText();
        return true;
    }
    const Step& step = m_plan->steps[bar->step];
    const PlanStream& stream = m_plan->streams[step.stream];
    const bool modelled = m_plan->devices.isSimulated(stream.device);
    QToolTip::showText(help->globalPos(),
                       tr("%1 on %2: %3%4")
                           .arg(toQt(step.label), toQt(stream.label), toQt(formatMs(bar->end - bar->start)),
                                modelled ? tr(" modelled") : QString()),
                       this);
    return true;
}

} // namespace twb
