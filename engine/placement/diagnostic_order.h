#pragma once

#include "placement/analysis.h"

#include <cstddef>

namespace twb {

/// Sorts the diagnostics of an analysis as documented there; the first `ordered` of them are sorted already.
/// Marks their nodes.
void putInOrder(Analysis& analysis, std::size_t ordered = 0);

} // namespace twb
