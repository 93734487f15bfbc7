#pragma once

#include "graph/diagnostic.h"

#include <QString>

namespace twb {

// The price of a copy, in the format of every view.

/// "4.10 kB · 0.012 ms"
QString priceFigures(double bytes, double ns);
/// The kind of the figures: "predicted · modelled", "modelled"; nothing for measured ones.
QString priceKind(bool predicted, bool modelled);
/// "measured", or "measured on HOST" for a run on another machine.
QString measuredText(const QString& host);
/// The price of a fix: "4.10 kB · 0.012 ms · modelled". Nothing if the size is unknown before a run.
QString priceText(const Price& price);
/// The text of a fix, the same in every view: "Insert To(cuda:0) on images → fc1".
QString fixText(const Fix& fix);
/// A difference with its sign, including a true minus: "+12 %", "−0.004 ms", "±0 %".
QString withSign(double change, const QString& magnitude);

} // namespace twb
