#pragma once

#include "placement/analysis.h"

#include <cstddef>

namespace twb {

/// Sorts the diagnostics of an analysis as documented at Analysis::diagnostics; the first `ordered` of them
/// are sorted already. Sets NodeFacts::noted of the nodes that they are about.
void putInOrder(Analysis& analysis, std::size_t ordered = 0);

} // namespace twb
