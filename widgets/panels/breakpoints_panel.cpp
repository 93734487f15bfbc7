#include "widgets/panels/breakpoints_panel.h"

#include "widgets/breakpoint_edits.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr int kBreakpointHeight = 24;

enum class Column { node, when, device, state };

} // namespace

BreakpointModel::BreakpointModel(Document& document, const RunController& runs, QObject* parent)
    : RowsModel(document, {tr("node"), tr("stops"), tr("device"), tr("state")}, parent), m_editable(document),
      m_runs(runs) {}

std::vector<NodeBreakpoint> BreakpointModel::read() const { return allBreakpoints(m_document.graph()); }

QString BreakpointModel::text(const NodeBreakpoint& row, int column) const {
    const Node* node = m_document.graph().find(row.node);
    if (!node) return {};
    const NodeFacts* facts = m_document.analysis().find(row.node);
    switch (Column(column)) {
    case Column::node:
        return toQt(node->name);
    case Column::when:
        return breakpointText(row.breakpoint);
    case Column::device:
        return toQt((facts ? facts->device : m_document.graph().deviceOf(*node)).toString());
    case Column::state:
        break;
    }
    const std::optional<RunState::Stop>& stop = m_runs.state().stop;
    if (stop && stop->node == row.node && stop->after != row.breakpoint.isBefore() && row.breakpoint.enabled)
        return tr("paused here: %1").arg(m_runs.stopSentence());
    if (!row.breakpoint.enabled) return tr("off");
    if (node->disabled) return tr("never: the node is disabled");
    const RunFigures* figures = m_runs.figures();
    const bool runs = figures && !m_runs.state().stale;
    return runs && figures->plan().stepsOf(row.node).empty()
               ? tr("never: the run has no separate step for this node")
               : QString();
}

QVariant BreakpointModel::data(const QModelIndex& index, int role) const {
    if (role != Qt::CheckStateRole) return RowsModel::data(index, role);
    if (Column(index.column()) != Column::node) return {};
    return int(rows()[std::size_t(index.row())].breakpoint.enabled ? Qt::Checked : Qt::Unchecked);
}

bool BreakpointModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole) return false;
    const NodeBreakpoint before = rows()[std::size_t(index.row())];
    Breakpoint after = before.breakpoint;
    after.enabled = value.toInt() == Qt::Checked;
    m_editable.apply(changeBreakpoint(m_document.graph(), before, after));
    return true;
}

Qt::ItemFlags BreakpointModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = RowsModel::flags(index);
    return Column(index.column()) == Column::node ? flags | Qt::ItemIsUserCheckable : flags;
}

BreakpointsPanel::BreakpointsPanel(Document& document, const RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_model(new BreakpointModel(document, runs, this)),
      m_table(new QTableView),
      m_empty(makeLabel(tr("No breakpoints. Select a node and press B to pause the run after it.\n"
                           "Run ▸ Breakpoint has more: before the node, on NaN or inf, on a condition."),
                        TextRole::body, QStringLiteral("secondary"))) {
    m_table->setObjectName(QStringLiteral("breakpointTable"));
    m_table->setAccessibleName(tr("Breakpoints"));
    m_table->setModel(m_model);
    dressTable(*m_table, kBreakpointHeight);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->setColumnWidth(int(Column::node), 200);
    m_table->setColumnWidth(int(Column::when), 176);
    m_table->installEventFilter(this);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setContentsMargins(48, 12, 48, 12);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 0, 0);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_empty, 1);
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        // A click on a check box has changed the list, so the row may no longer exist.
        if (index.isValid()) Q_EMIT nodeChosen(at(index).node);
    });
    connect(m_table, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { Q_EMIT changeWanted(NodeBreakpoint(at(index))); });
    connect(&m_document, &Document::changed, this, [this](const Delta& delta) {
        const auto has = [](const std::optional<Node>& node) { return node && !node->breakpoints.empty(); };
        if (std::any_of(delta.nodes.begin(), delta.nodes.end(),
                        [&](const Change<Node>& change) { return has(change.before) || has(change.after); }))
            return refresh();
        m_model->refreshFigures(); // a lane may have another device, and the results are out of date
    });
    connect(&m_document, &Document::reset, this, &BreakpointsPanel::refresh);
    const auto refreshFigures = [this] { m_model->refreshFigures(); };
    connect(&m_document, &Document::devicesChanged, m_model, refreshFigures);
    for (const auto signal : {&RunController::preparing, &RunController::stateChanged,
                              &RunController::stopped, &RunController::resumed, &RunController::finished})
        connect(&runs, signal, m_model, refreshFigures);
    refresh();
}

const NodeBreakpoint& BreakpointsPanel::at(const QModelIndex& index) const {
    return m_model->rows()[std::size_t(index.row())];
}

void BreakpointsPanel::refresh() {
    const int row = m_table->currentIndex().row();
    m_model->refresh();
    const int rows = m_model->rowCount();
    m_table->setVisible(rows > 0);
    m_empty->setVisible(rows == 0);
    if (std::exchange(m_isFilled, rows > 0) != (rows > 0)) Q_EMIT filled(rows > 0);
    if (row >= 0 && rows > 0) m_table->setCurrentIndex(m_model->index(std::min(row, rows - 1), 0));
}

bool BreakpointsPanel::eventFilter(QObject* watched, QEvent* event) {
    // Handled before the window's own Delete, which deletes nodes.
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
    const auto* key = static_cast<QKeyEvent*>(event);
    // QKeySequence::Delete may also match Ctrl+D, which duplicates nodes.
    if (isKey && key->key() == Qt::Key_Delete && !(key->modifiers() & ~Qt::KeypadModifier)) {
        event->accept();
        std::vector<NodeBreakpoint> these;
        for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) these.push_back(at(index));
        if (event->type() == QEvent::KeyPress && !these.empty()) Q_EMIT removed(these);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace twb
