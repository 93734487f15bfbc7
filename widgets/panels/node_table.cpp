#include "widgets/panels/node_table.h"

#include "ops/op_table.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QTableView>

#include <algorithm>

namespace twb {
namespace {

constexpr int kRowHeight = 24;

enum class NodeColumn { name, op, device, output, inputs };
enum class EdgeColumn { from, to, input, tensor, crosses };

} // namespace

NodeTableModel::NodeTableModel(const Document& document, QObject* parent)
    : RowsModel(document, {tr("node"), tr("op"), tr("device"), tr("output"), tr("inputs")}, parent) {}

std::vector<NodeId> NodeTableModel::read() const {
    std::vector<NodeId> ids;
    for (const Node& node : m_document.graph().nodes()) ids.push_back(node.id);
    return ids;
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
    case NodeColumn::output:
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

EdgeTableModel::EdgeTableModel(const Document& document, QObject* parent)
    : RowsModel(document, {tr("from"), tr("to"), tr("input"), tr("tensor"), tr("crosses")}, parent) {}

std::vector<Edge> EdgeTableModel::read() const { return m_document.graph().edges(); }

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
    }
    return {};
}

NodeTable::NodeTable(Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_nodes(new NodeTableModel(document, this)),
      m_edges(new EdgeTableModel(document, this)), m_nodeView(makeTable(m_nodes, tr("Nodes of the graph"))),
      m_edgeView(makeTable(m_edges, tr("Edges of the graph"))) {
    m_nodeView->setObjectName(QStringLiteral("nodeTable"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 4, 0, 0);
    layout->setSpacing(16);
    layout->addWidget(m_nodeView, 1);
    layout->addWidget(m_edgeView, 1);
    connect(&m_document, &Document::changed, this, &NodeTable::refresh);
    connect(&m_document, &Document::reset, this, &NodeTable::refresh);
    connect(&m_document, &Document::selectionChanged, this, &NodeTable::followSelection);
    connect(m_nodeView->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                if (!current.isValid()) return;
                Selection selection;
                selection.nodes = {m_nodes->rows()[std::size_t(current.row())]};
                m_document.select(std::move(selection));
            });
    connect(m_edgeView->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                if (!current.isValid()) return;
                Selection selection;
                selection.edge = m_edges->rows()[std::size_t(current.row())];
                m_document.select(std::move(selection));
            });
}

QTableView* NodeTable::makeTable(QAbstractItemModel* model, const QString& name) {
    auto* table = new QTableView(this);
    table->setAccessibleName(name);
    table->setModel(model);
    dressTable(*table, kRowHeight);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->horizontalHeader()->setStretchLastSection(true);
    table->setColumnWidth(0, 128);
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

void NodeTable::followSelection() {
    if (!isVisible()) return;
    const Selection& selection = m_document.selection();
    const int row = selection.nodes.size() == 1 ? m_nodes->rowOf(*selection.nodes.begin()) : -1;
    const QSignalBlocker blocker(m_nodeView->selectionModel());
    if (row < 0)
        m_nodeView->clearSelection();
    else if (m_nodeView->currentIndex().row() != row)
        m_nodeView->selectRow(row);
    m_nodeView->viewport()->update();
}

void NodeTable::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
