#pragma once

#include <QString>

namespace twb {

class TransferPlot;

/// Writes the plot with its legend as a picture; the path's extension selects .png (at twice the size) or
/// .svg. The unit and the legend label modelled times. False if the file cannot be written.
bool exportPlot(TransferPlot& plot, const QString& title, const QString& path);

} // namespace twb
