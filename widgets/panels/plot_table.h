#pragma once

#include "widgets/panels/plot_values.h"

#include <QAbstractTableModel>
#include <QPointer>
#include <QWidget>

namespace twb {

/// The values of a plot for table views.
class PlotTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    explicit PlotTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void setValues(PlotValues values);
    const PlotValues& values() const noexcept { return m_values; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    PlotValues m_values;
};

/// Gives a plot a table of its values, in a window of its own: by the plot's context menu and by "Show plot
/// as table" in the View menu. Assistive technology finds the plot as a chart that says how many values it
/// has.
class PlotTable : public QObject {
    Q_OBJECT

public:
    PlotTable(QWidget& plot, std::function<PlotValues()> values);
    PlotValues values() const { return m_values(); }
    void show();

    /// The table of the plot in `page` that has the focus, else of the first visible plot; null if there is
    /// none.
    static PlotTable* in(const QWidget& page);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget& m_plot;
    std::function<PlotValues()> m_values;
    QPointer<QWidget> m_window;
};

} // namespace twb
