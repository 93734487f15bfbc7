#pragma once

#include "graph/diagnostic.h"

#include <QString>

namespace twb {

// What a copy costs, as every view says it.

/// "4.10 kB · 0.012 ms"
QString priceFigures(double bytes, double ns);
/// What kind of figures these are: "predicted · modelled", "modelled"; nothing for measured ones.
QString priceKind(bool predicted, bool modelled);
/// Of a fix: "4.10 kB · 0.012 ms · modelled". Nothing when the size is not known before it runs.
QString priceText(const Price& price);

} // namespace twb
