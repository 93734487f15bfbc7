#pragma once

#include "runtime/plan.h"

namespace twb {

/// Chooses the values that lie channels last in memory (PlanValue::channelsLast): what convolutions make, and
/// what follows from it, so that nothing is copied between them. What is kept, crosses devices or has a
/// reader that would have to copy it stays row-major. Before planMemory, which does not let layouts take each
/// other's place.
void planLayouts(Plan& plan);

} // namespace twb
