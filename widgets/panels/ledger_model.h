#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QAbstractTableModel>

#include <vector>

namespace twb {

/// The edges that cross lanes and what they cost: the rows of the ledger after a run, the predictions before
/// one. It is the plot's legend too: the first column carries the curve's colour.
class LedgerModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { EdgeColumn, BytesColumn, MedianColumn, P95Column, RateColumn, ColumnCount };
    static constexpr int kDimRole = Qt::UserRole;      ///< predicted only: drawn fainter
    static constexpr int kMarkRole = Qt::UserRole + 1; ///< which mark its curve has, see seriesMark

    LedgerModel(const Document& document, const RunController& runs, QObject* parent = nullptr);

    struct Row {
        QString name;
        std::uint32_t transfer = 0; ///< of the run's plan
        Edge edge;
        std::vector<Edge> served; ///< by the one copy: `edge` and those that share it
        double bytes = 0;         ///< of one copy
        double medianNs = 0;
        double p95Ns = 0;
        double rate = 0; ///< 10^9 bytes a second
        double predictedNs = 0;
        bool predicted = true; ///< nothing has run over it
        bool modelled = true;
        bool setup = false; ///< once, outside of the iteration
    };
    const std::vector<Row>& rows() const noexcept { return m_rows; }
    /// The row of the copy that serves an edge, as of the last refresh(); -1 for none.
    int rowOf(const Edge& edge) const;
    /// The row of each transfer of the run's plan: what belongs to the iteration comes first.
    std::vector<int> rowsOfTransfers() const;
    /// Reads the figures again; rows stay the same during a run.
    void refresh();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<Row> fromRun() const;
    std::vector<Row> fromPrediction() const;

    const Document& m_document;
    const RunController& m_runs;
    std::vector<Row> m_rows;
};

} // namespace twb
