#pragma once

#include "placement/analysis.h"

#include <cstddef>

namespace twb {

/// Puts the diagnostics of an analysis, the first `ordered` of which are in order, in the order that it
/// promises, and marks the nodes that they are about.
void putInOrder(Analysis& analysis, std::size_t ordered = 0);

} // namespace twb
