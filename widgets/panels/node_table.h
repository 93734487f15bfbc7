#pragma once

#include "widgets/document.h"

#include <QAbstractTableModel>
#include <QWidget>

class QTableView;

namespace twb {

/// The graph's nodes as rows, for those who cannot see the canvas or would rather sort than look.
class NodeTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { NameColumn, OpColumn, DeviceColumn, OutputColumn, InputsColumn, ColumnCount };

    explicit NodeTableModel(const Document& document, QObject* parent = nullptr);
    void refresh();
    NodeId nodeAt(int row) const { return m_nodes[std::size_t(row)]; }
    int rowOf(NodeId node) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const Document& m_document;
    std::vector<NodeId> m_nodes;
};

/// The same for edges.
class EdgeTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { FromColumn, ToColumn, InputColumn, TensorColumn, CrossesColumn, ColumnCount };

    explicit EdgeTableModel(const Document& document, QObject* parent = nullptr);
    void refresh();
    const Edge& edgeAt(int row) const { return m_edges[std::size_t(row)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const Document& m_document;
    std::vector<Edge> m_edges;
};

/// Nodes and edges side by side; a row selects what it shows.
class NodeTable : public QWidget {
    Q_OBJECT

public:
    explicit NodeTable(Document& document, QWidget* parent = nullptr);

protected:
    void showEvent(QShowEvent* event) override;

private:
    QTableView* makeTable(QAbstractItemModel* model, const QString& name);
    void refresh();
    void followSelection();

    Document& m_document;
    NodeTableModel* m_nodes;
    EdgeTableModel* m_edges;
    QTableView* m_nodeView;
    QTableView* m_edgeView;
};

} // namespace twb
