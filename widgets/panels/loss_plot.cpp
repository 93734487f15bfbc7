#include "widgets/panels/loss_plot.h"

#include "widgets/panels/figure_ticker.h"
#include "widgets/panels/plot_style.h"
#include "widgets/panels/training_panel.h"
#include "widgets/theme.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

void addPoints(QCPGraph& graph, const std::vector<double>& losses, std::size_t from) {
    for (std::size_t i = from; i < losses.size(); ++i) graph.addData(double(i + 1), losses[i]);
}

void addPoints(QCPGraph& graph, const std::vector<EpochRecord>& epochs, std::size_t from) {
    for (std::size_t i = from; i < epochs.size(); ++i)
        graph.addData(double(epochs[i].steps), epochs[i].validationLoss.value_or(std::nan("")));
}

bool hasValidation(const std::vector<EpochRecord>& epochs) {
    return !epochs.empty() && epochs.front().validationLoss;
}

/// The colour of raw losses under their means.
QColor faint(const QColor& color) {
    constexpr double share = 0.5;
    const QColor& ground = Theme::current().panel;
    const auto mixed = [](int from, int to) { return int(std::lround(from * (1 - share) + to * share)); };
    return {mixed(ground.red(), color.red()), mixed(ground.green(), color.green()),
            mixed(ground.blue(), color.blue())};
}

} // namespace

double smoothedAt(std::span<const double> values, std::size_t at, std::size_t radius) {
    const double center = values[at];
    if (!std::isfinite(center)) return center;
    const std::size_t reach = std::min({radius, at, values.size() - 1 - at});
    // Of the distances from the centre, so that equal values have exactly themselves as their mean.
    double sum = 0;
    double count = 0;
    for (std::size_t i = at - reach; i <= at + reach; ++i) {
        if (!std::isfinite(values[i])) continue;
        sum += values[i] - center;
        count += 1;
    }
    return center + sum / count;
}

LossPlot::LossPlot() {
    setObjectName(QStringLiteral("lossPlot"));
    setAccessibleName(TrainingPanel::tr("Loss over the steps"));
    setFocusPolicy(Qt::StrongFocus);
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    axisRect()->setRangeDrag(Qt::Horizontal);
    axisRect()->setRangeZoom(Qt::Horizontal);
    axisRect()->setMinimumMargins(QMargins(56, 12, 16, 4));
    xAxis->setLabel(TrainingPanel::tr("step"));
    addLayer(QStringLiteral("current"), layer(QStringLiteral("main")));
    m_current = addCurves();
    m_current.loss->setLayer(QStringLiteral("current"));
    m_current.smoothed->setLayer(QStringLiteral("current"));
    m_current.validation->setLayer(QStringLiteral("current"));
    m_current.loss->setName(TrainingPanel::tr("Loss"));
    m_current.validation->setName(TrainingPanel::tr("Validation loss"));
    m_current.loss->addToLegend();
    legend->setVisible(true);
    axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
    connect(this, &QCustomPlot::mouseDoubleClick, this, [this] {
        m_isFollowing = true;
        fit();
    });
    connect(this, &QCustomPlot::mouseWheel, this, [this] { m_isFollowing = false; });
    connect(this, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_isFollowing = false;
    });
    style();
}

LossPlot::Curves LossPlot::addCurves() {
    Curves out{addGraph(), addGraph(), addGraph()};
    for (QCPGraph* graph : {out.loss, out.smoothed, out.validation}) graph->removeFromLegend();
    return out;
}

void LossPlot::restart() {
    m_current.loss->data()->clear();
    m_current.smoothed->data()->clear();
    m_current.validation->data()->clear();
    m_points = 0;
    m_isFollowing = true;
}

void LossPlot::update(const TrainingRun& training, const std::vector<bool>& shown) {
    const std::vector<TrainingCourse>& earlier = training.earlier();
    for (; m_earlier.size() > earlier.size(); m_earlier.pop_back()) {
        for (QCPGraph* graph :
             {m_earlier.back().loss, m_earlier.back().smoothed, m_earlier.back().validation})
            removeGraph(graph);
    }
    const std::size_t known = m_earlier.size();
    while (m_earlier.size() < earlier.size()) {
        const TrainingCourse& run = earlier[m_earlier.size()];
        m_earlier.push_back(addCurves());
        addPoints(*m_earlier.back().loss, run.losses, 0);
        addPoints(*m_earlier.back().validation, run.record.epochs, 0);
    }
    if (known < m_earlier.size()) style();
    for (std::size_t i = 0; i < m_earlier.size(); ++i) {
        smooth(m_earlier[i], earlier[i].losses);
        show(m_earlier[i], i < shown.size() && shown[i], hasValidation(earlier[i].record.epochs));
    }

    const TrainingCourse& current = training.course();
    const auto epochs = std::size_t(m_current.validation->dataCount());
    if (current.losses.size() < m_points || epochs > current.record.epochs.size()) restart();
    addPoints(*m_current.loss, current.losses, m_points);
    m_points = current.losses.size();
    smooth(m_current, current.losses);
    addPoints(*m_current.validation, current.record.epochs, std::size_t(m_current.validation->dataCount()));
    const bool validates = hasValidation(current.record.epochs);
    show(m_current, true, validates);
    const auto list = [](QCPGraph& graph, bool isListed) {
        if (isListed)
            graph.addToLegend();
        else
            graph.removeFromLegend();
    };
    list(*m_current.validation, validates);
    list(*m_current.smoothed, m_radius > 0);
    fit();
}

/// Adds the means of new losses. Those of the last known losses change, because their windows grow.
void LossPlot::smooth(const Curves& curves, const std::vector<double>& losses) const {
    const auto known = std::size_t(curves.smoothed->dataCount());
    if (m_radius == 0 || known == losses.size()) return;
    const std::size_t from = known - std::min(known, m_radius);
    curves.smoothed->data()->removeAfter(double(from) + 0.5); // the keys are steps, from 1
    for (std::size_t i = from; i < losses.size(); ++i)
        curves.smoothed->addData(double(i + 1), smoothedAt(losses, i, m_radius));
}

void LossPlot::show(const Curves& curves, bool isShown, bool hasValidation) {
    curves.loss->setVisible(isShown);
    curves.smoothed->setVisible(isShown && m_radius > 0);
    curves.validation->setVisible(isShown && hasValidation);
}

QColor LossPlot::colorOf(std::optional<std::size_t> earlier) {
    return Theme::current().series(earlier ? *earlier + 2 : 0);
}

std::vector<LegendEntry> LossPlot::legendEntries(const TrainingRun& training) const {
    QPainterPath line;
    line.addRect(-6, -1, 12, 2);
    QPainterPath diamond;
    diamond.addPolygon(QPolygonF(QList<QPointF>{{0, -4.4}, {4.4, 0}, {0, 4.4}, {-4.4, 0}}));
    std::vector<LegendEntry> out{{training.course().text(), colorOf({}), line}};
    if (m_radius > 0) {
        out.push_back({m_current.smoothed->name(), colorOf({}), line});
        out.push_back({TrainingPanel::tr("Loss of each step"), faint(colorOf({})), line});
    }
    if (m_current.validation->visible())
        out.push_back({TrainingPanel::tr("Validation loss"), Theme::current().series(1), diamond});
    for (std::size_t i = 0; i < m_earlier.size(); ++i)
        if (m_earlier[i].loss->visible()) out.push_back({training.earlier()[i].text(), colorOf(i), line});
    return out;
}

void LossPlot::setLogarithmic(bool isLogarithmic) {
    yAxis->setScaleType(isLogarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    if (isLogarithmic)
        yAxis->setTicker(QSharedPointer<FigureTicker<DecadeTicker>>::create());
    else
        yAxis->setTicker(QSharedPointer<FigureTicker<QCPAxisTicker>>::create());
    fit();
}

void LossPlot::setSmoothing(std::size_t radius) {
    m_radius = radius;
    m_current.smoothed->setName(TrainingPanel::tr("Moving average of %1 steps").arg(2 * radius + 1));
    m_current.smoothed->data()->clear();
    for (const Curves& curves : m_earlier) curves.smoothed->data()->clear();
    style();
}

void LossPlot::setPens(const Curves& curves, const QColor& color, double width) const {
    curves.loss->setPen(QPen(m_radius > 0 ? faint(color) : color, m_radius > 0 ? 1 : width));
    curves.smoothed->setPen(QPen(color, width));
}

void LossPlot::style() {
    const Theme& theme = Theme::current();
    stylePlot(*this);
    yAxis->setNumberPrecision(2);
    legend->setBrush(theme.panel);
    legend->setBorderPen(Qt::NoPen);
    legend->setFont(twb::font(TextRole::small));
    legend->setTextColor(theme.secondaryText);
    const bool isCompared = !m_earlier.empty();
    setPens(m_current, theme.series(0), isCompared ? 2 : 1);
    m_current.validation->setPen(QPen(theme.series(1), isCompared ? 2 : 1));
    m_current.validation->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssDiamond, theme.panel, theme.series(1), 8));
    for (std::size_t i = 0; i < m_earlier.size(); ++i) {
        setPens(m_earlier[i], colorOf(i), 1);
        m_earlier[i].validation->setPen(QPen(colorOf(i), 1, Qt::DashLine));
    }
    setLogarithmic(yAxis->scaleType() == QCPAxis::stLogarithmic);
}

void LossPlot::fit() {
    const bool isLogarithmic = yAxis->scaleType() == QCPAxis::stLogarithmic;
    const QCP::SignDomain domain = isLogarithmic ? QCP::sdPositive : QCP::sdBoth;
    double last = 1;
    for (int i = 0; i < graphCount(); ++i)
        if (graph(i)->visible() && graph(i)->dataCount() > 0)
            last = std::max(last, (graph(i)->data()->constEnd() - 1)->key);
    if (m_isFollowing) xAxis->setRange(0, last * 1.02);
    QCPRange range;
    bool isFound = false;
    for (int i = 0; i < graphCount(); ++i) {
        if (!graph(i)->visible()) continue;
        bool isHere = false;
        const QCPRange here = graph(i)->getValueRange(isHere, domain, xAxis->range());
        if (isHere) range = isFound ? range.expanded(here) : here;
        isFound = isFound || isHere;
    }
    if (isFound && isLogarithmic)
        yAxis->setRange(range.lower / 1.2, range.upper * 1.2);
    else if (isFound)
        yAxis->setRange(std::min(0.0, range.lower), range.upper * 1.06 + (range.upper == 0 ? 1 : 0));
    replot(QCustomPlot::rpQueuedReplot);
}

} // namespace twb
