#pragma once

#include "placement/analysis.h"

namespace twb {

/// Adds the copies that the policy makes of what `source` makes, one for each device that needs it, and a
/// warning for each that is to be said. Works on an analysis in which the facts of its readers are filled in.
void addImplicitCopies(const Graph& graph, const DeviceMap& devices, NodeId source, Analysis& analysis);

} // namespace twb
