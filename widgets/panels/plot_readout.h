#pragma once

#include "widgets/panels/custom_plot.h"

namespace twb {

/// A box of words beside a marked point of a plot, drawn over everything without drawing the rest again.
class PlotReadout {
public:
    explicit PlotReadout(QCustomPlot& plot);
    /// `at` in the coordinates of the plot's axes.
    void show(QPointF at, const QColor& color, const QString& text);
    void hide();
    QString text() const { return m_box->visible() ? m_box->text() : QString(); }
    /// In the theme's colours.
    void style();

private:
    void draw() { m_box->layer()->replot(); }

    QCustomPlot& m_plot;
    QCPItemTracer* m_point; ///< these belong to the plot
    QCPItemText* m_box;
};

} // namespace twb
