#pragma once

#include "widgets/frame_budget.h"
#include "widgets/run_controller.h"

#include <QAbstractTableModel>
#include <QWidget>

class QLabel;
class QPushButton;
class QTableView;

namespace twb {

/// The ranks of a run, one per row, with their pace.
class RanksModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        RankColumn,
        IterationColumn,
        OwnColumn,
        WaitColumn,
        SamplesColumn,
        StepColumn,
        ShareColumn, ///< a bar of the own time and the waiting
        StateColumn,
        ColumnCount
    };
    /// Of ShareColumn: the own time and the waiting, as shares of the longest iteration.
    static constexpr int kOwnRole = Qt::UserRole;
    static constexpr int kWaitRole = Qt::UserRole + 1;
    static constexpr int kSlowestRole = Qt::UserRole + 2; ///< of any column: whether the rank is the slowest

    using QAbstractTableModel::QAbstractTableModel;
    void setRanks(const std::vector<LiveRank>& ranks);
    bool areModelled() const noexcept { return m_areModelled; }
    /// Whether a rank waits for others, as far as is known.
    bool hasWaits() const noexcept;
    bool hasSamples() const noexcept;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString text(const LiveRank& rank, int row, Column column) const;

    std::vector<LiveRank> m_ranks;
    int m_slowest = -1;
    bool m_areModelled = false;
    double m_longestNs = 0;
};

/// The pace of each rank of a run on several ranks, while it goes on and after it; or of a trace.
class RanksPanel : public QWidget {
    Q_OBJECT

public:
    explicit RanksPanel(const RunController& runs, QWidget* parent = nullptr);
    /// To be placed beside the panel's tab.
    QWidget* controls() const noexcept;
    /// Gives the focus to the table or, without ranks, to the button that opens a trace.
    void focus();

Q_SIGNALS:
    void filled(bool some); ///< whether there are several ranks
    void traceRequested();

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    void copy() const;

    const RunController& m_runs;
    RanksModel* m_model;
    QTableView* m_table;
    QLabel* m_sentence;
    QLabel* m_remark;
    QWidget* m_empty; ///< in the place of the table
    QPushButton* m_open;
    QPushButton* m_copy;
    FrameBudget m_budget;
    bool m_isFilled = false;
};

} // namespace twb
