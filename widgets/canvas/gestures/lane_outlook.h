#pragma once

#include "widgets/document.h"

#include <QString>

namespace twb {

/// What another placement would break or mend and what its transfers would cost, against the document as it
/// is: "2 mismatches more: fc1, relu" and "2 transfers, 14.4 kB · 0.013 ms → 4 transfers, …", a line each,
/// modelled figures labelled. `delta` moves nodes to other lanes of the document's graph. Empty where neither
/// changes.
QString laneOutlook(const Document& document, const Delta& delta);

} // namespace twb
