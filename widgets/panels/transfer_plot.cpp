#include "widgets/panels/transfer_plot.h"

#include "core/format.h"
#include "widgets/panels/plot_table.h"
#include "widgets/panels/rolling_band.h"
#include "widgets/price.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

constexpr std::size_t kAnnotated = 12;  ///< maximum number of curves with marks and predictions
constexpr int kMarks = 3;               ///< marks per curve
constexpr double kClick = 4;            ///< px; the pointer may move this far during a click
constexpr std::size_t kLeastWindow = 9; ///< minimum number of points in the band's rolling window
constexpr std::size_t kWindowShare = 8; ///< or this fraction of the visible points, if larger
constexpr double kReach = 48; ///< px; maximum distance between the pointer and the point that is read out
constexpr double kNoCopy = std::numeric_limits<double>::quiet_NaN(); ///< leaves a gap

/// The value of one point; for the total, the sum of all points up to it.
double valueOf(TransferPlot::Unit unit, const TransferSeries& series, std::size_t point,
               std::uint32_t transfer) {
    const TransferPoint& sum = series.at(point, transfer);
    if (sum.count == 0) return kNoCopy;
    const auto duration = double(series.durationNs(point));
    switch (unit) {
    case TransferPlot::Unit::milliseconds:
        return double(sum.slowestNs) / 1e6;
    case TransferPlot::Unit::rate:
        return sum.slowestNs > 0 ? double(sum.bytes) / sum.count / double(sum.slowestNs) : kNoCopy;
    case TransferPlot::Unit::throughput:
        return duration > 0 ? double(sum.bytes) * 1e9 / duration : kNoCopy;
    case TransferPlot::Unit::share:
        return duration > 0 ? 100 * double(sum.sumNs) / duration : kNoCopy;
    case TransferPlot::Unit::total:
        return double(sum.sumNs) / 1e6;
    }
    return kNoCopy;
}

} // namespace

TransferPlot::TransferPlot(QWidget* parent)
    : QCustomPlot(parent), m_linear(new FigureTicker<QCPAxisTicker>),
      m_logarithmic(new FigureTicker<DecadeTicker>) {
    setObjectName(QStringLiteral("transferPlot"));
    setAccessibleName(tr("Each transfer over the iterations"));
    new PlotTable(*this, [this] { return values(); });
    setFocusPolicy(Qt::StrongFocus);
    setNoAntialiasingOnDrag(true);
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    axisRect()->setRangeDrag(Qt::Horizontal);
    axisRect()->setRangeZoom(Qt::Horizontal);
    axisRect()->setMinimumMargins(QMargins(56, 24, 16, 4));
    xAxis->setLabel(tr("iteration"));
    m_bandLow = addGraph();
    m_bandHigh = addGraph();
    m_bandHigh->setChannelFillGraph(m_bandLow);
    // Horizontal and above the axis, since rotated text takes a column and is hard to read.
    m_unitLabel = new QCPItemText(this);
    m_unitLabel->setClipToAxisRect(false);
    m_unitLabel->position->setType(QCPItemPosition::ptAbsolute);
    m_unitLabel->position->setCoords(16, 2);
    m_unitLabel->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_unitLabel->setSelectable(false);
    m_readout = std::make_unique<PlotReadout>(*this);
    connect(this, &QCustomPlot::mouseWheel, this, &TransferPlot::stopFollowing);
    connect(this, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) stopFollowing();
    });
    connect(this, &QCustomPlot::mouseDoubleClick, this, &TransferPlot::follow);
    connect(xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &TransferPlot::fitToView);
    connect(this, &QCustomPlot::mousePress, this,
            [this](QMouseEvent* event) { m_pressedAt = event->position(); });
    connect(this, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        const bool isClick = (event->position() - m_pressedAt).manhattanLength() < kClick;
        const std::optional<Near> near = isClick ? nearest(event->position()) : std::nullopt;
        if (near) Q_EMIT curveClicked(int(near->row));
    });
    style();
}

void TransferPlot::begin(std::shared_ptr<const TransferSeries> series, std::int64_t total,
                         const QString& host) {
    clear();
    m_series = std::move(series);
    m_total = total;
    m_host = host;
    m_following = true;
}

void TransferPlot::clear() {
    for (Curve& curve : m_curves)
        for (QCPGraph* graph : {curve.line, curve.marks, curve.predicted})
            if (graph) removeGraph(graph);
    m_curves.clear();
    m_series.reset();
    m_shown = 0;
    m_frozen = 0;
    m_highlighted = -1;
    m_readout->hide();
    m_dirty = true;
}

void TransferPlot::setRows(const std::vector<LedgerModel::Row>& rows, const std::vector<bool>& shown) {
    m_curves.resize(rows.size());
    m_shown = std::size_t(std::count(shown.begin(), shown.end(), true));
    const bool annotated = m_shown <= kAnnotated;
    const auto keep = [this](QCPGraph*& graph, bool wanted) {
        if (wanted == (graph != nullptr)) return;
        if (!wanted) {
            removeGraph(graph);
            graph = nullptr;
            return;
        }
        graph = addGraph();
        graph->setAdaptiveSampling(true);
    };
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        Curve& curve = m_curves[i];
        if (shown[i]) curve.row = rows[i];
        keep(curve.line, shown[i]);
        keep(curve.predicted, shown[i] && annotated && rows[i].figures.predictedNs > 0);
        keep(curve.marks, shown[i] && annotated);
        if (curve.marks) curve.marks->setLineStyle(QCPGraph::lsNone);
    }
    stylePens();
    m_dirty = true;
}

/// While paused, the points at the time of the pause; otherwise all points.
std::size_t TransferPlot::points() const {
    if (!m_series) return 0;
    if (!m_paused) return m_series->size();
    return std::min<std::size_t>(m_series->size(),
                                 std::size_t((m_frozen + m_series->cell() - 1) / m_series->cell()));
}

std::vector<double> TransferPlot::valuesOf(std::size_t row) const {
    std::vector<double> out(points());
    double sum = 0;
    for (std::size_t point = 0; point < out.size(); ++point) {
        out[point] = valueOf(m_unit, *m_series, point, m_curves[row].row.transfer);
        if (m_unit == Unit::total && !std::isnan(out[point])) out[point] = sum += out[point];
    }
    return out;
}

void TransferPlot::fill(std::size_t row) {
    QVector<QCPGraphData> data;
    const std::vector<double> values = valuesOf(row);
    data.reserve(qsizetype(values.size()));
    for (std::size_t point = 0; point < values.size(); ++point)
        data.push_back({double(point) * m_series->cell(), values[point]});
    m_curves[row].line->data()->set(data, true);
}

PlotValues TransferPlot::values() const {
    PlotValues out;
    out.title = accessibleName() + QStringLiteral(": ") + unitText();
    if (!m_series) return out;
    out.columns = {{"iteration", tr("iteration")}};
    const auto unitKey = [this]() -> std::string {
        switch (m_unit) {
        case Unit::milliseconds:
            return "_ms";
        case Unit::rate:
            return "_gb_per_s";
        case Unit::throughput:
            return "_bytes_per_s";
        case Unit::share:
            return "_percent";
        case Unit::total:
            return "_cumulative_ms";
        }
        return {};
    }();
    const QString unit = unitText().section(QStringLiteral(" · "), 0, 0);
    std::vector<std::vector<double>> curves;
    for (const LegendEntry& entry : legendEntries()) {
        // Each column says it, because the CSV has no title.
        out.columns.push_back(
            {entry.name.toStdString() + unitKey + (entry.modelled ? "_modelled" : "_measured"),
             QStringLiteral("%1, %2, %3").arg(entry.name, unit, timesOf(entry))});
        curves.push_back(valuesOf(entry.row));
    }
    out.rows = curves.empty() ? 0 : int(points());
    out.at = [curves = std::move(curves), cell = m_series->cell()](int row, int column) -> QVariant {
        if (column == 0) return qlonglong(row) * cell;
        const double value = curves[std::size_t(column - 1)][std::size_t(row)];
        return std::isnan(value) ? QVariant() : QVariant(value);
    };
    return out;
}

void TransferPlot::fillPrediction(std::size_t row) {
    const double ns = m_curves[row].row.figures.predictedNs;
    const double from = xAxis->range().lower;
    const double to = xAxis->range().upper;
    QCPGraph& line = *m_curves[row].predicted;
    switch (m_unit) {
    case Unit::milliseconds:
        return line.setData({from, to}, {ns / 1e6, ns / 1e6}, true);
    case Unit::rate:
        return line.setData(
            {from, to},
            {m_curves[row].row.figures.bytesPerCopy / ns, m_curves[row].row.figures.bytesPerCopy / ns}, true);
    case Unit::total:
        if (yAxis->scaleType() == QCPAxis::stLinear) // otherwise not a straight line
            return line.setData({from, to}, {ns * (from + 1) / 1e6, ns * (to + 1) / 1e6}, true);
        break;
    case Unit::throughput:
    case Unit::share:
        break; // they depend on the other steps of an iteration
    }
    line.data()->clear();
}

int TransferPlot::standingOut() const {
    if (m_highlighted >= 0) return m_highlighted;
    if (m_shown != 1) return -1;
    const auto only =
        std::find_if(m_curves.begin(), m_curves.end(), [](const Curve& c) { return c.line != nullptr; });
    return int(only - m_curves.begin());
}

/// Computed from the visible points; where a transfer becomes slower, the band rises.
void TransferPlot::fillBand() {
    m_bandLow->data()->clear();
    m_bandHigh->data()->clear();
    m_bandPoints = 0;
    const int row = standingOut();
    if (row < 0 || row >= int(m_curves.size()) || !m_curves[std::size_t(row)].line) return;
    if (!m_series || (m_unit != Unit::milliseconds && m_unit != Unit::rate)) return;
    const LedgerModel::Row& shown = m_curves[std::size_t(row)].row;
    const double cell = m_series->cell();
    const auto first = std::size_t(std::max(0.0, std::ceil(xAxis->range().lower / cell)));
    const auto end = std::min(points(), std::size_t(std::max(0.0, xAxis->range().upper / cell + 1)));
    if (first >= end) return;
    std::vector<double> times;
    for (std::size_t point = first; point < end; ++point)
        times.push_back(valueOf(Unit::milliseconds, *m_series, point, shown.transfer));
    m_bandPoints = std::min(times.size(), std::max(kLeastWindow, times.size() / kWindowShare));
    const RollingBand band = rollingBand(times, m_bandPoints);
    const auto value = [&](double ms) {
        return m_unit == Unit::milliseconds ? ms : ms > 0 ? shown.figures.bytesPerCopy / ms / 1e6 : 0;
    };
    QVector<QCPGraphData> low;
    QVector<QCPGraphData> high;
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (std::isnan(band.median[i])) continue;
        const double iteration = double(first + i) * cell;
        low.push_back({iteration, value(band.median[i])});
        high.push_back({iteration, value(band.p95[i])});
    }
    m_bandLow->data()->set(low, true);
    m_bandHigh->data()->set(high, true);
}

void TransferPlot::setUnit(Unit unit) {
    if (m_unit == unit) return;
    m_unit = unit;
    m_linear->setBytes(unit == Unit::throughput);
    m_logarithmic->setBytes(unit == Unit::throughput);
    changeView();
}

void TransferPlot::setLogarithmic(bool on) {
    yAxis->setScaleType(on ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    setTicker();
    changeView();
}

void TransferPlot::setTicker() {
    if (yAxis->scaleType() == QCPAxis::stLogarithmic)
        yAxis->setTicker(m_logarithmic);
    else
        yAxis->setTicker(m_linear);
}

void TransferPlot::changeView() {
    fitAxes();
    m_readout->hide();
    m_dirty = true;
    refresh();
}

void TransferPlot::setPaused(bool on) {
    if (m_paused == on) return;
    if (on && m_series) m_frozen = std::int64_t(m_series->size()) * m_series->cell();
    m_paused = on;
    m_dirty = true;
    refresh();
}

void TransferPlot::setHighlighted(int row) {
    if (row >= int(m_curves.size())) row = -1;
    if (m_highlighted == row) return;
    m_highlighted = row;
    stylePens();
    m_dirty = true;
    refresh();
}

void TransferPlot::follow() {
    m_following = true;
    Q_EMIT followingChanged(true);
    m_dirty = true;
    refresh();
}

void TransferPlot::stopFollowing() {
    if (!std::exchange(m_following, false)) return;
    Q_EMIT followingChanged(false);
}

void TransferPlot::fitAxes() {
    double top = 0;
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        if (!m_curves[i].line) continue;
        for (const QCPGraphData& point : *m_curves[i].line->data()) {
            if (std::isnan(point.value)) continue;
            top = std::max(top, point.value);
            if (point.value > 0) least = std::min(least, point.value);
        }
        if (m_unit == Unit::milliseconds && m_curves[i].predicted)
            top = std::max(top, m_curves[i].row.figures.predictedNs / 1e6);
    }
    const double highest = std::max(top, 1e-9);
    yAxis->setNumberPrecision(std::clamp(1 - int(std::floor(std::log10(highest))), 0, 6));
    if (yAxis->scaleType() == QCPAxis::stLogarithmic)
        yAxis->setRange(top > 0 ? least / 2 : 0.1, top > 0 ? top * 2 : 10);
    else
        yAxis->setRange(0, top > 0 ? top * 1.15 : 1);
    double last = m_series ? double(points()) * m_series->cell() - 1 : 0;
    if (m_paused) last = std::min(last, double(m_frozen) - 1); // points may have been merged since
    xAxis->setRange(0, std::max(1.0, m_total > 0 ? double(m_total - 1) : std::max(20.0, last)));
}

/// Lines that coincide hide each other; their marks are placed side by side.
void TransferPlot::placeMarks() {
    const double from = xAxis->range().lower;
    const double span = xAxis->range().size();
    double place = 0.5;
    for (Curve& curve : m_curves) {
        if (!curve.marks) continue;
        const QCPGraphDataContainer& points = *curve.line->data();
        QVector<QCPGraphData> marked;
        for (int i = 0; i < kMarks && !points.isEmpty(); ++i) {
            const double x = from + span * (i + place / double(m_shown)) / kMarks;
            const auto at = points.findBegin(x, false);
            if (at != points.constEnd() && at->key <= from + span) marked.push_back({at->key, at->value});
        }
        if (marked.isEmpty() && !points.isEmpty()) marked.push_back(*(points.constEnd() - 1));
        curve.marks->data()->set(marked, true);
        place += 1;
    }
}

/// Updates items that span the visible range.
void TransferPlot::fitToView() {
    for (std::size_t i = 0; i < m_curves.size(); ++i)
        if (m_curves[i].predicted) fillPrediction(i);
    fillBand();
    placeMarks();
    m_unitLabel->setText(unitText()); // contains the band's window
}

void TransferPlot::refresh() {
    if (!m_dirty || !isVisible()) return;
    m_dirty = false;
    for (std::size_t i = 0; i < m_curves.size(); ++i)
        if (m_curves[i].line) fill(i);
    if (m_following) fitAxes();
    fitToView();
    replot();
}

bool TransferPlot::showsPrediction() const {
    return m_shown <= kAnnotated && (m_unit == Unit::milliseconds || m_unit == Unit::rate ||
                                     (m_unit == Unit::total && yAxis->scaleType() == QCPAxis::stLinear));
}

QString TransferPlot::unitText() const {
    const std::uint32_t cell = m_series ? m_series->cell() : 1;
    QStringList parts;
    switch (m_unit) {
    case Unit::milliseconds:
        parts << tr("ms");
        break;
    case Unit::rate:
        parts << tr("GB/s");
        break;
    case Unit::throughput:
        parts << tr("bytes/s over whole iterations");
        break;
    case Unit::share:
        parts << tr("% of the iterations' time");
        break;
    case Unit::total:
        parts << tr("ms, cumulative");
        break;
    }
    if (cell > 1 && (m_unit == Unit::milliseconds || m_unit == Unit::rate))
        parts << tr("slowest of each %1 iterations").arg(grouped(cell));
    const std::vector<LegendEntry> curves = legendEntries();
    const auto modelled = std::size_t(
        std::count_if(curves.begin(), curves.end(), [](const LegendEntry& e) { return e.modelled; }));
    if (modelled > 0) parts << (modelled == curves.size() ? tr("modelled") : tr("partly modelled"));
    if (modelled < curves.size() && !m_host.isEmpty()) parts << measuredText(m_host);
    if (showsPrediction()) parts << tr("dashed: predicted");
    if (m_bandPoints > 0)
        parts << tr("band: median to p95 over %1 iterations").arg(grouped(qint64(m_bandPoints * cell)));
    if (m_paused) parts << tr("paused");
    return parts.join(QStringLiteral(" · "));
}

std::vector<TransferPlot::LegendEntry> TransferPlot::legendEntries() const {
    std::vector<LegendEntry> out;
    for (std::size_t i = 0; i < m_curves.size(); ++i)
        if (m_curves[i].line) out.push_back({m_curves[i].row.name, i, m_curves[i].row.figures.modelled});
    return out;
}

QString TransferPlot::timesOf(const LegendEntry& entry) const {
    return entry.modelled ? tr("modelled") : measuredText(m_host);
}

std::optional<QPointF> TransferPlot::pixelOf(int row, std::uint32_t iteration) const {
    if (row < 0 || row >= int(m_curves.size()) || !m_curves[std::size_t(row)].line) return std::nullopt;
    const QCPGraphDataContainer& data = *m_curves[std::size_t(row)].line->data();
    // The width that points had when the data was set: in a paused plot the data stays while the series
    // merges points.
    const double cell = data.size() > 1 ? data.at(1)->key - data.at(0)->key : m_series->cell();
    const auto point = std::size_t(iteration / cell);
    if (point >= std::size_t(data.size()) || std::isnan(data.at(int(point))->value)) return std::nullopt;
    return QPointF(xAxis->coordToPixel(data.at(int(point))->key),
                   yAxis->coordToPixel(data.at(int(point))->value));
}

/// The nearest of the points above and below the pointer.
std::optional<TransferPlot::Near> TransferPlot::nearest(QPointF at) const {
    if (!m_series || !axisRect()->rect().contains(at.toPoint())) return std::nullopt;
    const double x = std::clamp(xAxis->pixelToCoord(at.x()), 0.0, double(points()) * m_series->cell());
    const auto iteration = std::uint32_t(x + m_series->cell() / 2.0);
    double least = kReach;
    std::optional<Near> found;
    for (std::size_t row = 0; row < m_curves.size(); ++row) {
        const std::optional<QPointF> pixel = pixelOf(int(row), iteration);
        if (!pixel) continue;
        const double distance = std::hypot(pixel->x() - at.x(), pixel->y() - at.y());
        if (distance >= least) continue;
        least = distance;
        found = Near{row, iteration, *pixel};
    }
    return found;
}

void TransferPlot::updateReadout(QPointF at) {
    const std::optional<Near> near = nearest(at);
    if (!near) return m_readout->hide();
    const auto [row, iteration, place] = *near;
    const TransferPoint& point = m_series->at(iteration / m_series->cell(), m_curves[row].row.transfer);
    const std::uint32_t first = iteration / m_series->cell() * m_series->cell();
    const QString when = m_series->cell() == 1
                             ? tr("iteration %1").arg(grouped(first))
                             : tr("slowest of iterations %1 to %2")
                                   .arg(grouped(first), grouped(std::int64_t(first) + m_series->cell() - 1));
    const double bytes = double(point.bytes) / point.count;
    const QString dot = QStringLiteral(" · ");
    // Short lines, so that the box covers little of a small plot.
    QString text = m_curves[row].row.name + QLatin1Char('\n') + when + QLatin1Char('\n') +
                   localized(formatMs(double(point.slowestNs))) + dot +
                   (m_curves[row].row.figures.modelled ? tr("modelled") : measuredText(m_host)) +
                   QLatin1Char('\n') + localized(formatBytes(bytes));
    if (point.slowestNs > 0) text += dot + localized(formatRate(bytes / double(point.slowestNs)));
    m_readout->show({xAxis->pixelToCoord(place.x()), yAxis->pixelToCoord(place.y())},
                    Theme::current().series(row), text);
    setAccessibleDescription(text);
}

void TransferPlot::mouseMoveEvent(QMouseEvent* event) {
    QCustomPlot::mouseMoveEvent(event);
    if (event->buttons() == Qt::NoButton)
        updateReadout(event->position());
    else
        m_readout->hide();
}

void TransferPlot::leaveEvent(QEvent* event) {
    QCustomPlot::leaveEvent(event);
    m_readout->hide();
}

void TransferPlot::keyPressEvent(QKeyEvent* event) {
    const double span = xAxis->range().size();
    switch (event->key()) {
    case Qt::Key_Left:
        xAxis->moveRange(-span / 10);
        break;
    case Qt::Key_Right:
        xAxis->moveRange(span / 10);
        break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        xAxis->scaleRange(0.8);
        break;
    case Qt::Key_Minus:
        xAxis->scaleRange(1.25);
        break;
    case Qt::Key_Home:
        return follow();
    default:
        return QCustomPlot::keyPressEvent(event);
    }
    stopFollowing();
    m_dirty = true;
    refresh();
}

} // namespace twb
