#pragma once

#include "runtime/plan.h"

namespace twb {

/// Chooses the values with channels-last layout (PlanValue::channelsLast): results of convolutions and values
/// derived from them, so that nothing is copied between convolutions. Values that are kept, that cross
/// devices, or that have a consumer which would copy them stay row-major. Runs before planMemory, which does
/// not reuse memory between layouts.
void planLayouts(Plan& plan);

} // namespace twb
