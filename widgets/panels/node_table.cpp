#include "widgets/panels/node_table.h"

#include "core/format.h"
#include "ops/op_table.h"
#include "widgets/engine_words.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QTableView>

#include <algorithm>
#include <numeric>
#include <vector>

namespace twb {
namespace {

constexpr int kNodeHeight = 24;

enum class NodeColumn { name, op, device, time, share, kind, output, inputs };
enum class EdgeColumn { from, to, input, tensor, crosses, time, kind };

const NodeRun* runOf(const RunController& runs, NodeId id) {
    const auto found = runs.state().nodes.find(id);
    return found == runs.state().nodes.end() ? nullptr : &found->second;
}

const EdgeRun* runOf(const RunController& runs, const Edge& edge) {
    const auto found = runs.state().edges.find(edge);
    return found == runs.state().edges.end() ? nullptr : &found->second;
}

/// The preferred widths of all columns, and the columns that a narrow table hides, the least important one
/// first. Of the remaining columns, the names shrink, to no less than half of their widths: a part of a time
/// or of a device says nothing.
struct Columns {
    std::vector<int> widths;
    std::vector<int> optional;
    std::vector<int> names;

    void fit(QTableView& table) const {
        const int room = table.viewport()->width();
        std::vector<bool> isShown(widths.size(), true);
        int sum = std::accumulate(widths.begin(), widths.end(), 0);
        for (const int column : optional) {
            if (sum <= room) break;
            isShown[std::size_t(column)] = false;
            sum -= widths[std::size_t(column)];
        }
        int ofNames = 0;
        for (const int column : names)
            if (isShown[std::size_t(column)]) ofNames += widths[std::size_t(column)];
        const double scale = std::clamp(double(room - (sum - ofNames)) / ofNames, 0.5, 1.0);
        for (int column = 0; column < int(widths.size()); ++column) {
            const bool isName = std::find(names.begin(), names.end(), column) != names.end();
            table.setColumnHidden(column, !isShown[std::size_t(column)]);
            table.setColumnWidth(column, int(widths[std::size_t(column)] * (isName ? scale : 1)));
        }
    }
};

const Columns& nodeColumns() {
    static const Columns columns{
        {128, 96, 68, 84, 64, 108, 120, 120},
        {int(NodeColumn::inputs), int(NodeColumn::share), int(NodeColumn::output)},
        {int(NodeColumn::name), int(NodeColumn::op), int(NodeColumn::output), int(NodeColumn::inputs)}};
    return columns;
}

const Columns& edgeColumns() {
    static const Columns columns{{112, 112, 64, 104, 100, 84, 76},
                                 {int(EdgeColumn::input), int(EdgeColumn::tensor)},
                                 {int(EdgeColumn::from), int(EdgeColumn::to), int(EdgeColumn::tensor)}};
    return columns;
}

int rowBehind(const QModelIndex& shown) {
    return static_cast<const QSortFilterProxyModel*>(shown.model())->mapToSource(shown).row();
}

QModelIndex indexOf(const QTableView& table, int row) {
    const auto* sorted = static_cast<const QSortFilterProxyModel*>(table.model());
    return sorted->mapFromSource(sorted->sourceModel()->index(row, 0));
}

/// Selects only this row of the model behind; none if it is negative. Not a choice of the user.
void showRow(QTableView& table, int row) {
    const QSignalBlocker blocker(table.selectionModel());
    if (row < 0)
        table.clearSelection();
    else if (const int at = indexOf(table, row).row(); !table.selectionModel()->isRowSelected(at, {}))
        table.selectRow(at);
    table.viewport()->update();
}

} // namespace

NodeTableModel::NodeTableModel(const Document& document, const RunController& runs, QObject* parent)
    : RowsModel(document,
                {tr("node"), tr("op"), tr("device"), tr("time"), tr("share"), tr("timing"), tr("output"),
                 tr("inputs")},
                parent),
      m_runs(runs) {}

/// Nodes without a time come last when sorted by descending time.
std::optional<double> NodeTableModel::number(const NodeId& id, int column) const {
    if (NodeColumn(column) != NodeColumn::time && NodeColumn(column) != NodeColumn::share)
        return std::nullopt;
    const NodeRun* run = runOf(m_runs, id);
    return run && (!run->once || NodeColumn(column) == NodeColumn::time) ? run->ns : 0;
}

std::vector<NodeId> NodeTableModel::read() const {
    std::vector<NodeId> ids;
    for (const Node& node : m_document.graph().nodes()) ids.push_back(node.id);
    return ids;
}

void NodeTableModel::readFigures() {
    m_sum = 0;
    for (const auto& [id, run] : m_runs.state().nodes)
        if (!run.once) m_sum += run.ns;
}

int NodeTableModel::rowOf(NodeId node) const {
    const auto at = std::lower_bound(rows().begin(), rows().end(), node);
    return at != rows().end() && *at == node ? int(at - rows().begin()) : -1;
}

QString NodeTableModel::text(const NodeId& id, int column) const {
    const Graph& graph = m_document.graph();
    const Node* node = graph.find(id);
    if (!node) return {};
    const NodeFacts* facts = m_document.analysis().find(id);
    switch (NodeColumn(column)) {
    case NodeColumn::name:
        return toQt(node->name);
    case NodeColumn::op:
        return toQt(node->op);
    case NodeColumn::device:
        return toQt((facts ? facts->device : graph.deviceOf(*node)).toString());
    case NodeColumn::time: {
        const NodeRun* run = runOf(m_runs, id);
        return run && run->ns > 0 ? localized(formatMs(run->ns)) : QString();
    }
    case NodeColumn::share: {
        const NodeRun* run = runOf(m_runs, id);
        if (!run || run->ns <= 0 || run->once || m_sum <= 0) return {};
        return percentage(100 * run->ns / m_sum, 1);
    }
    case NodeColumn::kind: {
        const NodeRun* run = runOf(m_runs, id);
        if (!run || run->state == StepState::pending) return {};
        if (run->ns <= 0) return run->state == StepState::done ? QString() : stateWord(run->state);
        const QString kind = run->modelled ? tr("modelled") : m_runs.measuredText();
        return run->once ? tr("%1, once").arg(kind) : kind;
    }
    case NodeColumn::output:
        if (const NodeRun* run = runOf(m_runs, id); run && !run->value.isEmpty()) return run->value;
        if (!facts || facts->outputs.empty() || !facts->outputs[0]) return {};
        return toQt(facts->outputs[0]->toString());
    case NodeColumn::inputs: {
        QStringList names;
        for (const std::optional<PortRef>& input : graph.inputs(id))
            if (const Node* source = input ? graph.find(input->node) : nullptr) names << toQt(source->name);
        return names.join(QStringLiteral(", "));
    }
    }
    return {};
}

EdgeTableModel::EdgeTableModel(const Document& document, const RunController& runs, QObject* parent)
    : RowsModel(document,
                {tr("from"), tr("to"), tr("input"), tr("tensor"), tr("transfer"), tr("time"), tr("timing")},
                parent),
      m_runs(runs) {}

std::optional<double> EdgeTableModel::number(const Edge& edge, int column) const {
    if (EdgeColumn(column) != EdgeColumn::time) return std::nullopt;
    const EdgeRun* run = runOf(m_runs, edge);
    return run ? run->ns : 0;
}

std::vector<Edge> EdgeTableModel::read() const { return m_document.graph().edges(); }

int EdgeTableModel::rowOf(const Edge& edge) const {
    const auto at = std::find(rows().begin(), rows().end(), edge);
    return at == rows().end() ? -1 : int(at - rows().begin());
}

QString EdgeTableModel::text(const Edge& edge, int column) const {
    const Node* from = m_document.graph().find(edge.from.node);
    const Node* to = m_document.graph().find(edge.to.node);
    if (!from || !to) return {};
    const Analysis& analysis = m_document.analysis();
    switch (EdgeColumn(column)) {
    case EdgeColumn::from:
        return toQt(from->name);
    case EdgeColumn::to:
        return toQt(to->name);
    case EdgeColumn::input: {
        const Op* op = findOp(to->op);
        return op && !op->inputs.empty() ? toQt(op->inputAt(edge.to.port).name)
                                         : QString::number(edge.to.port);
    }
    case EdgeColumn::tensor: {
        const std::optional<TensorType>& type = analysis.typeOf(edge.from);
        return type ? toQt(type->toString()) : QString();
    }
    case EdgeColumn::crosses: {
        const NodeFacts* a = analysis.find(from->id);
        const NodeFacts* b = analysis.find(to->id);
        if (!a || !b || a->device == b->device) return {};
        return QStringLiteral("%1 → %2").arg(toQt(a->device.toString()), toQt(b->device.toString()));
    }
    case EdgeColumn::time: {
        const EdgeRun* run = runOf(m_runs, edge);
        return run && run->ns > 0 ? localized(formatMs(run->ns)) : QString();
    }
    case EdgeColumn::kind: {
        const EdgeRun* run = runOf(m_runs, edge);
        if (!run || run->ns <= 0) return {};
        return run->predicted ? tr("predicted") : run->modelled ? tr("modelled") : m_runs.measuredText();
    }
    }
    return {};
}

NodeTable::NodeTable(Document& document, const RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_nodes(new NodeTableModel(document, runs, this)),
      m_edges(new EdgeTableModel(document, runs, this)),
      m_nodeView(makeTable(m_nodes, tr("Nodes of the graph"))),
      m_edgeView(makeTable(m_edges, tr("Edges of the graph"))) {
    m_nodeView->setObjectName(QStringLiteral("nodeTable"));
    m_edgeView->setObjectName(QStringLiteral("edgeTable"));
    m_layout = new QBoxLayout(QBoxLayout::LeftToRight, this);
    m_layout->setContentsMargins(4, 4, 0, 0);
    m_layout->setSpacing(16);
    m_layout->addWidget(m_nodeView, 1);
    m_layout->addWidget(m_edgeView, 1);
    for (QTableView* view : {m_nodeView, m_edgeView}) view->viewport()->installEventFilter(this);
    connect(&m_document, &Document::changed, this, &NodeTable::refresh);
    connect(&m_document, &Document::reset, this, &NodeTable::refresh);
    connect(&m_document, &Document::selectionChanged, this, &NodeTable::followSelection);
    connect(&m_runs, &RunController::frame, this, [this] {
        if (!m_runs.isRunning() || m_budget.isDue()) refreshFigures();
    });
    connect(&m_runs, &RunController::stateChanged, this, &NodeTable::refreshFigures);
    const auto choose = [this](const QModelIndex& row) {
        if (!row.isValid()) return;
        Selection selection;
        if (row.model() == m_nodeView->model())
            selection.nodes = {m_nodes->rows()[std::size_t(rowBehind(row))]};
        else
            selection.edge = m_edges->rows()[std::size_t(rowBehind(row))];
        m_document.select(std::move(selection));
    };
    for (const QTableView* view : {m_nodeView, m_edgeView}) {
        connect(view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, choose);
        connect(view, &QTableView::clicked, this, choose); // also the current row
    }
}

QTableView* NodeTable::makeTable(QAbstractItemModel* model, const QString& name) {
    auto* table = new QTableView(this);
    table->setAccessibleName(name);
    auto* sorted = new QSortFilterProxyModel(table);
    sorted->setSourceModel(model);
    sorted->setSortRole(NodeTableModel::kSortRole);
    table->setModel(sorted);
    dressTable(*table, kNodeHeight);
    table->setSortingEnabled(true);
    sorted->sort(-1); // in graph order, until a heading is clicked
    table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table->horizontalHeader()->setSortIndicatorClearable(true);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->horizontalHeader()->setStretchLastSection(true);
    return table;
}

void NodeTable::refresh() {
    if (!isVisible()) return;
    const QSignalBlocker nodes(m_nodeView->selectionModel());
    const QSignalBlocker edges(m_edgeView->selectionModel());
    m_nodes->refresh();
    m_edges->refresh();
    followSelection();
}

void NodeTable::refreshFigures() {
    if (!isVisible()) return;
    m_budget.begin();
    const QSignalBlocker nodes(
        m_nodeView->selectionModel()); // a row that only moved was not chosen by the user
    const QSignalBlocker edges(m_edgeView->selectionModel());
    m_nodes->refreshFigures();
    m_edges->refreshFigures();
    m_budget.end();
}

void NodeTable::followSelection() {
    if (!isVisible()) return;
    const Selection& selection = m_document.selection();
    showRow(*m_nodeView, selection.nodes.size() == 1 ? m_nodes->rowOf(*selection.nodes.begin()) : -1);
    showRow(*m_edgeView, selection.edge ? m_edges->rowOf(*selection.edge) : -1);
}

void NodeTable::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void NodeTable::resizeEvent(QResizeEvent* event) {
    constexpr int kSideBySide = 800; ///< least width for the main columns of both
    QWidget::resizeEvent(event);
    m_layout->setDirection(width() < kSideBySide ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_layout->setSpacing(width() < kSideBySide ? 4 : 16);
}

bool NodeTable::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && watched == m_nodeView->viewport()) nodeColumns().fit(*m_nodeView);
    if (event->type() == QEvent::Resize && watched == m_edgeView->viewport()) edgeColumns().fit(*m_edgeView);
    return QWidget::eventFilter(watched, event);
}

} // namespace twb
