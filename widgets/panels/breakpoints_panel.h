#pragma once

#include "widgets/breakpoint_edits.h"
#include "widgets/panels/node_table.h"
#include "widgets/run_controller.h"

class QLabel;
class QTableView;

namespace twb {

/// The breakpoints of the graph with their state, one per row.
class BreakpointModel : public RowsModel<NodeBreakpoint> {
    Q_OBJECT

public:
    BreakpointModel(Document& document, const RunController& runs, QObject* parent = nullptr);
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    std::vector<NodeBreakpoint> read() const override;
    QString text(const NodeBreakpoint& row, int column) const override;

    Document& m_editable;
    const RunController& m_runs;
};

/// The list: a check box enables a breakpoint, Delete removes it, a double click changes its condition.
class BreakpointsPanel : public QWidget {
    Q_OBJECT

public:
    BreakpointsPanel(Document& document, const RunController& runs, QWidget* parent = nullptr);

Q_SIGNALS:
    void nodeChosen(twb::NodeId node);
    void changeWanted(const twb::NodeBreakpoint& breakpoint);
    void filled(bool some); ///< whether there are any
    void removed(const std::vector<twb::NodeBreakpoint>& breakpoints);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void refresh();
    const NodeBreakpoint& at(const QModelIndex& index) const;

    Document& m_document;
    BreakpointModel* m_model;
    QTableView* m_table;
    QLabel* m_empty;
    bool m_isFilled = false;
};

} // namespace twb
