#pragma once

#include "placement/causes.h"
#include "widgets/document.h"

#include <QAbstractTableModel>
#include <QWidget>

#include <optional>

class QLabel;
class QScrollArea;
class QTableView;
class QVBoxLayout;

namespace twb {

class ProblemCards;

/// The problems, one row per cause: a wrong source that breaks 14 ops is one row.
class ProblemsModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { SeverityColumn, CodeColumn, NodeColumn, MessageColumn, ColumnCount };

    ProblemsModel(const Document& document, QObject* parent = nullptr);
    void refresh();
    const Cause* causeAt(int row) const;
    /// The first diagnostic of its cause.
    const Diagnostic* at(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const Document& m_document;
    std::vector<Cause> m_causes;
};

/// All problems of the graph. Selecting a row selects the cause; its fixes, for one problem or all, are
/// beside it.
class ProblemsPanel : public QWidget {
    Q_OBJECT

public:
    explicit ProblemsPanel(Document& document, QWidget* parent = nullptr);
    /// Goes to the next (or previous) problem and selects its node.
    void step(int by);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void fixesRequested(const std::vector<twb::Fix>& fixes, const QString& title);
    void nodeChosen(twb::NodeId node); ///< with a row
    void shown(bool isShown);          ///< it became visible or hidden

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void refresh();
    void choose(int row);
    void showCard(int row);
    void showRemedies(const Cause* cause);
    void bringUpToDate();
    /// The row of the problem that was current before the last change; -1 if it is gone.
    int rowOfCurrent() const;

    Document& m_document;
    ProblemsModel* m_model;
    QTableView* m_table;
    QScrollArea* m_side;
    QVBoxLayout* m_remedies;
    ProblemCards* m_card;
    QLabel* m_empty;
    bool m_isStale = true; ///< changed while hidden
    bool m_isRefilling = false;
    std::optional<Diagnostic> m_current; ///< the problem of the current row
    int m_rowOfGone = -1;                ///< the row of the current problem when it was mended; -1: none
};

} // namespace twb
