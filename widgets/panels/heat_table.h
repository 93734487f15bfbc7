#pragma once

#include "widgets/canvas/heat.h"

#include <QTableView>

namespace twb {

/// A table whose cells are shaded by their model's BackgroundRole. The columns share the width. Figures are
/// drawn only if all fit into their cells; of narrow columns, only every 2nd, 5th, 10th … number is drawn.
/// Tooltips have the exact values. Rows can form groups, with a name for each group (DisplayRole of its first
/// row's header) and a word for each row (kDetailRole).
class HeatTable : public QTableView {
    Q_OBJECT

public:
    static constexpr int kDetailRole = Qt::UserRole;

    struct Options {
        bool followsEnd = false; ///< show the last column of new content, unless the user has scrolled
        int rowsPerGroup = 1;
    };
    HeatTable(QAbstractItemModel& model, Options options, QWidget* parent = nullptr);
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
    void separateGroups();

    const Options m_options;
    bool m_isAtEnd = true; ///< before new columns
    bool m_showsFigures = false;
};

/// The colour scale of a HeatTable, with the name of the quantity and its smallest and largest value.
class HeatScale : public QWidget {
    Q_OBJECT

public:
    explicit HeatScale(HeatHue hue = HeatHue::orange, QWidget* parent = nullptr);
    void setEnds(const QString& title, const QString& least, const QString& most);
    QSize sizeHint() const override { return {160, 46}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const HeatHue m_hue;
    QString m_title;
    QString m_least;
    QString m_most;
};

} // namespace twb
