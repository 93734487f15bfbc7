#pragma once

#include <QTableView>

#include <optional>

namespace twb {

/// A table whose cells are shaded by their model's BackgroundRole. The columns share the width; figures are
/// drawn only if all have room in their cells, and the numbers of narrow columns only now and then. Tooltips
/// have the exact values.
class HeatTable : public QTableView {
    Q_OBJECT

public:
    /// `followsEnd`: shows the last column of new content, unless the user has scrolled.
    HeatTable(QAbstractItemModel& model, bool followsEnd, QWidget* parent = nullptr);
    /// Whether the cells have room for their figures.
    bool showsFigures() const noexcept { return m_showsFigures; }

Q_SIGNALS:
    /// The text of the cell under the pointer or with the keyboard focus.
    void described(const QString& text);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void fit();
    void showEnd();

    const bool m_followsEnd;
    bool m_isAtEnd = true; ///< before new columns
    bool m_showsFigures = false;
};

/// The colours of a HeatTable and the values at their ends.
class HeatScale : public QWidget {
    Q_OBJECT

public:
    explicit HeatScale(QWidget* parent = nullptr);
    void setEnds(const QString& least, const QString& most, const QString& kind);
    QSize sizeHint() const override { return {160, 30}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_least;
    QString m_most;
    QString m_kind;
};

} // namespace twb
