#include "widgets/panels/problems_panel.h"

#include "graph/folding.h"
#include "placement/fixes.h"
#include "widgets/engine_words.h"
#include "widgets/icon.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr int kSideWidth = 480;
constexpr int kProblemHeight = 26;
constexpr int kRoomForCodes = 1000;

} // namespace

ProblemsModel::ProblemsModel(const Document& document, QObject* parent)
    : QAbstractTableModel(parent), m_document(document) {}

void ProblemsModel::refresh() {
    beginResetModel();
    m_causes = m_document.causes();
    endResetModel();
}

const Cause* ProblemsModel::causeAt(int row) const {
    return row >= 0 && row < int(m_causes.size()) ? &m_causes[std::size_t(row)] : nullptr;
}

const Diagnostic* ProblemsModel::at(int row) const {
    const Cause* cause = causeAt(row);
    const std::vector<Diagnostic>& all = m_document.analysis().diagnostics;
    return cause && cause->diagnostics.front() < all.size() ? &all[cause->diagnostics.front()] : nullptr;
}

int ProblemsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_causes.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
    const Diagnostic* problem = at(index.row());
    if (!problem) return {};
    const Cause& cause = m_causes[std::size_t(index.row())];
    const bool isAlone = cause.diagnostics.size() == 1;
    const auto column = Column(index.column());
    const QString severity = toQt(name(problem->severity));
    switch (role) {
    case Qt::DisplayRole:
        switch (column) {
        case SeverityColumn:
            return severityWord(problem->severity);
        case CodeColumn:
            return toQt(problem->code);
        case NodeColumn:
            if (const Node* node = m_document.graph().find(
                    isAlone || cause.nodes.empty() ? problem->node : cause.nodes.front()))
                return toQt(node->name);
            return {};
        case MessageColumn: {
            if (!isAlone) return toQt(cause.sentence);
            const Node* node = m_document.graph().find(problem->node);
            const QString message = toQt(problem->message);
            return node && node->source
                       ? QStringLiteral("%1: %2").arg(toQt(toShortString(*node->source)), message)
                       : message;
        }
        case ColumnCount:
            break;
        }
        return {};
    case Qt::DecorationRole:
        return column == SeverityColumn
                   ? QVariant(icon(severity, Theme::current().severity(problem->severity)))
                   : QVariant();
    case Qt::ToolTipRole: {
        const QString pythonFix = m_document.pythonFix(*problem);
        const QString text = toQt(isAlone ? toText(*problem) : cause.sentence).trimmed();
        return pythonFix.isEmpty() ? text : text + QLatin1Char('\n') + tr("In Python: %1").arg(pythonFix);
    }
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
      m_table(new QTableView), m_side(new QScrollArea), m_remedies(new QVBoxLayout),
      m_card(new ProblemCards(document)),
      m_empty(makeLabel(tr("No problems: the graph can run."), TextRole::body, QStringLiteral("secondary"))) {
    m_table->setObjectName(QStringLiteral("problemsTable"));
    m_table->setAccessibleName(tr("Problems of the graph"));
    m_table->setModel(m_model);
    dressTable(*m_table, kProblemHeight);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setIconSize({14, 14});
    m_table->setWordWrap(false);
    m_table->horizontalHeader()->setStretchLastSection(true);
    const int widths[] = {92, 128, 112};
    for (int column = 0; column < 3; ++column) m_table->setColumnWidth(column, widths[column]);

    auto* side = new QWidget;
    side->setProperty("surface", QStringLiteral("panel"));
    side->setAttribute(Qt::WA_StyledBackground);
    auto* card = new QVBoxLayout(side);
    card->setContentsMargins(12, 8, 12, 8);
    m_remedies->setContentsMargins(0, 0, 0, 0);
    m_remedies->setSpacing(6);
    card->addLayout(m_remedies);
    card->addWidget(m_card);
    card->addStretch(1);
    m_card->setHeadingVisible(false); // the tab shows the number
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
            [this](const QModelIndex& current) {
                if (!m_isRefilling) choose(current.row());
            });
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) { choose(index.row()); });
    refresh();
}

void ProblemsPanel::refresh() {
    m_isStale = true;
    if (isVisible()) bringUpToDate();
}

void ProblemsPanel::bringUpToDate() {
    if (!std::exchange(m_isStale, false)) return;
    const int before = m_table->currentIndex().row();
    const int scrolled = m_table->verticalScrollBar()->value();
    m_model->refresh();
    const bool any = m_model->rowCount() > 0;
    m_table->setVisible(any);
    m_side->setVisible(any);
    m_empty->setVisible(!any);
    const int now = rowOfCurrent();
    if (m_current && now < 0) m_rowOfGone = before;
    if (now < 0) m_current.reset();
    m_isRefilling = true; // the user has not chosen the row again
    if (now >= 0) m_table->selectRow(now);
    m_isRefilling = false;
    m_table->doItemsLayout(); // gives the scroll bar its range
    m_table->verticalScrollBar()->setValue(scrolled);
    showCard(any ? std::max(now, 0) : -1);
}

int ProblemsPanel::rowOfCurrent() const {
    for (int row = 0; m_current && row < m_model->rowCount(); ++row) {
        const Diagnostic* problem = m_model->at(row);
        if (problem && problem->code == m_current->code && problem->node == m_current->node &&
            problem->port == m_current->port && problem->edge == m_current->edge)
            return row;
    }
    return -1;
}

void ProblemsPanel::step(int by) {
    bringUpToDate();
    const int rows = m_model->rowCount();
    if (rows == 0) return;
    const QModelIndex current = m_table->currentIndex();
    // After a problem that is mended, the next one is in its row.
    const int from = current.isValid()  ? current.row() + by
                     : m_rowOfGone >= 0 ? std::min(m_rowOfGone, rows) + std::min(by, 0)
                     : by > 0           ? 0
                                        : rows - 1;
    const int row = (from + rows) % rows;
    if (row == current.row())
        choose(row); // the only problem, perhaps no longer in view
    else
        m_table->selectRow(row);
}

void ProblemsPanel::choose(int row) {
    showCard(row);
    m_rowOfGone = -1;
    const Diagnostic* problem = m_model->at(row);
    m_current = problem ? std::optional(*problem) : std::nullopt;
    if (!problem || problem->node == NodeId::none) return;
    NodeId node = problem->node;
    // A folded node has no visible wire, so the node itself is shown.
    const Node* source = problem->edge ? m_document.graph().find(problem->edge->from.node) : nullptr;
    if (source && foldedInto(m_document.graph(), *source)) node = source->id;
    Selection selection;
    selection.nodes = {node};
    m_document.select(std::move(selection));
    Q_EMIT nodeChosen(node);
}

void ProblemsPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    // Shows the message; the code is meant for programs.
    m_table->setColumnHidden(ProblemsModel::CodeColumn, width() < kRoomForCodes);
}

void ProblemsPanel::showEvent(QShowEvent* event) {
    bringUpToDate();
    QWidget::showEvent(event);
    Q_EMIT shown(true);
}

void ProblemsPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    Q_EMIT shown(false);
}

void ProblemsPanel::showCard(int row) {
    const Cause* cause = m_model->causeAt(row);
    std::vector<const Diagnostic*> problems;
    if (cause)
        for (const std::size_t i : cause->diagnostics)
            problems.push_back(&m_document.analysis().diagnostics[i]);
    showRemedies(cause);
    m_card->setProblems(problems);
}

/// The fixes for all problems of a cause at once, and for all problems of its kind.
void ProblemsPanel::showRemedies(const Cause* cause) {
    while (QLayoutItem* item = m_remedies->takeAt(0)) {
        // The pressed button may be one of the rebuilt ones.
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    if (!cause) return;
    const Diagnostic& first = m_document.analysis().diagnostics[cause->diagnostics.front()];
    if (cause->diagnostics.size() > 1) {
        auto* sentence = makeLabel(toQt(cause->sentence), TextRole::strong);
        sentence->setWordWrap(true);
        m_remedies->addWidget(sentence);
        if (!cause->decided.empty())
            m_remedies->addWidget(
                makeLabel(toQt(cause->decided), TextRole::small, QStringLiteral("secondary")));
        for (const Remedy& remedy : cause->remedies) {
            Fix shown;
            shown.title = remedy.title;
            shown.price = remedy.price;
            auto* button = new FixButton(shown);
            connect(button, &FixButton::clicked, this,
                    [this, remedy] { Q_EMIT fixesRequested(remedy.fixes, toQt(remedy.title)); });
            m_remedies->addWidget(button);
        }
    }
    std::vector<Fix> alike;
    std::size_t listed = 0; // the table does not list what follows from another problem
    if (!first.fixes.empty())
        for (const Diagnostic& d : m_document.analysis().diagnostics)
            if (d.code == first.code && !d.fixes.empty() &&
                d.fixes.front().kind == first.fixes.front().kind) {
                alike.push_back(d.fixes.front());
                listed += d.root == NodeId::none;
            }
    if (listed <= cause->diagnostics.size()) return;
    const QString title =
        tr("Apply the first fix to all %1 problems of this kind").arg(grouped(qint64(listed)));
    auto* all = new QPushButton(title);
    all->setObjectName(QStringLiteral("fixAlike"));
    all->setProperty("role", QStringLiteral("link"));
    all->setFocusPolicy(Qt::TabFocus);
    connect(all, &QPushButton::clicked, this, [this, alike, title] { Q_EMIT fixesRequested(alike, title); });
    m_remedies->addWidget(all);
}

} // namespace twb
