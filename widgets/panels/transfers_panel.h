#pragma once

#include "widgets/frame_budget.h"
#include "widgets/panels/curve_choice.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/transfer_plot.h"

#include <QKeySequence>
#include <QWidget>

#include <functional>

class QAction;
class QBoxLayout;
class QButtonGroup;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;

namespace twb {

class FactRows;
class LedgerView;

/// The live plot, and the ledger beside it, which is its legend: a click on a row selects the edge. The whole
/// ledger, with all its columns and a filter, takes the plot's place.
class TransfersPanel : public QWidget {
    Q_OBJECT

public:
    TransfersPanel(Document& document, RunController& runs, QWidget* parent = nullptr);
    /// The units, the whole ledger and the menu, for the corner of the tab bar.
    QWidget* switches() const noexcept { return m_switches; }
    /// All options of the plot and the ledger, each group created by an `add` function. The corner's button
    /// has the same menu.
    using AddAction = std::function<QAction*(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                                             const std::function<void()>& triggered)>;
    void fillMenu(QMenu& menu, const AddAction& add);

Q_SIGNALS:
    void failed(const QString& title, const QString& sentence);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeSwitches();
    QWidget* makeLedger();
    // transfers_menu.cpp
    void fillCurvesMenu(QMenu& menu, const AddAction& add);
    void exportPicture();
    void exportCsv();
    void exportLedger();
    void exportTable(const QString& title, const QString& what, const std::function<std::string()>& table);
    bool hasRun(const QString& title);
    QString askForFile(const QString& title, const QString& what, const QStringList& filters);

    void runStarted();
    void refresh();
    void refreshNow();
    void refreshSums();
    void chooseCurves();
    void followSelection();
    void fitRows();
    void fitColumns();
    void selectRow(int row);
    void toggleCurve(int row);
    void setUnit(TransferPlot::Unit unit);
    void setWhole(bool whole);

    Document& m_document;
    RunController& m_runs;
    LedgerModel* m_model;
    LedgerFilter* m_rows;
    TransferPlot* m_plot;
    LedgerView* m_table;
    QLineEdit* m_filter;
    FactRows* m_sums;
    QLabel* m_modelled;
    QLabel* m_empty;
    QWidget* m_left = nullptr; ///< the plot, or the reason why there is none
    QWidget* m_ledger = nullptr;
    QWidget* m_foot = nullptr; ///< totals of the ledger
    QBoxLayout* m_footLayout = nullptr;
    QWidget* m_footLine = nullptr;
    QButtonGroup* m_units = nullptr;
    QPushButton* m_wholeSwitch = nullptr;
    QPushButton* m_menuButton = nullptr;
    QWidget* m_switches;
    CurveChoice m_choice;
    FrameBudget m_budget;
    bool m_begun = false; ///< the plot shows the curves of the run's plan
    bool m_whole = false;
};

} // namespace twb
