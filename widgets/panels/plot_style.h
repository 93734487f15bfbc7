#pragma once

#include "widgets/panels/custom_plot.h"

namespace twb {

/// The common look of plots over iterations or steps, in the theme's colours: no axis lines, whole numbers
/// below, horizontal grid lines only.
void stylePlot(QCustomPlot& plot);

} // namespace twb
