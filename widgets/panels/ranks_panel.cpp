#include "widgets/panels/ranks_panel.h"

#include "core/format.h"
#include "widgets/labels.h"
#include "widgets/language.h"
#include "widgets/text.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twb {
namespace {

constexpr int kRankHeight = 26;
constexpr int kBarHeight = 10;
constexpr int kLeastBar = 80;

QString noFigure() { return QStringLiteral("–"); }

/// Paints the own time as a filled bar and the waiting after it as a hatched one.
class ShareDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        painter->save();
        if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, selectionWash());
        const QRectF room = QRectF(option.rect).adjusted(8, 0, -16, 0);
        const double own = index.data(RanksModel::kOwnRole).toDouble() * room.width();
        const double wait = index.data(RanksModel::kWaitRole).toDouble() * room.width();
        const double top = std::round(room.center().y() - kBarHeight / 2.0);
        const QColor color = index.data(RanksModel::kSlowestRole).toBool() ? theme.error : theme.accent;
        painter->fillRect(QRectF(room.left(), top, own, kBarHeight), color);
        const QRectF waiting(room.left() + own, top, wait, kBarHeight);
        painter->fillRect(waiting, QBrush(theme.secondaryText, Qt::BDiagPattern));
        if (wait >= 1) {
            painter->setPen(theme.secondaryText);
            painter->drawRect(waiting.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        painter->restore();
    }
};

} // namespace

void RanksModel::setRanks(const std::vector<LiveRank>& ranks) {
    const bool isOther = ranks.size() != m_ranks.size();
    if (isOther) beginResetModel();
    m_ranks = ranks;
    m_slowest = slowestOf(ranks);
    m_areModelled = std::ranges::any_of(ranks, [](const LiveRank& rank) { return rank.pace.isModelled; });
    m_longestNs = 0;
    for (const LiveRank& rank : ranks)
        if (rank.isKnown) m_longestNs = std::max(m_longestNs, rank.pace.iterationNs);
    if (isOther)
        endResetModel();
    else if (!ranks.empty())
        Q_EMIT dataChanged(index(0, 0), index(int(ranks.size()) - 1, ColumnCount - 1));
}

bool RanksModel::hasWaits() const noexcept { return std::ranges::any_of(m_ranks, &LiveRank::hasWait); }

bool RanksModel::hasSamples() const noexcept {
    return std::ranges::any_of(m_ranks, [](const LiveRank& rank) { return rank.pace.samplesPerSecond > 0; });
}

int RanksModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_ranks.size());
}

int RanksModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString RanksModel::text(const LiveRank& rank, int row, Column column) const {
    const auto ms = [&](bool isKnown, double ns) { return isKnown ? localized(formatMs(ns)) : noFigure(); };
    switch (column) {
    case RankColumn:
        return tr("rank %1").arg(row);
    case IterationColumn:
        return ms(rank.isKnown, rank.pace.iterationNs);
    case OwnColumn:
        return ms(rank.hasWait, rank.pace.ownNs());
    case WaitColumn:
        return ms(rank.hasWait, rank.pace.waitNs);
    case SamplesColumn:
        return rank.pace.samplesPerSecond > 0 ? grouped(std::llround(rank.pace.samplesPerSecond))
                                              : noFigure();
    case StepColumn:
        return rank.node.empty() ? noFigure() : toQt(rank.node);
    case StateColumn:
        if (row == m_slowest) return tr("slowest");
        if (!m_areModelled) return {};
        return rank.pace.isModelled ? tr("modelled") : tr("measured");
    case ShareColumn:
    case ColumnCount:
        break;
    }
    return {};
}

QVariant RanksModel::data(const QModelIndex& index, int role) const {
    const int row = index.row();
    const LiveRank& rank = m_ranks[std::size_t(row)];
    const auto column = Column(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return text(rank, row, column);
    case Qt::AccessibleTextRole:
        if (column == ShareColumn && rank.hasWait)
            return tr("own time %1, waiting %2").arg(text(rank, row, OwnColumn), text(rank, row, WaitColumn));
        return text(rank, row, column);
    case Qt::ToolTipRole:
        return column == ShareColumn ? data(index, Qt::AccessibleTextRole) : text(rank, row, column);
    case Qt::TextAlignmentRole:
        return int((column >= IterationColumn && column <= SamplesColumn ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    case Qt::FontRole:
        return twb::font(column >= IterationColumn && column <= SamplesColumn ? TextRole::figure
                                                                              : TextRole::body);
    case Qt::ForegroundRole:
        return column == StateColumn && row == m_slowest ? QVariant(Theme::current().error) : QVariant();
    case kSlowestRole:
        return row == m_slowest;
    case kOwnRole:
        return m_longestNs > 0 ? (rank.hasWait ? rank.pace.ownNs() : rank.pace.iterationNs) / m_longestNs
                               : 0.0;
    case kWaitRole:
        return m_longestNs > 0 && rank.hasWait ? rank.pace.waitNs / m_longestNs : 0.0;
    default:
        return {};
    }
}

QVariant RanksModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return int((section >= IterationColumn && section <= SamplesColumn ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (Column(section)) {
    case RankColumn:
        return tr("rank");
    case IterationColumn:
        return tr("time per iteration");
    case OwnColumn:
        return tr("own time");
    case WaitColumn:
        return tr("waiting for others");
    case SamplesColumn:
        return tr("samples/s");
    case StepColumn:
        return tr("current step");
    case ShareColumn:
        return hasWaits() ? tr("own time and waiting") : QString();
    case StateColumn:
    case ColumnCount:
        break;
    }
    return QString();
}

RanksPanel::RanksPanel(const RunController& runs, QWidget* parent)
    : QWidget(parent), m_runs(runs), m_model(new RanksModel(this)), m_table(new QTableView),
      m_sentence(makeLabel({}, TextRole::body)),
      m_remark(makeLabel({}, TextRole::small, QStringLiteral("secondary"))), m_empty(new QWidget),
      m_open(new QPushButton(tr("Open trace…"))),
      m_copy(makeSegment(tr("Copy"), tr("Copies the table as text."))) {
    setObjectName(QStringLiteral("ranksPanel"));
    m_table->setObjectName(QStringLiteral("ranksTable"));
    m_table->setAccessibleName(tr("Ranks"));
    m_table->setModel(m_model);
    dressTable(*m_table, kRankHeight);
    m_table->setWordWrap(false);
    m_table->setItemDelegateForColumn(RanksModel::ShareColumn, new ShareDelegate(m_table));
    QHeaderView& head = *m_table->horizontalHeader();
    head.setMinimumSectionSize(kLeastBar);
    head.setSectionResizeMode(QHeaderView::ResizeToContents);
    head.setSectionResizeMode(RanksModel::StepColumn, QHeaderView::Interactive);
    head.setSectionResizeMode(RanksModel::ShareColumn, QHeaderView::Stretch);
    m_table->setColumnWidth(RanksModel::StepColumn, 160);
    for (QLabel* label : {m_sentence, m_remark}) {
        label->setWordWrap(true);
        label->setContentsMargins(8, 6, 12, 6); // aligned with the cells of the table
    }
    QLabel* hint =
        makeLabel(tr("No ranks. A run on several ranks lists the pace of each rank here.\n"
                     "Run ▸ Run on another machine… starts one. A trace of such a run has it, too."),
                  TextRole::body, QStringLiteral("secondary"));
    hint->setWordWrap(true);
    hint->setAlignment(Qt::AlignCenter);
    m_open->setObjectName(QStringLiteral("openRanksTrace"));
    m_open->setToolTip(tr("Opens a trace written by “twb run --trace” or “twb train --trace”."));
    auto* empty = new QVBoxLayout(m_empty);
    empty->setContentsMargins(48, 12, 48, 12);
    empty->setSpacing(12);
    empty->addStretch();
    empty->addWidget(hint);
    empty->addWidget(m_open, 0, Qt::AlignHCenter);
    empty->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_sentence);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_remark);
    layout->addWidget(m_empty, 1);
    connect(m_copy, &QPushButton::clicked, this, &RanksPanel::copy);
    connect(m_open, &QPushButton::clicked, this, &RanksPanel::traceRequested);
    connect(&m_runs, &RunController::frame, this, [this] {
        const bool isOther = m_runs.ranks().empty() == m_isFilled;
        if (isOther || (isVisible() && m_budget.isDue())) refresh();
    });
    for (const auto signal :
         {&RunController::started, &RunController::finished, &RunController::stateChanged})
        connect(&m_runs, signal, this, &RanksPanel::refresh);
    refresh();
}

QWidget* RanksPanel::controls() const noexcept { return m_copy; }

void RanksPanel::focus() {
    if (m_isFilled)
        m_table->setFocus(Qt::ShortcutFocusReason);
    else
        m_open->setFocus(Qt::ShortcutFocusReason);
}

void RanksPanel::refresh() {
    m_budget.begin();
    const std::vector<LiveRank>& ranks = m_runs.ranks();
    m_model->setRanks(ranks);
    const bool isFilled = !ranks.empty();
    const bool showsSteps = std::ranges::any_of(ranks, [](const LiveRank& r) { return !r.node.empty(); });
    m_table->setColumnHidden(RanksModel::StepColumn, !showsSteps);
    for (const int column : {RanksModel::OwnColumn, RanksModel::WaitColumn})
        m_table->setColumnHidden(column, !m_model->hasWaits());
    m_table->setColumnHidden(RanksModel::SamplesColumn, !m_model->hasSamples());
    // Bars would invite to compare modelled times with measured ones.
    m_table->setColumnHidden(RanksModel::ShareColumn, m_model->areModelled());
    m_table->horizontalHeader()->setStretchLastSection(m_model->areModelled());
    m_sentence->setText(m_runs.sentence());
    m_remark->setText(
        m_model->areModelled()
            ? tr("Ranks with a simulated device have modelled times, which cannot be compared with measured "
                 "ones. Samples/s counts only rows that this rank computes.")
            : tr("Waiting: time per iteration that the rank waits in collective calls for the last rank to "
                 "arrive. The slowest rank has the longest own time. Samples/s counts only rows that this "
                 "rank computes."));
    for (QWidget* shown :
         {static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_table), static_cast<QWidget*>(m_remark)})
        shown->setVisible(isFilled);
    m_copy->setEnabled(isFilled);
    m_empty->setVisible(!isFilled);
    if (std::exchange(m_isFilled, isFilled) != isFilled) Q_EMIT filled(isFilled);
    m_budget.end();
}

void RanksPanel::copy() const {
    QString text;
    for (int row = -1; row < m_model->rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < RanksModel::ColumnCount; ++column) {
            if (column == RanksModel::ShareColumn || m_table->isColumnHidden(column)) continue;
            const QString cell = row < 0
                                     ? m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString()
                                     : m_model->index(row, column).data().toString();
            const bool isFigure =
                row >= 0 && column >= RanksModel::IterationColumn && column <= RanksModel::SamplesColumn;
            cells << (isFigure ? withoutLocale(cell) : cell);
        }
        text += cells.join(QLatin1Char('\t')) + QLatin1Char('\n');
    }
    QApplication::clipboard()->setText(text);
}

void RanksPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void RanksPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_table->viewport()->update();
}

} // namespace twb
