#include "widgets/panels/training_panel.h"

#include "core/error.h"
#include "formats/project.h"
#include "formats/trained_graph.h"
#include "widgets/ask_for_path.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/labels.h"
#include "widgets/panels/custom_plot.h"
#include "widgets/panels/figure_ticker.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr int kFactsWidth = 280;

QString figure(double value) { return QString::number(value, 'g', 5); }

} // namespace

/// The loss of each step, and the validation loss at the end of each epoch.
class LossPlot : public QCustomPlot {
public:
    LossPlot() : m_loss(addGraph()), m_validation(addGraph()) {
        setObjectName(QStringLiteral("lossPlot"));
        setAccessibleName(TrainingPanel::tr("Loss over the steps"));
        setFocusPolicy(Qt::StrongFocus);
        setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
        axisRect()->setRangeDrag(Qt::Horizontal);
        axisRect()->setRangeZoom(Qt::Horizontal);
        axisRect()->setMinimumMargins(QMargins(56, 12, 16, 4));
        xAxis->setLabel(TrainingPanel::tr("step"));
        m_loss->setName(TrainingPanel::tr("Loss"));
        m_validation->setName(TrainingPanel::tr("Validation loss"));
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

    void restart() {
        m_loss->data()->clear();
        m_validation->data()->clear();
        m_shown = 0;
        m_isFollowing = true;
    }

    /// Every point is added once, and none is left out.
    void update(const std::vector<double>& losses, const TrainingRecord& record) {
        if (losses.size() < m_shown || std::size_t(m_validation->dataCount()) > record.epochs.size())
            restart();
        for (; m_shown < losses.size(); ++m_shown) m_loss->addData(double(m_shown + 1), losses[m_shown]);
        for (std::size_t i = std::size_t(m_validation->dataCount()); i < record.epochs.size(); ++i)
            m_validation->addData(double(record.epochs[i].steps),
                                  record.epochs[i].validationLoss.value_or(std::nan("")));
        const bool hasValidation = !record.epochs.empty() && record.epochs.front().validationLoss;
        m_validation->setVisible(hasValidation);
        if (hasValidation != m_hasValidation) {
            m_hasValidation = hasValidation;
            if (hasValidation)
                m_validation->addToLegend();
            else
                m_validation->removeFromLegend();
        }
        fit();
    }

    void setLogarithmic(bool isLogarithmic) {
        yAxis->setScaleType(isLogarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        if (isLogarithmic)
            yAxis->setTicker(QSharedPointer<FigureTicker<DecadeTicker>>::create());
        else
            yAxis->setTicker(QSharedPointer<FigureTicker<QCPAxisTicker>>::create());
        fit();
    }

    void style() {
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
        xAxis->grid()->setVisible(false);
        xAxis->setTicker(QSharedPointer<WholeTicker>::create());
        xAxis->setNumberPrecision(0);
        yAxis->setNumberPrecision(2);
        legend->setBrush(theme.panel);
        legend->setBorderPen(Qt::NoPen);
        legend->setFont(twb::font(TextRole::small));
        legend->setTextColor(theme.secondaryText);
        m_loss->setPen(QPen(theme.series(0), 1));
        m_validation->setPen(QPen(theme.series(1), 1));
        m_validation->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssDiamond, theme.panel, theme.series(1), 8));
        setLogarithmic(yAxis->scaleType() == QCPAxis::stLogarithmic);
    }

private:
    void fit() {
        if (m_isFollowing) xAxis->setRange(0, double(std::max<std::size_t>(m_shown, 1)) * 1.02);
        bool found = false;
        const bool isLogarithmic = yAxis->scaleType() == QCPAxis::stLogarithmic;
        const QCP::SignDomain domain = isLogarithmic ? QCP::sdPositive : QCP::sdBoth;
        QCPRange range = m_loss->getValueRange(found, domain, xAxis->range());
        bool alsoFound = false;
        const QCPRange other = m_validation->getValueRange(alsoFound, domain, xAxis->range());
        if (alsoFound) range = found ? range.expanded(other) : other;
        if (found || alsoFound) {
            if (isLogarithmic)
                yAxis->setRange(range.lower / 1.2, range.upper * 1.2);
            else
                yAxis->setRange(std::min(0.0, range.lower), range.upper * 1.06 + (range.upper == 0 ? 1 : 0));
        }
        replot(QCustomPlot::rpQueuedReplot);
    }

    QCPGraph* m_loss;
    QCPGraph* m_validation;
    std::size_t m_shown = 0;
    bool m_isFollowing = true;
    bool m_hasValidation = true;
};

TrainingPanel::TrainingPanel(Document& document, TrainingRun& training, QWidget* parent)
    : QWidget(parent), m_document(document), m_training(training), m_plot(new LossPlot),
      m_facts(new FactRows), m_empty(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_learn(new QPushButton(tr("Make it learn…"))), m_controls(makeControls()) {
    setObjectName(QStringLiteral("trainingPanel"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_learn->setObjectName(QStringLiteral("learn"));
    connect(m_learn, &QPushButton::clicked, this, &TrainingPanel::learnRequested);
    auto* empty = new QWidget;
    auto* emptyLayout = new QVBoxLayout(empty);
    emptyLayout->addStretch(1);
    emptyLayout->addWidget(m_empty);
    emptyLayout->addWidget(m_learn, 0, Qt::AlignHCenter);
    emptyLayout->addStretch(1);

    auto* course = new QWidget;
    auto* layout = new QHBoxLayout(course);
    layout->setContentsMargins(0, 8, 0, 8);
    layout->setSpacing(0);
    layout->addWidget(m_plot, 1);
    auto* side = new QWidget;
    side->setFixedWidth(kFactsWidth);
    auto* sideLayout = new QVBoxLayout(side);
    sideLayout->setContentsMargins(8, 4, 16, 4);
    sideLayout->addWidget(m_facts);
    sideLayout->addStretch(1);
    layout->addWidget(side);

    m_pages = new QStackedLayout(this);
    m_pages->addWidget(empty);
    m_pages->addWidget(course);
    connect(&m_training, &TrainingRun::started, this, [this] { m_plot->restart(); });
    connect(&m_training, &TrainingRun::progressed, this, &TrainingPanel::refresh);
    connect(&m_training, &TrainingRun::stateChanged, this, &TrainingPanel::refresh);
    connect(&m_document, &Document::changed, this, &TrainingPanel::refreshControls);
    connect(&m_document, &Document::reset, this, &TrainingPanel::refresh);
    refresh();
}

QWidget* TrainingPanel::makeControls() {
    auto* box = new QWidget(this);
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(2);
    const auto segment = [&](const QString& text, const QString& name, const QString& what) {
        auto* button = new QPushButton(text);
        button->setProperty("role", QStringLiteral("segment"));
        button->setToolTip(what);
        button->setAccessibleName(what);
        button->setObjectName(name);
        layout->addWidget(button);
        return button;
    };
    m_epochs = new QSpinBox;
    m_epochs->setObjectName(QStringLiteral("epochs"));
    m_epochs->setRange(1, 1000000);
    m_epochs->setValue(10);
    m_epochs->setPrefix(tr("Epochs: "));
    m_epochs->setAccessibleName(tr("Epochs"));
    m_epochs->setToolTip(tr("Passes over the data"));
    layout->addWidget(m_epochs);
    layout->addSpacing(8);
    m_go =
        segment(tr("Train"), QStringLiteral("train"), tr("Train the parameters from their initial values"));
    m_stop = segment(tr("Stop"), QStringLiteral("stopTraining"), tr("Stop the training"));
    m_log = segment(tr("Log"), QStringLiteral("logAxis"), tr("Plot the loss on a logarithmic axis"));
    m_log->setCheckable(true);
    auto* more = segment(QStringLiteral("•••"), QStringLiteral("trainingMenu"), tr("Export"));
    auto* menu = new QMenu(more);
    m_weights = menu->addAction(tr("Export weights…"), this, &TrainingPanel::exportWeights);
    menu->addAction(tr("Export CSV…"), this, &TrainingPanel::exportCsv);
    menu->addAction(tr("Export plot…"), this, &TrainingPanel::exportPicture);
    more->setMenu(menu);
    connect(m_go, &QPushButton::clicked, this, &TrainingPanel::toggle);
    connect(m_stop, &QPushButton::clicked, &m_training, &TrainingRun::stop);
    connect(m_log, &QPushButton::toggled, this, [this](bool on) { m_plot->setLogarithmic(on); });
    return box;
}

void TrainingPanel::toggle() {
    switch (m_training.state()) {
    case TrainingRun::State::running:
        return m_training.pause();
    case TrainingRun::State::paused:
        return m_training.resume();
    case TrainingRun::State::idle:
    case TrainingRun::State::failed:
        break;
    }
    try {
        SessionOptions options;
        options.epochs = m_epochs->value();
        m_training.start(options);
    } catch (const Error& e) {
        Q_EMIT failed(tr("Cannot train the graph"), toQt(e.what()));
    }
}

void TrainingPanel::refresh() {
    refreshControls();
    if (!isVisible()) return;
    m_plot->update(m_training.losses(), m_training.record());
    refreshFacts();
}

void TrainingPanel::refreshControls() {
    using State = TrainingRun::State;
    const State state = m_training.state();
    const bool learns = trainingOf(m_document.graph()).has_value();
    const bool isActive = state == State::running || state == State::paused;
    const bool hasCourse = isActive || !m_training.losses().empty() || state == State::failed;
    m_go->setText(state == State::running  ? tr("Pause")
                  : state == State::paused ? tr("Resume")
                                           : tr("Train"));
    const QString what = state == State::running  ? tr("Pause the training")
                         : state == State::paused ? tr("Resume the training")
                                                  : tr("Train the parameters from their initial values");
    m_go->setToolTip(what);
    m_go->setAccessibleName(what);
    m_go->setEnabled(learns || isActive);
    m_stop->setEnabled(isActive);
    m_epochs->setEnabled(!isActive);
    m_weights->setEnabled(m_training.hasParameters());
    m_pages->setCurrentIndex(hasCourse ? 1 : 0);
    m_learn->setVisible(!learns);
    m_empty->setText(learns ? tr("This graph has a training. Choose Train to start it.")
                            : tr("This graph has no training. Choose a loss and an optimizer first."));
}

void TrainingPanel::refreshFacts() {
    const TrainingRecord& record = m_training.record();
    const TrainingPlace& place = m_training.place();
    std::vector<FactRows::Row> rows;
    const auto add = [&](const QString& name, const QString& value) { rows.emplace_back(name, value); };
    const std::int64_t epoch = std::min(place.epoch + 1, m_training.epochs());
    add(tr("Epoch"), tr("%1 of %2").arg(grouped(epoch), grouped(m_training.epochs())));
    add(tr("Step"), grouped(place.steps));
    if (!m_training.losses().empty()) add(tr("Loss"), figure(m_training.losses().back()));
    if (!record.epochs.empty()) {
        const EpochRecord& last = record.epochs.back();
        if (last.validationLoss) add(tr("Validation loss"), figure(*last.validationLoss));
        if (last.accuracy) add(tr("Validation accuracy"), tr("%1 %").arg(100 * *last.accuracy, 0, 'f', 2));
        if (last.rate) add(tr("Learning rate"), figure(*last.rate));
        if (last.rows > 0 && last.seconds > 0)
            add(m_training.isModelled() ? tr("Samples/s, modelled") : tr("Samples/s"),
                grouped(std::int64_t(double(last.rows) / last.seconds)));
        const EpochRecord& best = *bestEpoch(record, m_training.metric());
        if (const auto value = valueOf(best, m_training.metric())) {
            add(tr("Best epoch"), grouped(best.epoch));
            add(tr("Best %1").arg(toQt(name(m_training.metric()))),
                m_training.metric() == Metric::accuracy ? tr("%1 %").arg(100 * *value, 0, 'f', 2)
                                                        : figure(*value));
        }
    }
    if (!m_training.error().isEmpty()) add(tr("Error"), m_training.error());
    m_facts->setRows(rows);
}

void TrainingPanel::write(const QString& title, const QString& filter, const QString& suffix,
                          const std::function<void(const QString&)>& content) {
    const QString name = QFileInfo(m_document.title()).completeBaseName() + suffix;
    const QString path = askForPath(this, title, QDir(m_document.folder()).filePath(name), {filter});
    if (path.isEmpty()) return;
    try {
        m_document.checkTarget(path);
        content(path);
    } catch (const Error& e) {
        Q_EMIT failed(title, toQt(e.what()));
    }
}

void TrainingPanel::exportWeights() {
    write(tr("Export weights"), tr("Safetensors (*.safetensors)"), QStringLiteral(".safetensors"),
          [this](const QString& path) { saveWeights(path.toStdString(), m_training.parameters()); });
}

void TrainingPanel::exportCsv() {
    write(tr("Export the training history"), tr("CSV (*.csv)"), QStringLiteral("-training.csv"),
          [this](const QString& path) {
              const QByteArray text = csv();
              writeFileAtomically(path.toStdString(), {text.data(), std::size_t(text.size())});
          });
}

void TrainingPanel::exportPicture() {
    write(tr("Export the plot"), tr("Images (*.png)"), QStringLiteral("-training.png"),
          [this](const QString& path) {
              if (!savePicture(path))
                  throw Error(ErrorCode::io, tr("%1 cannot be written").arg(path).toStdString());
          });
}

QByteArray TrainingPanel::csv() const {
    QByteArray out = "step,loss,epoch,validation_loss,accuracy,lr\n";
    const std::vector<EpochRecord>& epochs = m_training.record().epochs;
    std::size_t next = 0;
    const auto number = [](double value) { return QByteArray::number(value, 'g', 17); };
    for (std::size_t i = 0; i < m_training.losses().size(); ++i) {
        out += QByteArray::number(qlonglong(i + 1)) + ',' + number(m_training.losses()[i]);
        if (next < epochs.size() && epochs[next].steps == std::int64_t(i + 1)) {
            const EpochRecord& epoch = epochs[next++];
            out += ',' + QByteArray::number(qlonglong(epoch.epoch));
            for (const std::optional<double>& value : {epoch.validationLoss, epoch.accuracy, epoch.rate})
                out += ',' + (value ? number(*value) : QByteArray());
        } else {
            out += ",,,,";
        }
        out += '\n';
    }
    return out;
}

bool TrainingPanel::savePicture(const QString& path) const { return m_plot->savePng(path, 0, 0, 2); }

void TrainingPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_plot->style();
}

void TrainingPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
