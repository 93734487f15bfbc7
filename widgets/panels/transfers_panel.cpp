#include "widgets/panels/transfers_panel.h"

#include "profile/report.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/labels.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/text.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kLedgerWidth = 504;
constexpr int kLeastLedgerWidth = 320;
constexpr int kRowHeight = 24;

/// The mark of the curve, the name or the figure, and the selection as one wash over the whole row.
class LedgerDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        painter->save();
        if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, selectionWash());
        QRect room = option.rect.adjusted(8, 0, -8, 0);
        const bool dim = index.data(LedgerModel::kDimRole).toBool();
        if (const QVariant color = index.data(Qt::DecorationRole); color.isValid()) {
            painter->setRenderHint(QPainter::Antialiasing);
            painter->setPen(QPen(color.value<QColor>(), 1.5));
            painter->setBrush(dim ? QBrush(Qt::NoBrush) : QBrush(color.value<QColor>()));
            const QPointF at(room.left() + 4, room.center().y() + 0.5);
            painter->translate(at);
            painter->drawPath(seriesMark(index.data(LedgerModel::kMarkRole).toUInt()));
            painter->translate(-at);
            room.setLeft(room.left() + 16);
        }
        painter->setFont(index.data(Qt::FontRole).value<QFont>());
        painter->setPen(dim ? theme.secondaryText : theme.text);
        drawElided(*painter, room, index.data(Qt::TextAlignmentRole).toInt(), index.data().toString(),
                   Qt::ElideMiddle);
        painter->restore();
    }
};

} // namespace

TransfersPanel::TransfersPanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_model(new LedgerModel(document, runs, this)),
      m_plot(new TransferPlot), m_table(new QTableView), m_sums(new FactRows),
      m_modelled(makeLabel(tr("MODELLED"), TextRole::capsLabel, QStringLiteral("modelled"))),
      m_empty(makeLabel({}, TextRole::body, QStringLiteral("secondary"))), m_units(makeUnits()) {
    m_empty->setAlignment(Qt::AlignCenter);
    auto* left = new QWidget;
    auto* stack = new QStackedLayout(left);
    stack->addWidget(m_plot);
    stack->addWidget(m_empty);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 8, 0, 8);
    layout->setSpacing(0);
    layout->addWidget(left, 1);
    layout->addWidget(makeLedger(), 1);

    connect(&m_runs, &RunController::started, this, &TransfersPanel::runStarted);
    connect(&m_runs, &RunController::frame, this, &TransfersPanel::refresh);
    connect(&m_runs, &RunController::stateChanged, this, &TransfersPanel::refresh);
    connect(&m_document, &Document::selectionChanged, this, &TransfersPanel::followSelection);
    connect(m_table, &QTableView::clicked, this,
            [this](const QModelIndex& index) { selectRow(index.row()); });
    connect(m_plot, &TransferPlot::curveClicked, this, &TransfersPanel::selectRow);
    refresh();
}

QWidget* TransfersPanel::makeUnits() {
    auto* box = new QWidget(this);
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(4);
    auto* group = new QButtonGroup(box);
    const std::pair<QString, QString> units[] = {
        {tr("ms"), tr("Plot the time of each transfer")},
        {tr("GB/s"), tr("Plot the rate of each transfer")},
        {tr("share"), tr("Plot each transfer's share of the transfer time")}};
    for (int i = 0; i < 3; ++i) {
        auto* button = new QPushButton(units[i].first);
        button->setProperty("role", QStringLiteral("segment"));
        button->setCheckable(true);
        button->setChecked(i == 0);
        button->setToolTip(units[i].second);
        button->setAccessibleName(units[i].second);
        group->addButton(button, i);
        layout->addWidget(button);
    }
    connect(group, &QButtonGroup::idClicked, this,
            [this](int id) { m_plot->setUnit(TransferPlot::Unit(id)); });
    return box;
}

QWidget* TransfersPanel::makeLedger() {
    m_table->setObjectName(QStringLiteral("ledgerTable"));
    m_table->setAccessibleName(tr("Ledger: what each transfer costs"));
    m_table->setModel(m_model);
    m_table->setItemDelegate(new LedgerDelegate(m_table));
    m_table->setShowGrid(false);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setMinimumSectionSize(40);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->horizontalHeader()->setSectionResizeMode(LedgerModel::EdgeColumn, QHeaderView::Stretch);
    const int widths[] = {0, 64, 96, 64, 52};
    for (int column = 1; column < LedgerModel::ColumnCount; ++column)
        m_table->setColumnWidth(column, widths[column]);

    auto* box = new QWidget;
    box->setMinimumWidth(kLeastLedgerWidth);
    box->setMaximumWidth(kLedgerWidth);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 12, 0);
    layout->setSpacing(8);
    layout->addWidget(m_table, 1);
    layout->addWidget(makeLine());
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(8, 0, 8, 0);
    foot->setSpacing(4);
    foot->addWidget(m_sums);
    foot->addWidget(m_modelled, 0, Qt::AlignLeft);
    layout->addLayout(foot);
    layout->addStretch();
    return box;
}

void TransfersPanel::runStarted() {
    m_begun = false;
    refresh();
}

void TransfersPanel::refresh() {
    // A hidden panel leaves its points where they are until somebody looks.
    if (!isVisible()) return;
    m_model->refresh();
    const bool none = m_model->rows().empty();
    auto* stack = qobject_cast<QStackedLayout*>(m_plot->parentWidget()->layout());
    m_empty->setText(none ? tr("No tensor crosses lanes, so nothing is transferred.")
                          : tr("Run the graph to plot what each transfer takes."));
    stack->setCurrentWidget(none || !m_runs.figures() ? static_cast<QWidget*>(m_empty) : m_plot);
    if (RunFigures* figures = m_runs.liveFigures()) {
        if (!m_begun) m_plot->begin(m_model->rows(), m_runs.total(), figures->cell());
        m_begun = true;
        m_plot->append(figures->takeSamples());
    } else if (m_begun) {
        m_begun = false;
        m_plot->clearCurves();
    }
    m_plot->refresh();
    refreshSums();
    followSelection();
}

void TransfersPanel::refreshSums() {
    double ns = 0;
    double predictedNs = 0;
    double bytes = 0;
    bool modelled = false;
    for (const LedgerModel::Row& row : m_model->rows()) {
        modelled |= row.modelled;
        if (row.setup) continue;
        ns += row.medianNs;
        predictedNs += row.predictedNs;
        bytes += row.bytes;
    }
    const QString dot = QStringLiteral(" · ");
    std::vector<FactRows::Row> rows{
        {tr("per iteration"), toQt(formatMs(ns)) + dot + toQt(formatBytes(bytes))}};
    const std::optional<RunResult>& result = m_runs.result();
    if (result && result->iterations > 0 && m_runs.figures()) {
        const bool isVirtual = m_runs.figures()->plan().virtualClock;
        const double iteration =
            double(isVirtual ? result->clockNs : result->wallNs) / double(result->iterations);
        // Copies overlap with kernels and each other: their times may add up to more than the iteration.
        if (iteration > 0)
            rows.push_back({tr("time of copies / iteration"),
                            QStringLiteral("%1 %").arg(QString::number(100 * ns / iteration, 'f', 0))});
    }
    if (predictedNs > 0 && ns > 0 && result) {
        const auto off = qRound(100 * (ns / predictedNs - 1));
        const QString sign = off > 0   ? QStringLiteral("+")
                             : off < 0 ? QStringLiteral("−")
                                       : QStringLiteral("±");
        rows.push_back({tr("against the prediction"), QStringLiteral("%1%2 %").arg(sign).arg(std::abs(off))});
    }
    m_sums->setRows(rows);
    m_modelled->setVisible(modelled && !m_model->rows().empty());
    QTimer::singleShot(0, this, &TransfersPanel::fitRows); // once the layout knows
}

/// The table is as high as its whole rows: none is cut in two.
void TransfersPanel::fitRows() {
    const QRect room = m_table->parentWidget()->contentsRect();
    const int foot = m_modelled->isVisible() ? m_modelled->geometry().bottom() : m_sums->geometry().bottom();
    const int spare = room.bottom() - foot;
    const int header = m_table->horizontalHeader()->height();
    const int rows = (m_table->height() + spare - header) / kRowHeight;
    m_table->setMaximumHeight(header + std::max(rows, 1) * kRowHeight);
}

void TransfersPanel::followSelection() {
    const std::optional<Edge>& edge = m_document.selection().edge;
    const int row = edge ? m_model->rowOf(*edge) : -1;
    if (row >= 0)
        m_table->selectRow(row);
    else
        m_table->clearSelection();
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

void TransfersPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    // An edge's name says more than its bytes, which the edge shows on the canvas.
    m_table->setColumnHidden(LedgerModel::BytesColumn, width() < 2 * kLedgerWidth);
    QTimer::singleShot(0, this, &TransfersPanel::fitRows);
}

void TransfersPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
