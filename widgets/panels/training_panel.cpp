#include "widgets/panels/training_panel.h"

#include "core/error.h"
#include "formats/project.h"
#include "widgets/ask_for_path.h"
#include "widgets/engine_words.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/labels.h"
#include "widgets/panels/heat_table.h"
#include "widgets/panels/loss_plot.h"
#include "widgets/panels/plot_table.h"
#include "widgets/panels/training_csv.h"
#include "widgets/panels/training_tables.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QComboBox>
#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStackedLayout>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twb {
namespace {

constexpr int kEpochs = 112;    ///< px
constexpr int kLeastSide = 240; ///< px
constexpr int kMostSide = 352;
constexpr int kBesideRun = 84;         ///< its check box, its line and the margins
constexpr int kRadii[] = {5, 25, 100}; ///< of the means that smooth the loss, in steps

/// The best epoch of a run in a line of its own.
QString twoLines(const QString& text) {
    const qsizetype at = text.lastIndexOf(QStringLiteral(" · "));
    return text.left(at) + QLatin1Char('\n') + text.mid(at + 3);
}

QIcon lineIcon(const QColor& color, double width, double ratio) {
    QPixmap picture(QSize(16, 16) * ratio);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.fillRect(QRectF(0, 8 - width / 2, 16, width), color);
    return picture;
}

} // namespace

TrainingPanel::TrainingPanel(Document& document, TrainingRun& training, QWidget* parent)
    : QWidget(parent), m_document(document), m_training(training), m_plot(new LossPlot),
      m_parameters(new ParameterTable(this)), m_confusion(new ConfusionTable(this)),
      m_left(new QStackedWidget), m_message(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_runs(new QListWidget), m_scale(new HeatScale), m_updateScale(new HeatScale(HeatHue::blue)),
      m_cell(makeLabel({}, TextRole::smallFigure, QStringLiteral("secondary"))),
      m_caption(makeLabel({}, TextRole::body, QStringLiteral("secondary"))), m_facts(new FactRows),
      m_side(new QScrollArea), m_empty(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_learn(new QPushButton(tr("Add training…"))), m_controls(makeControls()) {
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

    new PlotTable(*m_plot, [this] { return trainingValues(runsOf(false)); });
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setWordWrap(true);
    m_left->addWidget(m_plot);
    const auto addTable = [this](HeatTable* table, const QString& object, const QString& name) {
        table->setObjectName(object);
        table->setAccessibleName(name);
        connect(table, &HeatTable::described, this, [this](const QString& text) {
            m_cell->setText(text);
            m_cell->show();
        });
        auto* page = new QWidget;
        auto* layout = new QVBoxLayout(page);
        layout->setContentsMargins(16, 0, 0, 0);
        layout->addWidget(table);
        m_left->addWidget(page);
    };
    addTable(new HeatTable(*m_parameters, {.followsEnd = true, .rowsPerGroup = ParameterTable::kQuantities}),
             QStringLiteral("parameterTable"), tr("Gradients and updates of the parameters over the epochs"));
    addTable(new HeatTable(*m_confusion, {}), QStringLiteral("confusionTable"),
             tr("Confusion matrix: validation rows by label and prediction"));
    m_left->addWidget(m_message);

    auto* course = new QWidget;
    auto* layout = new QHBoxLayout(course);
    layout->setContentsMargins(0, 8, 0, 8);
    layout->setSpacing(0);
    layout->addWidget(m_left, 1);
    layout->addWidget(makeSide());

    m_pages = new QStackedLayout(this);
    m_pages->addWidget(empty);
    m_pages->addWidget(course);
    connect(&m_training, &TrainingRun::started, this, [this] {
        m_plot->restart();
        m_cell->clear();
    });
    connect(&m_training, &TrainingRun::progressed, this, &TrainingPanel::refresh);
    connect(&m_training, &TrainingRun::stateChanged, this, &TrainingPanel::refresh);
    connect(&m_document, &Document::changed, this, &TrainingPanel::refreshControls);
    connect(&m_document, &Document::reset, this, &TrainingPanel::refresh);
    refresh();
}

/// Beside the plot or the table: the runs, the smoothing, the scale of the colours, and the figures.
QWidget* TrainingPanel::makeSide() {
    m_runs->setObjectName(QStringLiteral("runs"));
    m_runs->setAccessibleName(tr("Runs in the plot"));
    m_runs->setFont(twb::font(TextRole::small));
    m_runs->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_runs->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_runs->setSelectionMode(QAbstractItemView::NoSelection);
    connect(m_runs, &QListWidget::itemChanged, this, [this] { m_plot->update(m_training, shownRuns()); });
    m_smoothing = new QComboBox;
    m_smoothing->setObjectName(QStringLiteral("smoothing"));
    m_smoothing->setProperty("role", QStringLiteral("compact"));
    m_smoothing->setAccessibleName(tr("Smoothing of the loss"));
    m_smoothing->setToolTip(tr("Draws a centred moving average on top of the loss."));
    m_smoothing->addItem(tr("Smoothing: off"), 0);
    for (const int radius : kRadii)
        m_smoothing->addItem(tr("Smoothing: %1 steps").arg(2 * radius + 1), radius);
    connect(m_smoothing, &QComboBox::currentIndexChanged, this, [this] {
        m_plot->setSmoothing(std::size_t(m_smoothing->currentData().toInt()));
        m_plot->update(m_training, shownRuns());
    });
    m_cell->setObjectName(QStringLiteral("cell"));
    m_caption->setWordWrap(true);
    auto* content = new QWidget;
    content->setProperty("surface", QStringLiteral("panel"));
    content->setAttribute(Qt::WA_StyledBackground);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(8, 4, 16, 4);
    layout->setSpacing(8);
    for (QWidget* widget :
         {static_cast<QWidget*>(m_runs), static_cast<QWidget*>(m_smoothing), static_cast<QWidget*>(m_caption),
          static_cast<QWidget*>(m_scale), static_cast<QWidget*>(m_updateScale), static_cast<QWidget*>(m_cell),
          static_cast<QWidget*>(m_facts)})
        layout->addWidget(widget);
    layout->addStretch(1);
    m_side->setWidget(content);
    m_side->setWidgetResizable(true);
    m_side->setFrameShape(QFrame::NoFrame);
    m_side->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    return m_side;
}

QWidget* TrainingPanel::makeControls() {
    auto* box = new QWidget(this);
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(2);
    const auto segment = [&](const QString& text, const QString& name, const QString& what) {
        QPushButton* button = makeSegment(text, what);
        button->setObjectName(name);
        layout->addWidget(button);
        return button;
    };
    const auto command = [&](const QString& text, const QString& name, const QString& what) {
        QPushButton* button = segment(text, name, what);
        button->setProperty("role", QStringLiteral("compact"));
        layout->addSpacing(6);
        return button;
    };
    m_epochs = new QSpinBox;
    m_epochs->setObjectName(QStringLiteral("epochs"));
    m_epochs->setProperty("role", QStringLiteral("compact"));
    m_epochs->setFixedWidth(kEpochs);
    m_epochs->setRange(1, 1000000);
    m_epochs->setValue(10);
    m_epochs->setPrefix(tr("Epochs: "));
    m_epochs->setAccessibleName(tr("Epochs"));
    m_epochs->setToolTip(tr("Sets the number of passes over the data."));
    layout->addWidget(m_epochs);
    layout->addSpacing(8);
    m_go = command(tr("Train"), QStringLiteral("train"),
                   tr("Starts a training run from the initial parameter values."));
    m_stop = command(tr("Stop"), QStringLiteral("stopTraining"),
                     tr("Stops the training run. You can export the weights until the next run starts."));
    m_views = new QComboBox;
    m_views->setObjectName(QStringLiteral("trainingView"));
    m_views->setProperty("role", QStringLiteral("compact"));
    m_views->setAccessibleName(tr("View of the training run"));
    const std::pair<QString, QString> views[] = {
        {tr("Loss"), tr("Plots the loss of each step.")},
        {tr("Parameters"), tr("Lists the gradient norm and the update-to-weight ratio of each parameter.")},
        {tr("Confusion"), tr("Counts the validation rows by label and prediction.")}};
    for (const auto& [text, what] : views) {
        m_views->addItem(text);
        m_views->setItemData(m_views->count() - 1, what, Qt::ToolTipRole);
    }
    connect(m_views, &QComboBox::currentIndexChanged, this, [this] {
        m_cell->clear();
        refresh();
    });
    layout->addWidget(m_views);
    m_log = segment(tr("Log axis"), QStringLiteral("logAxis"), tr("Plots the loss on a logarithmic axis."));
    m_log->setCheckable(true);
    auto* more = segment(QStringLiteral("•••"), QStringLiteral("trainingMenu"),
                         tr("Opens the export and history menu."));
    auto* menu = new QMenu(more);
    m_weights = menu->addAction(tr("Export weights…"), this, &TrainingPanel::exportWeights);
    menu->addAction(tr("Export CSV…"), this, &TrainingPanel::exportCsv);
    menu->addAction(tr("Export plot…"), this, &TrainingPanel::exportPicture);
    menu->addSeparator();
    m_clear = menu->addAction(tr("Clear earlier runs"), &m_training, &TrainingRun::clearEarlier);
    more->setMenu(menu);
    // The controls stay at the left end: as a corner widget below the tabs they are as wide as the tab bar.
    layout->addStretch(1);
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

TrainingPanel::View TrainingPanel::view() const { return View(m_views->currentIndex()); }

void TrainingPanel::refresh() {
    refreshControls();
    if (!isVisible()) return;
    refreshRuns();
    m_plot->update(m_training, shownRuns());
    refreshView();
    refreshFacts();
}

/// The current run and, once there are some, the earlier ones, with the colours of their curves.
void TrainingPanel::refreshRuns() {
    const std::vector<TrainingCourse>& earlier = m_training.earlier();
    const QSignalBlocker blocker(m_runs);
    const int rows = earlier.empty() ? 0 : int(earlier.size()) + 1;
    // Row 0 is the current run, the last row the first one.
    const int first = rows == 0 ? 0 : m_runs->count() > rows ? 0 : m_runs->count();
    if (first == 0) m_runs->clear();
    while (m_runs->count() < rows) {
        auto* item = new QListWidgetItem;
        item->setCheckState(Qt::Checked);
        m_runs->insertItem(m_runs->count() > 0 ? 1 : 0, item);
    }
    const auto indexOf = [&](int row) {
        return row == 0 ? std::nullopt : std::optional(earlier.size() - std::size_t(row));
    };
    const auto textOf = [&](int row) {
        return row == 0 ? m_training.course().text() : earlier[*indexOf(row)].text();
    };
    QFont bold = twb::font(TextRole::small);
    bold.setBold(true);
    bool hasRoom = true;
    for (int row = 0; row < rows; ++row)
        hasRoom =
            hasRoom && QFontMetrics(bold).horizontalAdvance(textOf(row)) + kBesideRun <= m_side->width();
    for (int row = 0; row < rows; ++row) {
        QListWidgetItem& item = *m_runs->item(row);
        const QString text = textOf(row);
        item.setFlags(row == 0 ? Qt::ItemIsEnabled : Qt::ItemIsEnabled | Qt::ItemIsUserCheckable);
        item.setText(hasRoom ? text : twoLines(text));
        item.setToolTip(text);
        item.setIcon(lineIcon(LossPlot::colorOf(indexOf(row)), row == 0 ? 3 : 1.5, devicePixelRatioF()));
        item.setFont(row == 0 ? bold : twb::font(TextRole::small));
    }
    if (rows > 0) m_runs->setFixedHeight(rows * m_runs->sizeHintForRow(0) + 2);
    m_clear->setEnabled(rows > 0);
}

std::vector<bool> TrainingPanel::shownRuns() const {
    std::vector<bool> out;
    for (int row = m_runs->count() - 1; row > 0; --row)
        out.push_back(m_runs->item(row)->checkState() == Qt::Checked);
    return out;
}

/// Oldest first; those in the plot, or all.
std::vector<const TrainingCourse*> TrainingPanel::runsOf(bool all) const {
    std::vector<const TrainingCourse*> out;
    const std::vector<bool> shown = shownRuns();
    for (std::size_t i = 0; i < m_training.earlier().size(); ++i)
        if (all || (i < shown.size() && shown[i])) out.push_back(&m_training.earlier()[i]);
    out.push_back(&m_training.course());
    return out;
}

void TrainingPanel::refreshView() {
    const TrainingRecord& record = m_training.course().record;
    m_parameters->setEpochs(record.epochs);
    m_confusion->setMatrix(record.confusion);
    const bool hasTable = view() == ParameterView   ? m_parameters->rowCount() > 0
                          : view() == ConfusionView ? m_confusion->rowCount() > 0
                                                    : true;
    m_message->setText(record.epochs.empty()     ? tr("The table is shown after the first epoch.")
                       : view() == ParameterView ? tr("No parameter is trained.")
                                                 : tr("A confusion matrix needs validation rows and a "
                                                      "cross-entropy loss with at most %1 classes.")
                                                       .arg(ConfusionMatrix::kMostClasses));
    m_left->setCurrentIndex(hasTable ? view() : NoView);
    m_runs->setVisible(view() == LossView && m_runs->count() > 0);
    const auto gradients = m_parameters->decades(ParameterTable::Quantity::gradientNorm);
    const auto updates = m_parameters->decades(ParameterTable::Quantity::updateRatio);
    m_scale->setVisible(hasTable && (view() == ConfusionView || (view() == ParameterView && gradients)));
    m_updateScale->setVisible(hasTable && view() == ParameterView && updates);
    m_cell->setVisible(hasTable && view() != LossView && !m_cell->text().isEmpty());
    m_caption->setVisible(hasTable && view() == ConfusionView);
    m_log->setVisible(view() == LossView);
    m_smoothing->setVisible(view() == LossView);
    const auto setDecades = [](HeatScale& scale, const QString& title, std::pair<int, int> decades) {
        scale.setEnds(title, compact(std::pow(10, decades.first)), compact(std::pow(10, decades.second)));
    };
    if (view() == ParameterView && gradients)
        setDecades(*m_scale, tr("Gradient norm, logarithmic"), *gradients);
    if (view() == ParameterView && updates)
        setDecades(*m_updateScale, tr("Update-to-weight ratio, logarithmic"), *updates);
    if (view() == ConfusionView) {
        m_scale->setEnds(tr("Share of rows with this label"), QStringLiteral("0 %"), QStringLiteral("100 %"));
        m_caption->setText(tr("Validation after epoch %1. Each row is a label, each column a prediction.")
                               .arg(grouped(qint64(record.epochs.size()))));
    }
}

void TrainingPanel::refreshControls() {
    using State = TrainingRun::State;
    const State state = m_training.state();
    const bool learns = trainingOf(m_document.graph()).has_value();
    const bool isActive = state == State::running || state == State::paused;
    const bool hasCourse = isActive || m_training.course().number > 0 || state == State::failed;
    m_go->setText(state == State::running  ? tr("Pause")
                  : state == State::paused ? tr("Resume")
                                           : tr("Train"));
    const QString what = state == State::running ? tr("Pauses the training run.")
                         : state == State::paused
                             ? tr("Resumes the training run.")
                             : tr("Starts a training run from the initial parameter values.");
    m_go->setToolTip(what);
    m_go->setEnabled(learns || isActive);
    m_stop->setEnabled(isActive);
    m_epochs->setEnabled(!isActive);
    m_weights->setEnabled(m_training.hasParameters());
    m_pages->setCurrentIndex(hasCourse ? 1 : 0);
    m_learn->setVisible(!learns);
    m_empty->setText(learns ? tr("Choose Train to start training.")
                            : tr("Add a training module to train this graph."));
}

void TrainingPanel::refreshFacts() {
    const auto& [number, title, losses, record, metric] = m_training.course();
    const TrainingPlace& place = m_training.place();
    std::vector<FactRows::Row> rows;
    const auto add = [&](const QString& name, const QString& value) { rows.emplace_back(name, value); };
    const std::int64_t epoch = std::min(place.epoch + 1, m_training.epochs());
    add(tr("Epoch"), tr("%1 of %2").arg(grouped(epoch), grouped(m_training.epochs())));
    add(tr("Step"), grouped(place.steps));
    if (!losses.empty()) add(tr("Loss"), metricText(Metric::loss, losses.back()));
    if (!record.epochs.empty()) {
        const EpochRecord& last = record.epochs.back();
        if (last.validationLoss)
            add(tr("Validation loss"), metricText(Metric::validationLoss, *last.validationLoss));
        if (last.accuracy) add(tr("Validation accuracy"), metricText(Metric::accuracy, *last.accuracy));
        if (last.rate) add(tr("Learning rate"), compact(*last.rate, 5));
        if (last.rows > 0 && last.seconds > 0)
            add(m_training.isModelled() ? tr("Samples/s, modelled") : tr("Samples/s"),
                grouped(std::int64_t(double(last.rows) / last.seconds)));
        if (last.rows > 0 && last.seconds > 0)
            add(tr("Waiting for data"),
                tr("%1 % of the time").arg(fixed(100 * last.dataWait / last.seconds, 1)));
        const EpochRecord& best = *bestEpoch(record, metric);
        if (const auto value = valueOf(best, metric)) {
            add(tr("Best epoch"), grouped(best.epoch));
            add(tr("Best %1").arg(metricWord(metric)), metricText(metric, *value));
        }
    }
    if (!m_training.error().isEmpty()) add(tr("Error"), m_training.error());
    m_facts->setRows(rows);
}

void TrainingPanel::write(const QString& title, const QStringList& filters, const QString& suffix,
                          const std::function<void(const QString&)>& content) {
    const QString name = QFileInfo(m_document.title()).completeBaseName() + suffix;
    const QString path = askForPath(this, title, QDir(m_document.folder()).filePath(name), filters);
    if (path.isEmpty()) return;
    try {
        m_document.checkTarget(path);
        content(path);
    } catch (const Error& e) {
        Q_EMIT failed(title, toQt(e.what()));
    }
}

void TrainingPanel::exportWeights() {
    write(tr("Export weights"), {tr("Safetensors (*.safetensors)")}, QStringLiteral(".safetensors"),
          [this](const QString& path) { m_training.saveParameters(path); });
}

void TrainingPanel::exportCsv() {
    const QString endings[] = {QStringLiteral("-training.csv"), QStringLiteral("-parameters.csv"),
                               QStringLiteral("-confusion.csv")};
    write(tr("Export the training history"), {tr("CSV (*.csv)")}, endings[view()],
          [this](const QString& path) {
              const QByteArray text = csv();
              writeFileAtomically(path.toStdString(), {text.data(), std::size_t(text.size())});
          });
}

void TrainingPanel::exportPicture() {
    write(tr("Export the plot"), {tr("PNG image (*.png)"), tr("SVG drawing (*.svg)")},
          QStringLiteral("-training"), [this](const QString& path) {
              if (!savePicture(path))
                  throw Error(ErrorCode::io, tr("Cannot write %1. Choose a writable folder and a name that "
                                                "ends in .png or .svg.")
                                                 .arg(path)
                                                 .toStdString());
          });
}

QByteArray TrainingPanel::csv() const {
    const TrainingRecord& record = m_training.course().record;
    if (view() == ParameterView) return csvOf(record.epochs);
    if (view() == ConfusionView) return csvOf(record.confusion);
    return QByteArray::fromStdString(toCsv(trainingValues(runsOf(true))));
}

bool TrainingPanel::savePicture(const QString& path) const {
    m_plot->legend->setVisible(false); // the picture has one with the names of the runs
    const bool isSaved = exportPlot(*m_plot, m_plot->legendEntries(m_training),
                                    tr("Training of %1").arg(m_document.title()), path);
    m_plot->legend->setVisible(true);
    return isSaved;
}

void TrainingPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    m_plot->style();
    refreshRuns();
}

void TrainingPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    m_side->setFixedWidth(std::clamp(width() * 36 / 100, kLeastSide, kMostSide));
    refreshRuns();
}

void TrainingPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
