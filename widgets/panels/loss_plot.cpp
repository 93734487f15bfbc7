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

} // namespace

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
    Curves out{addGraph(), addGraph()};
    out.loss->removeFromLegend();
    out.validation->removeFromLegend();
    return out;
}

void LossPlot::restart() {
    m_current.loss->data()->clear();
    m_current.validation->data()->clear();
    m_points = 0;
    m_isFollowing = true;
}

void LossPlot::update(const TrainingRun& training, const std::vector<bool>& shown) {
    const std::vector<TrainingCourse>& earlier = training.earlier();
    for (; m_earlier.size() > earlier.size(); m_earlier.pop_back()) {
        removeGraph(m_earlier.back().loss);
        removeGraph(m_earlier.back().validation);
    }
    const std::size_t known = m_earlier.size();
    while (m_earlier.size() < earlier.size()) {
        const TrainingCourse& run = earlier[m_earlier.size()];
        m_earlier.push_back(addCurves());
        addPoints(*m_earlier.back().loss, run.losses, 0);
        addPoints(*m_earlier.back().validation, run.record.epochs, 0);
    }
    if (known < m_earlier.size()) style();
    for (std::size_t i = 0; i < m_earlier.size(); ++i)
        show(m_earlier[i], i < shown.size() && shown[i], hasValidation(earlier[i].record.epochs));

    const TrainingCourse& current = training.course();
    const auto epochs = std::size_t(m_current.validation->dataCount());
    if (current.losses.size() < m_points || epochs > current.record.epochs.size()) restart();
    addPoints(*m_current.loss, current.losses, m_points);
    m_points = current.losses.size();
    addPoints(*m_current.validation, current.record.epochs, std::size_t(m_current.validation->dataCount()));
    const bool validates = hasValidation(current.record.epochs);
    show(m_current, true, validates);
    if (validates)
        m_current.validation->addToLegend();
    else
        m_current.validation->removeFromLegend();
    fit();
}

void LossPlot::show(const Curves& curves, bool isShown, bool hasValidation) {
    curves.loss->setVisible(isShown);
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

void LossPlot::style() {
    const Theme& theme = Theme::current();
    stylePlot(*this);
    yAxis->setNumberPrecision(2);
    legend->setBrush(theme.panel);
    legend->setBorderPen(Qt::NoPen);
    legend->setFont(twb::font(TextRole::small));
    legend->setTextColor(theme.secondaryText);
    const bool isCompared = !m_earlier.empty();
    m_current.loss->setPen(QPen(theme.series(0), isCompared ? 2 : 1));
    m_current.validation->setPen(QPen(theme.series(1), isCompared ? 2 : 1));
    m_current.validation->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssDiamond, theme.panel, theme.series(1), 8));
    for (std::size_t i = 0; i < m_earlier.size(); ++i) {
        m_earlier[i].loss->setPen(QPen(colorOf(i), 1));
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
