#pragma once

#include "widgets/document.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <QWidget>

class QTableView;

namespace twb {

/// Things of a graph as rows under named columns, read anew as a whole.
template <class Row> class RowsModel : public QAbstractTableModel {
public:
    RowsModel(const Document& document, QStringList columns, QObject* parent)
        : QAbstractTableModel(parent), m_document(document), m_columns(std::move(columns)) {}

    void refresh() {
        beginResetModel();
        m_rows = read();
        endResetModel();
    }
    const std::vector<Row>& rows() const noexcept { return m_rows; }

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(m_rows.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(m_columns.size());
    }
    QVariant data(const QModelIndex& index, int role) const override {
        if (role != Qt::DisplayRole) return {};
        return text(m_rows[std::size_t(index.row())], index.column());
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole) return int(Qt::AlignLeft | Qt::AlignVCenter);
        return role == Qt::DisplayRole ? QVariant(m_columns[section]) : QVariant();
    }

protected:
    virtual std::vector<Row> read() const = 0;
    virtual QString text(const Row& row, int column) const = 0;

    const Document& m_document;

private:
    QStringList m_columns;
    std::vector<Row> m_rows;
};

/// The graph's nodes, for those who cannot see the canvas or would rather sort than look.
class NodeTableModel : public RowsModel<NodeId> {
    Q_OBJECT

public:
    explicit NodeTableModel(const Document& document, QObject* parent = nullptr);
    int rowOf(NodeId node) const;

private:
    std::vector<NodeId> read() const override;
    QString text(const NodeId& id, int column) const override;
};

/// The same for edges.
class EdgeTableModel : public RowsModel<Edge> {
    Q_OBJECT

public:
    explicit EdgeTableModel(const Document& document, QObject* parent = nullptr);

private:
    std::vector<Edge> read() const override;
    QString text(const Edge& edge, int column) const override;
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
