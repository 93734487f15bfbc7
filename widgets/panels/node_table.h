#pragma once

#include "widgets/document.h"
#include "widgets/frame_budget.h"
#include "widgets/run_controller.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <QWidget>

class QSortFilterProxyModel;
class QBoxLayout;
class QTableView;

namespace twb {

/// Rows of a graph with named columns, always rebuilt as a whole.
template <class Row> class RowsModel : public QAbstractTableModel {
public:
    static constexpr int kSortRole = Qt::UserRole; ///< a number or a text

    RowsModel(const Document& document, QStringList columns, QObject* parent)
        : QAbstractTableModel(parent), m_document(document), m_columns(std::move(columns)) {}

    void refresh() {
        beginResetModel();
        m_rows = read();
        readFigures();
        endResetModel();
    }
    /// Updates the figures after a run; the rows stay the same.
    void refreshFigures() {
        readFigures();
        if (!m_rows.empty())
            Q_EMIT dataChanged(index(0, 0), index(int(m_rows.size()) - 1, int(m_columns.size()) - 1));
    }
    const std::vector<Row>& rows() const noexcept { return m_rows; }

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(m_rows.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : int(m_columns.size());
    }
    QVariant data(const QModelIndex& index, int role) const override {
        const Row& row = m_rows[std::size_t(index.row())];
        if (role == Qt::DisplayRole || role == Qt::ToolTipRole)
            return text(row, index.column()); // may be elided
        if (role == kSortRole) {
            const std::optional<double> value = number(row, index.column());
            return value ? QVariant(*value) : QVariant(text(row, index.column()).toCaseFolded());
        }
        if (role == Qt::TextAlignmentRole) return alignment(index.column());
        return {};
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole) return alignment(section);
        return role == Qt::DisplayRole ? QVariant(m_columns[section]) : QVariant();
    }

protected:
    virtual std::vector<Row> read() const = 0;
    /// Computes what the figures of all rows have in common, once for all cells.
    virtual void readFigures() {}
    virtual QString text(const Row& row, int column) const = 0;
    /// The sort key of a figure column; nothing for a text column.
    virtual std::optional<double> number(const Row&, int) const { return std::nullopt; }

    const Document& m_document;

private:
    /// Figures and their heading are on the right.
    int alignment(int column) const {
        const bool isFigure = !m_rows.empty() && number(m_rows.front(), column);
        return int(Qt::AlignVCenter | (isFigure ? Qt::AlignRight : Qt::AlignLeft));
    }

    QStringList m_columns;
    std::vector<Row> m_rows;
};

/// The graph's nodes as a table, which can be sorted by the last run's figures and works with screen readers.
class NodeTableModel : public RowsModel<NodeId> {
    Q_OBJECT

public:
    NodeTableModel(const Document& document, const RunController& runs, QObject* parent = nullptr);
    int rowOf(NodeId node) const;

private:
    std::vector<NodeId> read() const override;
    void readFigures() override;
    QString text(const NodeId& id, int column) const override;
    std::optional<double> number(const NodeId& id, int column) const override;

    const RunController& m_runs;
    double m_sum = 0; ///< of all nodes' times in an iteration
};

/// The same for edges.
class EdgeTableModel : public RowsModel<Edge> {
    Q_OBJECT

public:
    EdgeTableModel(const Document& document, const RunController& runs, QObject* parent = nullptr);
    int rowOf(const Edge& edge) const;

private:
    std::vector<Edge> read() const override;
    QString text(const Edge& edge, int column) const override;
    std::optional<double> number(const Edge& edge, int column) const override;

    const RunController& m_runs;
};

/// Nodes and edges, side by side where there is room; a row selects its node or edge, a heading sorts.
class NodeTable : public QWidget {
    Q_OBJECT

public:
    NodeTable(Document& document, const RunController& runs, QWidget* parent = nullptr);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    /// Fits the columns to the tables' widths.
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QTableView* makeTable(QAbstractItemModel* model, const QString& name);
    void refresh();
    void refreshFigures();
    void followSelection();

    Document& m_document;
    const RunController& m_runs;
    NodeTableModel* m_nodes;
    EdgeTableModel* m_edges;
    QTableView* m_nodeView;
    QTableView* m_edgeView;
    QBoxLayout* m_layout = nullptr;
    FrameBudget m_budget;
};

} // namespace twb
