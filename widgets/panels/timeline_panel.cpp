#include "widgets/panels/timeline_panel.h"

#include "profile/report.h"
#include "widgets/labels.h"
#include "widgets/panels/plot_table.h"
#include "widgets/plain_text.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr double kLeastLabel = 152;
constexpr double kMostLabel = 0.4; ///< of the panel's width
constexpr int kAxisHeight = 28;
constexpr int kHead = 26; ///< height of the critical path's summary
constexpr int kEdge = 16;
constexpr double kMostRow = 36;
constexpr double kLeastView = 100;          // ns
constexpr std::uint32_t kInView = 2;        ///< number of iterations shown initially
constexpr std::size_t kMadeAtOnce = 20'000; ///< records; a model of this size takes a few ms

} // namespace

TimelinePanel::TimelinePanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs) {
    setObjectName(QStringLiteral("timeline"));
    setAccessibleName(tr("Timeline of the last iterations"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    new PlotTable(*this, [this] { return timelineValues(std::make_shared<TimelineModel>(m_model)); });
    connect(&m_runs, &RunController::started, this, [this] { m_isHeld = false; });
    connect(&m_runs, &RunController::frame, this, [this] {
        if (!m_runs.isRunning() || (!m_isHeld && m_budget.isDue())) refresh();
    });
    connect(&m_runs, &RunController::stateChanged, this, [this] {
        if (!m_runs.isRunning()) refresh();
    });
    connect(&m_document, &Document::selectionChanged, this, qOverload<>(&QWidget::update));
}

void TimelinePanel::refresh() {
    if (!isVisible()) return;
    m_budget.begin();
    const std::shared_ptr<const RunFigures> figures = m_runs.sharedFigures();
    if (!figures) {
        m_maker.drop();
        m_whole.reset();
        adopt({});
    } else if (m_runs.isRunning()) {
        // During a run, only the last two iterations are shown.
        m_maker.drop();
        m_whole.reset();
        adopt(TimelineModel(figures->sharedPlan(), figures->recent(kInView)));
    } else if (m_whole.lock() != figures) {
        m_whole = figures;
        const auto make = [figures] {
            return TimelineModel(figures->sharedPlan(), figures->recent(RunFigures::kMostRecords));
        };
        if (figures->remembered() <= kMadeAtOnce)
            adopt(make());
        else
            m_maker.start(make, [this](TimelineModel&& model) { adopt(std::move(model)); });
    }
    m_budget.end();
}

void TimelinePanel::adopt(TimelineModel model) {
    m_model = std::move(model);
    fitLabels();
    m_from = m_model.startOfLast(kInView);
    if (!m_model.empty() && m_model.records().back().iteration < kInView) m_from = 0;
    m_to = m_model.empty() ? 0 : std::max(m_from + 1.0, m_model.length());
    setAccessibleDescription(criticalPathText());
    update();
}

/// The parts of the critical path; empty before a run.
QString TimelinePanel::criticalPathText() const {
    if (!m_model.empty() && hasSeveralClocks())
        return tr("Ranks with a simulated device have a clock of their own: the times of each rank start at "
                  "0 and cannot be compared with those of others.");
    const RunCourse& course = m_model.course();
    if (course.critical.empty() || course.lengthNs <= 0) return {};
    const auto share = [&](double ns) { return fixed(100 * ns / course.lengthNs, 0); };
    return tr("Critical path of the last iteration, underlined: %1%2, of which compute %3 %, transfers %4 %, "
              "launches %5 %, waiting %6 %")
        .arg(localized(formatMs(course.lengthNs)), m_model.plan().virtualClock ? tr(" modelled") : QString(),
             share(course.computeNs), share(course.transferNs), share(course.overheadNs),
             share(course.waitNs));
}

QRectF TimelinePanel::area() const {
    return QRectF(rect()).adjusted(kEdge + m_labelWidth, kHead, -kEdge, -kAxisHeight);
}

void TimelinePanel::fitLabels() {
    const QFontMetricsF metrics(twb::font(TextRole::small));
    double widest = 0;
    for (const std::uint32_t index : m_model.streams()) {
        const PlanStream& stream = m_model.plan().streams[index];
        const double own = rowHeight() >= kTwoLines ? std::max(metrics.horizontalAdvance(toQt(stream.label)),
                                                               metrics.horizontalAdvance(timesOf(stream)))
                                                    : metrics.horizontalAdvance(oneLineOf(stream));
        widest = std::max(widest, own);
    }
    m_labelWidth =
        std::clamp(std::ceil(widest) + 28, kLeastLabel, std::max(kLeastLabel, kMostLabel * width()));
}

QString TimelinePanel::timesOf(const PlanStream& stream) const {
    return stream.modelled ? tr("modelled") : m_runs.measuredText();
}

QString TimelinePanel::oneLineOf(const PlanStream& stream) const {
    return QStringLiteral("%1 · %2").arg(toQt(stream.label), timesOf(stream));
}

bool TimelinePanel::hasSeveralClocks() const {
    return m_runs.showsTrace() &&
           std::ranges::any_of(m_runs.ranks(), [](const LiveRank& rank) { return rank.pace.isModelled; });
}

double TimelinePanel::rowHeight() const {
    const std::size_t rows = m_model.streams().size();
    const double room = height() - kHead - kAxisHeight; // not of area(), whose left edge depends on this
    return rows == 0 ? kMostRow : std::min(kMostRow, room / double(rows));
}

double TimelinePanel::toX(double ns) const {
    return area().left() + (ns - m_from) / (m_to - m_from) * area().width();
}

double TimelinePanel::toNs(double x) const {
    return m_from + (x - area().left()) / area().width() * (m_to - m_from);
}

/// Bars are clipped slightly outside the view, since painting time depends on their length in pixels.
QRectF TimelinePanel::boxOf(int row, int depth, double start, double end) const {
    const double left = std::max(toX(start), area().left() - 8);
    const double right = std::min(toX(end), area().right() + 8);
    const double gap = std::min(4.0, rowHeight() / 5) + std::min(depth, 3) * rowHeight() / 10;
    return {left, area().top() + row * rowHeight() + gap, std::max(1.5, right - left), rowHeight() - 2 * gap};
}

QRectF TimelinePanel::rectOf(std::uint32_t record) const {
    return boxOf(m_model.rowOf(record), 0, m_model.startOf(record), m_model.endOf(record));
}

std::uint32_t TimelinePanel::recordAt(QPointF point) const {
    if (m_model.empty() || !area().contains(point)) return kNone;
    return m_model.at(int((point.y() - area().top()) / rowHeight()), toNs(point.x()), 1.5 * perPixel());
}

void TimelinePanel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    m_drawn = 0;
    if (m_model.empty()) {
        painter.setPen(Theme::current().secondaryText);
        painter.drawText(rect(), Qt::AlignCenter, tr("Run the graph to see its steps over time."));
        return;
    }
    painter.setFont(twb::font(TextRole::small));
    painter.setPen(Theme::current().secondaryText);
    drawElided(painter, QRect(kEdge, 4, width() - 2 * kEdge, kHead - 8), Qt::AlignLeft | Qt::AlignVCenter,
               criticalPathText());
    paintAxis(painter);
    paintRows(painter);
    painter.setClipRect(area().adjusted(0, -4, 0, 0));
    for (const TimelineModel::Layer& layer : m_model.layers()) paintLayer(painter, layer);
    paintFlows(painter);
    if (hasFocus()) {
        painter.setClipping(false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(Theme::current().accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void TimelinePanel::keepInside() {
    const double span =
        std::clamp(m_to - m_from, std::min(kLeastView, m_model.length()), std::max(1.0, m_model.length()));
    m_from = std::clamp(m_from, 0.0, std::max(0.0, m_model.length() - span));
    m_to = m_from + span;
    m_isHeld = true;
    update();
}

void TimelinePanel::zoom(double at, double factor) {
    if (m_model.empty()) return;
    m_from = at - (at - m_from) * factor;
    m_to = at + (m_to - at) * factor;
    keepInside();
}

void TimelinePanel::move(double ns) {
    m_from += ns;
    m_to += ns;
    keepInside();
}

void TimelinePanel::showAll() {
    m_from = 0;
    m_to = std::max(1.0, m_model.length());
    m_isHeld = false;
    update();
}

void TimelinePanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void TimelinePanel::wheelEvent(QWheelEvent* event) {
    zoom(toNs(event->position().x()), std::pow(0.85, event->angleDelta().y() / 120.0));
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
        setCursor(recordAt(event->position()) != kNone ? Qt::PointingHandCursor : Qt::ArrowCursor);
        return;
    }
    const double moved = event->position().x() - m_pressed->x();
    if (std::abs(moved) > 3) m_dragged = true;
    if (m_dragged) move(m_pressedFrom - moved * perPixel() - m_from);
}

void TimelinePanel::mouseReleaseEvent(QMouseEvent* event) {
    m_pressed.reset();
    if (m_dragged || event->button() != Qt::LeftButton) return;
    const std::uint32_t record = recordAt(event->position());
    if (record == kNone || m_model.stepOf(record).node == NodeId::none) return;
    Selection selection;
    selection.nodes = {m_model.stepOf(record).node};
    m_document.select(std::move(selection));
}

void TimelinePanel::mouseDoubleClickEvent(QMouseEvent*) { showAll(); }

void TimelinePanel::keyPressEvent(QKeyEvent* event) {
    const double span = m_to - m_from;
    const double middle = m_from + span / 2;
    switch (event->key()) {
    case Qt::Key_Left:
        return move(-span / 10);
    case Qt::Key_Right:
        return move(span / 10);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(middle, 0.8);
    case Qt::Key_Minus:
        return zoom(middle, 1.25);
    case Qt::Key_Home:
        return showAll();
    default:
        QWidget::keyPressEvent(event);
    }
}

QString TimelinePanel::tipAt(QPointF point) const {
    const std::uint32_t record = recordAt(point);
    if (record == kNone) return {};
    const Step& step = m_model.stepOf(record);
    const PlanStream& stream = m_model.plan().streams[step.stream];
    const bool modelled = isModelled(m_model.plan(), step);
    QString tip = tr("%1 on %2: %3 %4")
                      .arg(toQt(step.label), toQt(stream.label),
                           localized(formatMs(m_model.endOf(record) - m_model.startOf(record))),
                           modelled ? tr("modelled") : m_runs.measuredText());
    if (m_model.isCritical(record) && !hasSeveralClocks()) tip += tr(", on the critical path");
    const std::uint32_t after = m_model.course().after[record];
    if (after != kNone && after != m_model.course().before[record])
        tip += QLatin1Char('\n') + tr("started after %1").arg(toQt(m_model.stepOf(after).label));
    return tip;
}

void TimelinePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitLabels();
}

bool TimelinePanel::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    showTip(help->globalPos(), tipAt(help->pos()), this);
    return true;
}

} // namespace twb
