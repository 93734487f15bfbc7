#pragma once

#include "widgets/panels/custom_plot.h"

namespace twb {

/// A text box beside a marked point of a plot, drawn as an overlay without a replot.
class PlotReadout {
public:
    explicit PlotReadout(QCustomPlot& plot);
    /// `at` in axis coordinates.
    void show(QPointF at, const QColor& color, const QString& text);
    void hide();
    QString text() const { return m_box->visible() ? m_box->text() : QString(); }
    /// In the theme's colours.
    void style();

private:
    void draw() { m_box->layer()->replot(); }

    QCustomPlot& m_plot;
    QCPItemTracer* m_point; ///< owned by the plot
    QCPItemText* m_box;
};

} // namespace twb
