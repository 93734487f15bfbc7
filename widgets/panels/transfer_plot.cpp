#include "widgets/panels/transfer_plot.h"

#include "widgets/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace twb {
namespace {

constexpr std::size_t kPoints = 60'000; ///< of all curves together
constexpr std::size_t kPredictedLines = 12;
constexpr int kMarks = 3; ///< along a curve

/// Iterations are counted: there is nothing to write between two of them.
class WholeTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override {
        return std::max(1.0, QCPAxisTicker::getTickStep(range));
    }
};

QPainterPath polygon(std::initializer_list<QPointF> points) {
    QPainterPath path;
    path.addPolygon(QPolygonF(QList<QPointF>(points)));
    path.closeSubpath();
    return path;
}

std::array<QPainterPath, 6> makeMarks() {
    QPainterPath disc, square;
    disc.addEllipse(QPointF(), 3.5, 3.5);
    square.addRect(-3, -3, 6, 6);
    return {disc,
            square,
            polygon({{0, -4.2}, {4, 3}, {-4, 3}}),
            polygon({{0, -4.4}, {4.4, 0}, {0, 4.4}, {-4.4, 0}}),
            polygon({{0, 4.2}, {4, -3}, {-4, -3}}),
            polygon({{-1.3, -4},
                     {1.3, -4},
                     {1.3, -1.3},
                     {4, -1.3},
                     {4, 1.3},
                     {1.3, 1.3},
                     {1.3, 4},
                     {-1.3, 4},
                     {-1.3, 1.3},
                     {-4, 1.3},
                     {-4, -1.3},
                     {-1.3, -1.3}})};
}

} // namespace

const QPainterPath& seriesMark(std::size_t index) {
    static const std::array<QPainterPath, 6> marks = makeMarks();
    return marks[index % marks.size()];
}

TransferPlot::TransferPlot(QWidget* parent) : QCustomPlot(parent) {
    setAccessibleName(tr("Time of each transfer over the iterations"));
    setNoAntialiasingOnDrag(true);
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    axisRect()->setRangeDrag(Qt::Horizontal);
    axisRect()->setRangeZoom(Qt::Horizontal);
    axisRect()->setMinimumMargins(QMargins(56, 24, 16, 4));
    xAxis->setLabel(tr("iteration"));
    // Above the axis and upright: a rotated word costs a column and is hard to read.
    m_unitLabel = new QCPItemText(this);
    m_unitLabel->setClipToAxisRect(false);
    m_unitLabel->position->setType(QCPItemPosition::ptAbsolute);
    m_unitLabel->position->setCoords(16, 2);
    m_unitLabel->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_unitLabel->setSelectable(false);
    connect(this, &QCustomPlot::mouseWheel, this, [this] { m_following = false; });
    connect(this, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_following = false;
    });
    connect(this, &QCustomPlot::mouseDoubleClick, this, [this] {
        m_following = true;
        fitAxes();
        replot();
    });
    connect(this, &QCustomPlot::plottableClick, this, [this](QCPAbstractPlottable* plottable) {
        for (std::size_t i = 0; i < m_curves.size(); ++i)
            if (m_curves[i].line == plottable || m_curves[i].marks == plottable) Q_EMIT curveClicked(int(i));
    });
    style();
}

void TransferPlot::begin(const std::vector<LedgerModel::Row>& rows, std::int64_t total, std::uint32_t cell) {
    clearCurves();
    m_total = total;
    m_cell = std::max(1u, cell);
    m_window = std::clamp<std::size_t>(kPoints / std::max<std::size_t>(1, rows.size()), 200, 2000) + 1;
    const auto curves =
        std::size_t(std::count_if(rows.begin(), rows.end(), [](const auto& r) { return !r.setup; }));
    m_curveOf.assign(rows.size(), -1);
    for (const LedgerModel::Row& row : rows) {
        m_curveOf[row.transfer] = int(m_curves.size());
        Curve curve;
        curve.row = row;
        if (!row.setup) {
            curve.line = addGraph();
            curve.line->setAdaptiveSampling(true);
            if (curves <= kPredictedLines && row.predictedNs > 0) curve.predicted = addGraph();
            if (curves <= kPredictedLines) {
                curve.marks = addGraph();
                curve.marks->setLineStyle(QCPGraph::lsNone);
            }
        }
        m_curves.push_back(std::move(curve));
    }
    stylePens();
    m_following = true;
    m_dirty = true;
}

void TransferPlot::clearCurves() {
    clearGraphs();
    m_curves.clear();
    m_last = 0;
    m_highlighted = -1;
    m_dirty = true;
}

double TransferPlot::valueOf(const Curve& curve, const TransferSample& sample) const {
    switch (m_unit) {
    case Unit::milliseconds:
        return double(sample.ns) / 1e6;
    case Unit::rate:
        return sample.ns > 0 ? curve.row.bytes / double(sample.ns) : 0;
    case Unit::share: {
        // Of all transfers at that point; the others' latest word stands in for one that is not there yet.
        double sum = 0;
        for (const Curve& other : m_curves) {
            if (!other.line || other.samples.empty()) continue;
            const std::size_t back = (m_last - sample.iteration) / m_cell;
            sum +=
                double(other.samples[other.samples.size() > back ? other.samples.size() - 1 - back : 0].ns);
        }
        return sum > 0 ? 100 * double(sample.ns) / sum : 0;
    }
    }
    return 0;
}

void TransferPlot::append(const std::vector<TransferSample>& samples) {
    for (const TransferSample& sample : samples) m_last = std::max(m_last, sample.iteration);
    std::vector<bool> touched(m_curves.size());
    for (const TransferSample& sample : samples) {
        if (sample.transfer >= m_curveOf.size()) continue;
        const auto index = std::size_t(m_curveOf[sample.transfer]);
        Curve& curve = m_curves[index];
        if (!curve.line) continue;
        // A cell that is still filling comes again and replaces itself.
        if (!curve.samples.empty() && curve.samples.back().iteration == sample.iteration) {
            curve.samples.back() = sample;
            curve.line->data()->remove(double(sample.iteration));
        } else {
            curve.samples.push_back(sample);
        }
        while (curve.samples.size() > m_window) curve.samples.pop_front();
        if (m_unit != Unit::share) curve.line->addData(double(sample.iteration), valueOf(curve, sample));
        touched[index] = true;
    }
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        if (!touched[i]) continue;
        // A share depends on the other curves, which may have come later in the same batch.
        if (m_unit == Unit::share)
            refill(m_curves[i]);
        else
            m_curves[i].line->data()->removeBefore(double(m_curves[i].samples.front().iteration));
        m_dirty = true;
    }
}

void TransferPlot::refill(Curve& curve) {
    QVector<QCPGraphData> points;
    points.reserve(int(curve.samples.size()));
    for (const TransferSample& sample : curve.samples)
        points.push_back({double(sample.iteration), valueOf(curve, sample)});
    curve.line->data()->set(points, true);
}

void TransferPlot::setUnit(Unit unit) {
    if (m_unit == unit) return;
    m_unit = unit;
    for (Curve& curve : m_curves)
        if (curve.line) refill(curve);
    m_following = true;
    m_dirty = true;
    refresh();
}

void TransferPlot::setHighlighted(int row) {
    if (m_highlighted == row) return;
    m_highlighted = row;
    stylePens();
    m_dirty = true;
    refresh();
}

void TransferPlot::fitAxes() {
    double top = 0;
    for (const Curve& curve : m_curves) {
        if (!curve.line) continue;
        for (const QCPGraphData& point : *curve.line->data()) top = std::max(top, point.value);
        if (m_unit == Unit::milliseconds) top = std::max(top, curve.row.predictedNs / 1e6);
    }
    if (m_unit == Unit::share) top = 100;
    const double highest = std::max(top, 1e-9);
    yAxis->setNumberPrecision(std::clamp(1 - int(std::floor(std::log10(highest))), 0, 6));
    yAxis->setRange(0, top > 0 ? top * (m_unit == Unit::share ? 1 : 1.15) : 1);
    const double span = double(m_window) * m_cell;
    if (m_total > 0)
        xAxis->setRange(0, std::max(1.0, double(m_total - 1)));
    else
        xAxis->setRange(std::max(0.0, double(m_last) - span), std::max(span / 10, double(m_last)));
}

/// Lines that lie on each other hide all but one; their marks stand side by side.
void TransferPlot::placeMarks() {
    const auto shown =
        std::count_if(m_curves.begin(), m_curves.end(), [](const Curve& c) { return c.marks != nullptr; });
    const double from = xAxis->range().lower;
    const double span = xAxis->range().size();
    double place = 0.5;
    for (Curve& curve : m_curves) {
        if (!curve.marks) continue;
        const QCPGraphDataContainer& points = *curve.line->data();
        QVector<QCPGraphData> marked;
        for (int i = 0; i < kMarks && !points.isEmpty(); ++i) {
            const double x = from + span * (i + place / double(shown)) / kMarks;
            const auto at = points.findBegin(x, false);
            if (at != points.constEnd() && at->key <= from + span) marked.push_back({at->key, at->value});
        }
        if (marked.isEmpty() && !points.isEmpty()) marked.push_back(*(points.constEnd() - 1));
        curve.marks->data()->set(marked, true);
        place += 1;
    }
}

void TransferPlot::refresh() {
    if (!m_dirty || !isVisible()) return;
    m_dirty = false;
    if (m_following) fitAxes();
    const double from = xAxis->range().lower;
    const double to = xAxis->range().upper;
    for (Curve& curve : m_curves) {
        if (!curve.predicted) continue;
        const double ns = curve.row.predictedNs;
        const double y = m_unit == Unit::milliseconds ? ns / 1e6
                         : m_unit == Unit::rate       ? curve.row.bytes / ns
                                                      : -1;
        curve.predicted->setVisible(y >= 0);
        curve.predicted->setData({from, to}, {y, y}, true);
    }
    placeMarks();
    switch (m_unit) {
    case Unit::milliseconds:
        m_unitLabel->setText(m_cell == 1 ? tr("ms") : tr("ms, slowest of %1").arg(m_cell));
        break;
    case Unit::rate:
        m_unitLabel->setText(tr("GB/s"));
        break;
    case Unit::share:
        m_unitLabel->setText(tr("% of the transfer time"));
        break;
    }
    replot();
}

void TransferPlot::stylePens() {
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        Curve& curve = m_curves[i];
        if (!curve.line) continue;
        QColor color = Theme::current().series(i);
        const bool faint = m_highlighted >= 0 && m_highlighted != int(i);
        if (faint) color.setAlphaF(0.3f);
        curve.line->setPen(QPen(color, 1));
        if (curve.marks)
            curve.marks->setScatterStyle(
                QCPScatterStyle(seriesMark(i), QPen(Theme::current().panel, 1), color, 8));
        if (!curve.predicted) continue;
        color.setAlphaF(faint ? 0.2f : 0.6f);
        curve.predicted->setPen(QPen(color, 1, Qt::DashLine));
    }
}

void TransferPlot::style() {
    const Theme& theme = Theme::current();
    setBackground(theme.panel);
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setTickLabelFont(twb::font(TextRole::smallFigure));
        axis->setLabelFont(twb::font(TextRole::small));
        axis->setTickLabelColor(theme.secondaryText);
        axis->setLabelColor(theme.secondaryText);
        axis->setBasePen(Qt::NoPen);
        axis->setTickPen(Qt::NoPen);
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLength(0);
        axis->setSubTickLength(0);
        axis->setTickLabelPadding(8);
        axis->grid()->setPen(QPen(theme.border, 1));
        axis->grid()->setZeroLinePen(QPen(theme.border, 1));
        axis->setNumberFormat(QStringLiteral("f"));
    }
    m_unitLabel->setFont(twb::font(TextRole::small));
    m_unitLabel->setColor(theme.secondaryText);
    xAxis->grid()->setVisible(false);
    yAxis->ticker()->setTickCount(4);
    xAxis->setTicker(QSharedPointer<WholeTicker>::create());
    xAxis->ticker()->setTickCount(6);
    xAxis->setNumberPrecision(0);
    yAxis->setNumberPrecision(3);
    stylePens();
}

void TransferPlot::changeEvent(QEvent* event) {
    QCustomPlot::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    style();
    m_dirty = true;
    refresh();
}

} // namespace twb
