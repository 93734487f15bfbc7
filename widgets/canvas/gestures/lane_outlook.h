#pragma once

#include "widgets/document.h"

#include <QString>

namespace twb {

/// What another placement would break or mend and what its transfers would cost, against the document as it
/// is: "2 mismatches more: fc1, relu" and "2 transfers, 14.4 kB · 0.013 ms → 4 transfers, …", a line each,
/// modelled figures labelled. `after` is the document's graph with nodes on other lanes of it. Empty where
/// neither changes.
QString laneOutlook(const Document& document, const Graph& after);

} // namespace twb
