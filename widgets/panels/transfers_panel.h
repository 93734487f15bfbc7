#pragma once

#include "widgets/panels/ledger_model.h"

#include <QWidget>

class QButtonGroup;
class QLabel;
class QTableView;

namespace twb {

class FactRows;
class TransferPlot;

/// The live plot, and the ledger beside it, which is its legend: a click on a row selects the edge.
class TransfersPanel : public QWidget {
    Q_OBJECT

public:
    TransfersPanel(Document& document, RunController& runs, QWidget* parent = nullptr);
    /// ms | GB/s | share, for the corner of the tab bar.
    QWidget* unitSwitch() const noexcept { return m_units; }

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeUnits();
    QWidget* makeLedger();
    void runStarted();
    void refresh();
    void refreshSums();
    void followSelection();
    void fitRows();
    void selectRow(int row);

    Document& m_document;
    RunController& m_runs;
    LedgerModel* m_model;
    TransferPlot* m_plot;
    QTableView* m_table;
    FactRows* m_sums;
    QLabel* m_modelled;
    QLabel* m_empty;
    QWidget* m_units;
    bool m_begun = false; ///< the plot has the curves of the run's plan
};

} // namespace twb
