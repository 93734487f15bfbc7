#include "widgets/panels/transfers_panel.h"

#include "profile/report.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/labels.h"
#include "widgets/panels/export_plot.h"
#include "widgets/panels/ledger_view.h"
#include "widgets/panels/picture_drag.h"
#include "widgets/price.h"
#include "widgets/text.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QStackedLayout>
#include <QTimer>

#include <algorithm>

namespace twb {
namespace {

constexpr int kLedgerWidth = 504;
constexpr int kLeastLedgerWidth = 240;
constexpr int kRoomForUnits = 920;
constexpr int kRoomForSums = 240; ///< px, minimum height of the panel

} // namespace

TransfersPanel::TransfersPanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_model(new LedgerModel(document, runs, this)),
      m_rows(new LedgerFilter(*m_model, this)), m_plot(new TransferPlot),
      m_table(new LedgerView(*m_model, *m_rows)), m_filter(new QLineEdit), m_sums(new FactRows),
      m_modelled(makeLabel(tr("MODELLED"), TextRole::capsLabel, QStringLiteral("modelled"))),
      m_empty(makeLabel({}, TextRole::body, QStringLiteral("secondary"))), m_switches(makeSwitches()) {
    m_empty->setAlignment(Qt::AlignCenter);
    m_left = new QWidget;
    auto* stack = new QStackedLayout(m_left);
    stack->addWidget(m_plot);
    stack->addWidget(m_empty);
    new PictureDrag(*m_plot, QStringLiteral("transfers"), [this](const QString& path) {
        chooseCurves();
        return exportPlot(*m_plot, tr("Transfers of %1").arg(m_document.title()), path);
    });
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 8, 0, 8);
    layout->setSpacing(0);
    layout->addWidget(m_left, 1);
    layout->addWidget(makeLedger(), 1);

    connect(&m_runs, &RunController::started, this, &TransfersPanel::runStarted);
    connect(&m_runs, &RunController::frame, this, &TransfersPanel::refresh);
    connect(&m_runs, &RunController::stateChanged, this, &TransfersPanel::refresh);
    connect(&m_document, &Document::selectionChanged, this, &TransfersPanel::followSelection);
    connect(m_table, &LedgerView::rowChosen, this, &TransfersPanel::selectRow);
    connect(m_table, &LedgerView::curveToggled, this, &TransfersPanel::toggleCurve);
    connect(m_plot, &TransferPlot::curveClicked, this, &TransfersPanel::selectRow);
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_rows->setWords(text);
        followSelection();
    });
    refresh();
}

QWidget* TransfersPanel::makeSwitches() {
    auto* box = new QWidget(this);
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(2);
    const auto addSegment = [&](const QString& text, const QString& name) {
        QPushButton* button = makeSegment(text, name);
        layout->addWidget(button);
        return button;
    };
    m_units = new QButtonGroup(box);
    const std::pair<QString, QString> units[] = {
        {tr("ms"), tr("Plots the time of each transfer.")},
        {tr("GB/s"), tr("Plots the rate of each transfer while it copies.")},
        {tr("bytes/s"), tr("Plots each transfer's bytes per second, averaged over whole iterations.")},
        {tr("share"), tr("Plots each transfer's share of the iterations' time.")},
        {tr("sum"), tr("Plots the cumulative time of each transfer's copies.")}};
    for (int i = 0; i < 5; ++i) {
        QPushButton* button = addSegment(units[i].first, units[i].second);
        button->setCheckable(true);
        button->setChecked(i == 0);
        m_units->addButton(button, i);
    }
    connect(m_units, &QButtonGroup::idClicked, this, [this](int id) { setUnit(TransferPlot::Unit(id)); });
    layout->addSpacing(8);
    m_wholeSwitch =
        addSegment(tr("Ledger"), tr("Shows the whole ledger, with all its columns and a filter."));
    m_wholeSwitch->setObjectName(QStringLiteral("wholeLedger"));
    m_wholeSwitch->setCheckable(true);
    connect(m_wholeSwitch, &QPushButton::clicked, this, &TransfersPanel::setWhole);
    m_menuButton = addSegment(QStringLiteral("•••"), tr("Opens the plot options and the export."));
    m_menuButton->setObjectName(QStringLiteral("transferMenu"));
    return box;
}

QWidget* TransfersPanel::makeLedger() {
    m_filter->setObjectName(QStringLiteral("ledgerFilter"));
    m_filter->setAccessibleName(tr("Filter the ledger"));
    m_filter->setPlaceholderText(tr("Filter by edge, kind, memory or timing…"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(kLedgerWidth);
    m_filter->hide();
    m_foot = new QWidget;
    m_footLayout = new QBoxLayout(QBoxLayout::TopToBottom, m_foot);
    m_footLayout->setContentsMargins(8, 0, 8, 0);
    m_footLayout->setSpacing(4);
    m_footLayout->addWidget(m_sums);
    m_footLayout->addWidget(m_modelled, 0, Qt::AlignLeft | Qt::AlignVCenter);

    m_ledger = new QWidget;
    m_ledger->setMinimumWidth(kLeastLedgerWidth);
    m_ledger->setMaximumWidth(kLedgerWidth);
    auto* layout = new QVBoxLayout(m_ledger);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(8);
    auto* top = new QHBoxLayout;
    top->setContentsMargins(12, 0, 0, 0);
    top->addWidget(m_filter, 3);
    top->addStretch(1);
    layout->addLayout(top);
    layout->addWidget(m_table, 1);
    m_footLine = makeLine();
    layout->addWidget(m_footLine);
    layout->addWidget(m_foot);
    layout->addStretch();
    return m_ledger;
}

void TransfersPanel::setUnit(TransferPlot::Unit unit) {
    m_units->button(int(unit))->setChecked(true);
    m_plot->setUnit(unit);
}

void TransfersPanel::setWhole(bool whole) {
    m_whole = whole;
    m_wholeSwitch->setChecked(whole);
    m_left->setVisible(!whole);
    m_filter->setVisible(whole);
    if (!whole) m_filter->clear();
    m_foot->setVisible(!whole);
    m_footLine->setVisible(!whole);
    fitColumns();
    QTimer::singleShot(0, this, &TransfersPanel::fitRows);
    refreshNow();
}

void TransfersPanel::runStarted() {
    m_begun = false;
    refresh();
}

void TransfersPanel::refresh() {
    // A hidden panel is not updated until it is shown.
    if (!isVisible()) return;
    if (m_runs.isRunning() && m_begun && !m_budget.isDue()) return;
    refreshNow();
}

void TransfersPanel::refreshNow() {
    if (!isVisible()) return;
    m_budget.begin();
    m_model->refresh();
    const bool none = m_model->rows().empty();
    auto* stack = qobject_cast<QStackedLayout*>(m_left->layout());
    m_empty->setText(none ? tr("No transfers: no tensor moves to another device.")
                          : tr("Run the graph to plot its transfers."));
    stack->setCurrentWidget(none || !m_runs.figures() ? static_cast<QWidget*>(m_empty) : m_plot);
    if (const RunFigures* figures = m_runs.figures()) {
        if (!m_begun) m_plot->begin(figures->series(), m_runs.total(), m_runs.host());
        m_begun = true;
    } else if (m_begun) {
        m_begun = false;
        m_plot->clear();
    }
    refreshSums();
    followSelection();
    m_plot->refresh();
    m_budget.end();
}

void TransfersPanel::chooseCurves() {
    const std::vector<bool>& shown = m_choice.shown(m_model->rows(), m_document.selection());
    m_model->setShown(shown);
    if (m_begun) m_plot->setRows(m_model->rows(), shown);
}

void TransfersPanel::refreshSums() {
    double ns = 0;
    double predictedNs = 0;
    double bytes = 0;
    bool modelled = false;
    for (const LedgerModel::Row& row : m_model->rows()) {
        modelled |= row.figures.modelled;
        if (row.figures.setup) continue;
        ns += row.figures.typicalNs();
        predictedNs += row.figures.predictedNs;
        bytes += row.figures.bytesPerCopy;
    }
    const QString dot = QStringLiteral(" · ");
    std::vector<FactRows::Row> rows{
        {tr("per iteration"), localized(formatMs(ns)) + dot + localized(formatBytes(bytes))}};
    const std::optional<RunResult>& result = m_runs.result();
    if (result && result->iterations > 0 && m_runs.figures()) {
        const bool isVirtual = m_runs.figures()->plan().virtualClock;
        const double iteration =
            double(isVirtual ? result->clockNs : result->wallNs) / double(result->iterations);
        // Copies overlap with kernels and with each other, so their times may add up to more than the
        // iteration.
        if (iteration > 0) rows.push_back({tr("share of the iteration"), percentage(100 * ns / iteration)});
    }
    if (predictedNs > 0 && ns > 0 && result) {
        const auto off = qRound(100 * (ns / predictedNs - 1));
        rows.push_back({tr("vs. prediction"), withSign(off, percentage(std::abs(off)))});
    }
    // In a small panel, the legend's rows have priority.
    const bool isLow = height() < kRoomForSums;
    if (isLow) rows.resize(1);
    m_footLayout->setDirection(isLow ? QBoxLayout::RightToLeft : QBoxLayout::TopToBottom);
    m_footLayout->setStretchFactor(m_sums, isLow ? 1 : 0);
    m_footLayout->setSpacing(isLow ? 16 : 4);
    m_sums->setRows(rows);
    m_modelled->setVisible(modelled && !m_model->rows().empty());
    QTimer::singleShot(0, this, &TransfersPanel::fitRows); // after the layout
}

/// Sets the table's height to a whole number of rows.
void TransfersPanel::fitRows() {
    const QRect room = m_ledger->contentsRect();
    const int ofPill = m_modelled->isVisible() ? m_modelled->geometry().bottom() : 0;
    const int foot = m_whole ? m_table->geometry().bottom() + 10
                             : m_foot->geometry().top() + std::max(m_sums->geometry().bottom(), ofPill);
    const int spare = room.bottom() - foot;
    const int header =
        m_table->horizontalHeader()->height() + (m_whole && m_table->horizontalScrollBar()->isVisible()
                                                     ? m_table->horizontalScrollBar()->height()
                                                     : 0);
    const int rows = (m_table->height() + spare - header) / LedgerView::kRowHeight;
    m_table->setMaximumHeight(header + std::max(rows, 1) * LedgerView::kRowHeight);
}

void TransfersPanel::followSelection() {
    const Selection& selection = m_document.selection();
    int row = -1;
    if (selection.edge)
        row = m_model->rowOf(*selection.edge);
    else if (selection.nodes.size() == 1)
        row = m_model->rowOf(stagingOf(*selection.nodes.begin()));
    m_table->select(row);
    if (isVisible()) chooseCurves(); // they may depend on the selection
    m_plot->setHighlighted(row);
}

void TransfersPanel::selectRow(int row) {
    const Edge& edge = m_model->rows()[std::size_t(row)].edge;
    Selection selection;
    if (edge == stagingOf(edge.from.node))
        selection.nodes = {edge.from.node};
    else
        selection.edge = edge;
    m_document.select(std::move(selection));
}

void TransfersPanel::toggleCurve(int row) {
    if (m_model->rows()[std::size_t(row)].figures.setup) return; // setup transfers have no iterations
    m_choice.toggle(m_model->rows(), std::size_t(row));
    refreshNow();
}

void TransfersPanel::fitColumns() {
    // The tabs have priority; the menu has all units.
    for (int unit = 2; unit < 5; ++unit)
        m_units->button(unit)->setVisible(width() >= kRoomForUnits || m_units->button(unit)->isChecked());
    // The names of edges have priority over bytes, which the canvas shows.
    m_table->setColumns(m_whole                      ? LedgerView::Columns::all
                        : width() < 2 * kLedgerWidth ? LedgerView::Columns::few
                                                     : LedgerView::Columns::some);
    // In a wide window, the table has room for long names of edges.
    m_ledger->setMaximumWidth(m_whole ? QWIDGETSIZE_MAX : std::max(kLedgerWidth, width() / 3));
}

void TransfersPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitColumns();
    refreshSums();
    QTimer::singleShot(0, this, &TransfersPanel::fitRows);
}

void TransfersPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refreshNow();
}

} // namespace twb
