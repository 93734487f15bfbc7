#pragma once

#include "widgets/panels/ledger_model.h"

#include <QTableView>

namespace twb {

/// The ledger as a table and as the plot's legend: a click on a row's mark, or Space, shows or hides its
/// curve. A click on a source line opens the editor. A click on a header sorts; the third click ends sorting.
class LedgerView : public QTableView {
    Q_OBJECT

public:
    static constexpr int kRowHeight = 24;

    enum class Columns { few, some, all };

    LedgerView(LedgerModel& model, LedgerFilter& rows, QWidget* parent = nullptr);
    /// All columns, those beside a plot, or the few beside a narrow plot.
    void setColumns(Columns columns);
    /// By row of the model; -1 selects none.
    void select(int row);
    /// The current row of the model; -1: none.
    int currentRow() const;

Q_SIGNALS:
    void rowChosen(int row);
    void curveToggled(int row);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    int sourceRow(const QModelIndex& index) const;
    void fitHeaders();
    void showSources();

    LedgerModel& m_model;
    LedgerFilter& m_rows;
    Columns m_columns = Columns::some;
};

} // namespace twb
