#pragma once

#include "graph/diagnostic.h"
#include "widgets/document.h"

#include <QAbstractTableModel>
#include <QWidget>

class QLabel;
class QScrollArea;
class QTableView;

namespace twb {

class ProblemCards;

/// The analysis' diagnostics as rows.
class ProblemsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { SeverityColumn, CodeColumn, NodeColumn, MessageColumn, ColumnCount };

    ProblemsModel(const Document& document, QObject* parent = nullptr);
    void refresh();
    const Diagnostic* at(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const Document& m_document;
    int m_rows = 0;
};

/// Every problem of the graph: a row selects the node, its card stands beside it.
class ProblemsPanel : public QWidget {
    Q_OBJECT

public:
    explicit ProblemsPanel(Document& document, QWidget* parent = nullptr);
    /// Goes to the next problem (or the one before) and selects its node.
    void step(int by);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void shown(bool isShown); ///< it came into sight or went out of it

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void refresh();
    void choose(int row);
    void showCard(int row);

    Document& m_document;
    ProblemsModel* m_model;
    QTableView* m_table;
    QScrollArea* m_side;
    ProblemCards* m_card;
    QLabel* m_empty;
};

} // namespace twb
