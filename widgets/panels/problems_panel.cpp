#include "widgets/panels/problems_panel.h"

#include "graph/folding.h"
#include "widgets/icon.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollArea>
#include <QTableView>
#include <QVBoxLayout>

namespace twb {
namespace {

constexpr int kSideWidth = 480;
constexpr int kRowHeight = 26;
constexpr int kRoomForCodes = 1000;

} // namespace

ProblemsModel::ProblemsModel(const Document& document, QObject* parent)
    : QAbstractTableModel(parent), m_document(document) {}

void ProblemsModel::refresh() {
    beginResetModel();
    m_rows = int(m_document.analysis().diagnostics.size());
    endResetModel();
}

const Diagnostic* ProblemsModel::at(int row) const {
    const std::vector<Diagnostic>& all = m_document.analysis().diagnostics;
    return row >= 0 && row < int(all.size()) ? &all[std::size_t(row)] : nullptr;
}

int ProblemsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }

int ProblemsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
    const Diagnostic* problem = at(index.row());
    if (!problem) return {};
    const auto column = Column(index.column());
    const QString severity = toQt(name(problem->severity));
    switch (role) {
    case Qt::DisplayRole:
        switch (column) {
        case SeverityColumn:
            return severity;
        case CodeColumn:
            return toQt(problem->code);
        case NodeColumn:
            if (const Node* node = m_document.graph().find(problem->node)) return toQt(node->name);
            return {};
        case MessageColumn:
            return toQt(problem->message);
        case ColumnCount:
            break;
        }
        return {};
    case Qt::DecorationRole:
        return column == SeverityColumn
                   ? QVariant(icon(severity, Theme::current().severity(problem->severity)))
                   : QVariant();
    case Qt::ToolTipRole:
        return toQt(toText(*problem));
    default:
        return {};
    }
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    const QString names[] = {tr("severity"), tr("code"), tr("node"), tr("message")};
    return names[section];
}

ProblemsPanel::ProblemsPanel(Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_model(new ProblemsModel(document, this)),
      m_table(new QTableView), m_side(new QScrollArea), m_card(new ProblemCards),
      m_empty(makeLabel(tr("No problems: the graph can run."), TextRole::body, QStringLiteral("secondary"))) {
    m_table->setObjectName(QStringLiteral("problemsTable"));
    m_table->setAccessibleName(tr("Problems of the graph"));
    m_table->setModel(m_model);
    m_table->setShowGrid(false);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setIconSize({14, 14});
    m_table->setWordWrap(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setStretchLastSection(true);
    const int widths[] = {88, 128, 104};
    for (int column = 0; column < 3; ++column) m_table->setColumnWidth(column, widths[column]);

    auto* side = new QWidget;
    side->setProperty("surface", QStringLiteral("panel"));
    side->setAttribute(Qt::WA_StyledBackground);
    auto* card = new QVBoxLayout(side);
    card->setContentsMargins(12, 8, 12, 8);
    card->addWidget(m_card);
    card->addStretch(1);
    m_card->setHeadingVisible(false); // the tab says it
    m_side->setWidget(side);
    m_side->setWidgetResizable(true);
    m_side->setFrameShape(QFrame::NoFrame);
    m_side->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_side->setMinimumWidth(kSideWidth / 2);
    m_side->setMaximumWidth(kSideWidth);
    m_empty->setAlignment(Qt::AlignCenter);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 4, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_table, 2);
    layout->addWidget(m_side, 3);
    layout->addWidget(m_empty, 1);

    connect(m_card, &ProblemCards::fixRequested, this, &ProblemsPanel::fixRequested);
    connect(&m_document, &Document::changed, this, &ProblemsPanel::refresh);
    connect(&m_document, &Document::reset, this, &ProblemsPanel::refresh);
    connect(&m_document, &Document::devicesChanged, this, &ProblemsPanel::refresh);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) { choose(current.row()); });
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) { choose(index.row()); });
    refresh();
}

void ProblemsPanel::refresh() {
    m_model->refresh();
    const bool any = m_model->rowCount() > 0;
    m_table->setVisible(any);
    m_side->setVisible(any);
    m_empty->setVisible(!any);
    showCard(any ? 0 : -1);
}

void ProblemsPanel::step(int by) {
    const int rows = m_model->rowCount();
    if (rows == 0) return;
    const QModelIndex current = m_table->currentIndex();
    const int row = current.isValid() ? (current.row() + by + rows) % rows : by > 0 ? 0 : rows - 1;
    m_table->selectRow(row);
}

void ProblemsPanel::choose(int row) {
    showCard(row);
    const Diagnostic* problem = m_model->at(row);
    if (!problem || problem->node == NodeId::none) return;
    NodeId node = problem->node;
    // What is folded has no wire to look at: it is the one to be seen.
    const Node* source = problem->edge ? m_document.graph().find(problem->edge->from.node) : nullptr;
    if (source && foldedInto(m_document.graph(), *source)) node = source->id;
    Selection selection;
    selection.nodes = {node};
    m_document.select(std::move(selection));
}

void ProblemsPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    // The message says more than its code, which is for programs.
    m_table->setColumnHidden(ProblemsModel::CodeColumn, width() < kRoomForCodes);
}

void ProblemsPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    Q_EMIT shown(true);
}

void ProblemsPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    Q_EMIT shown(false);
}

void ProblemsPanel::showCard(int row) {
    const Diagnostic* problem = m_model->at(row);
    m_card->setProblems(problem ? std::vector<const Diagnostic*>{problem} : std::vector<const Diagnostic*>());
}

} // namespace twb
