#pragma once

#include "widgets/panels/custom_plot.h"

#include <QColor>
#include <QPainterPath>
#include <QString>

#include <vector>

namespace twb {

class TransferPlot;

/// A line of a plot's legend.
struct LegendEntry {
    QString text;
    QColor color;
    QPainterPath mark; ///< around (0, 0)
};

/// Writes the plot with a title and a legend as a picture; the path's extension selects .png (at twice the
/// size) or .svg. False if the file cannot be written.
bool exportPlot(QCustomPlot& plot, const std::vector<LegendEntry>& legend, const QString& title,
                const QString& path);
/// The same with the plot's own legend. The unit and the legend label modelled times.
bool exportPlot(TransferPlot& plot, const QString& title, const QString& path);

} // namespace twb
