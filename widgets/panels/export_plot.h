#pragma once

#include <QString>

namespace twb {

class TransferPlot;

/// Writes what the plot shows, with its legend, as a picture whose format the path's ending names: .png (at
/// twice the size) or .svg. The unit says what is modelled, and so does the legend. False when it cannot be
/// written.
bool exportPlot(TransferPlot& plot, const QString& title, const QString& path);

} // namespace twb
