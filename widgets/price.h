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
/// What a fix does, as every view says it: "Insert To(cuda:0) on images → fc1".
QString fixText(const Fix& fix);
/// What changes by so much, with its sign, a true minus included: "+12 %", "−0.004 ms", "±0 %".
QString withSign(double change, const QString& magnitude);

} // namespace twb
