#pragma once

#include "widgets/document.h"

#include <QString>

namespace twb {

/// The effect of other lanes for some nodes, compared with the current document: mismatches added or fixed,
/// and the transfers' cost. "2 mismatches more: fc1, relu" and "2 transfers, 14.4 kB · 0.013 ms → 4
/// transfers, …", one line each, with modelled times labelled. `delta` moves nodes to other lanes of the
/// document's graph. Empty if neither changes.
QString laneOutlook(const Document& document, const Delta& delta);

} // namespace twb
