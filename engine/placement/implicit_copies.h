#pragma once

#include "placement/analysis.h"

namespace twb {

/// Adds the copies that the policy makes of the outputs of `source`, one per device, and their warnings. The
/// facts of its consumers must be complete.
void addImplicitCopies(const Graph& graph, const DeviceMap& devices, NodeId source, Analysis& analysis);

} // namespace twb
