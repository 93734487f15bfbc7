#pragma once

#include "runtime/plan.h"

namespace twb {

/// Chooses the values with channels-last layout (PlanValue::channelsLast): results of convolutions and values
/// derived from them, so that nothing is copied between convolutions, and results of a Transpose that moves
/// the last axis to the channels', which is a copy otherwise. Values that are kept, that cross devices, or
/// that have a consumer which would copy them stay row-major. Runs before planMemory, which does not reuse
/// memory between layouts.
void planLayouts(Plan& plan);

/// Whether the step is a Transpose on the host whose result, in the chosen layouts, has its input's elements
/// in the same order in memory, so that both can have the same memory: from channels-last to a row-major
/// tensor with the channels as its last axis, or back.
bool keepsOrder(const Plan& plan, const Step& step);

} // namespace twb
