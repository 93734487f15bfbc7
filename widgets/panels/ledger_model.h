#pragma once

#include "profile/transfer_figures.h"
#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include <memory>
#include <vector>

namespace twb {

/// The edges that cross lanes, with their figures: the ledger after a run, predictions before one. It is also
/// the plot's legend: the first column has the curve's colour.
class LedgerModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        EdgeColumn,
        SourceColumn, ///< the line of the imported program
        KindColumn,
        CountColumn,
        BytesColumn, ///< of one copy
        MovedColumn, ///< of all copies
        LastColumn,
        MinColumn,
        MedianColumn,
        P95Column,
        TotalColumn,
        RateColumn,
        PeakColumn,
        MemoryColumn,
        WaitColumn,
        OverlapColumn,
        PredictedColumn,
        ErrorColumn,
        TimesColumn, ///< measured, modelled or only predicted
        ColumnCount
    };
    static constexpr int kDimRole = Qt::UserRole;       ///< predicted only: drawn fainter
    static constexpr int kMarkRole = Qt::UserRole + 1;  ///< the mark of its curve, see seriesMark
    static constexpr int kShownRole = Qt::UserRole + 2; ///< whether the plot shows its curve
    static constexpr int kSortRole = Qt::UserRole + 3;  ///< a number, or a text for columns without numbers

    LedgerModel(const Document& document, const RunController& runs, QObject* parent = nullptr);

    struct Row {
        QString name;
        QString nameInFiles;        ///< in English
        std::uint32_t transfer = 0; ///< in the run's plan
        Edge edge;
        std::vector<Edge> served; ///< all edges that share the copy, including `edge`
        TransferFigures figures;  ///< count 0: predictions
        std::optional<SourceLine> source;
    };
    const std::vector<Row>& rows() const noexcept { return m_rows; }
    /// The row of the copy that serves an edge, as of the last refresh(); -1 if there is none.
    int rowOf(const Edge& edge) const;
    /// Whether a row has a source line.
    bool hasSources() const noexcept;
    /// Reads the figures again; rows do not change during a run.
    void refresh();
    /// A row as text, one line per column.
    QString wordsOf(int row) const;
    /// By row: whether the plot shows its curve.
    void setShown(std::vector<bool> shown);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// The preferred width of a column, except the edge column, which takes the rest.
    static int widthOf(Column column);

private:
    std::vector<Row> fromRun() const;
    std::vector<Row> fromPrediction() const;
    void readFigures(std::vector<Row>& rows) const;
    QString textOf(const Row& row, Column column) const;
    QVariant sortKeyOf(const Row& row, Column column) const;

    const Document& m_document;
    const RunController& m_runs;
    std::vector<Row> m_rows;
    std::vector<bool> m_shown;
    std::shared_ptr<const Plan> m_plan; ///< the plan of the rows' transfers; null: predictions
};

/// Filters rows that contain all words of a text, and sorts them by a column.
class LedgerFilter : public QSortFilterProxyModel {
    Q_OBJECT

public:
    explicit LedgerFilter(LedgerModel& model, QObject* parent = nullptr);
    void setWords(const QString& text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    const LedgerModel& m_model;
    QStringList m_words;
};

} // namespace twb
