#pragma once

#include "placement/analysis.h"

namespace twb {

/// Adds to an analysis what is allowed but costs more than it need, or does not do what it says:
///
/// - `ping-pong` (warning): a To that brings a tensor back to a device that has it already.
/// - `non-blocking-pageable` (warning): `non_blocking` of a copy from pageable memory, which has no effect
///   (cudaMemcpyAsync stages such a source before it returns).
/// - `read-before-complete` (warning): a `non_blocking` copy to the host that is read there. A run here waits
///   for it; PyTorch does not.
/// - `transfer-in-iteration` (note): a copy in every iteration of what does not change.
/// - `small-copies` (note): many copies between two devices that take longer to start than to run.
/// - `tiny-op` (note): an op that would take less time where its operands come from and its result goes to
///   than the copies there and back take.
///
/// Linear in nodes and edges.
void addLints(const Graph& graph, const DeviceMap& devices, Analysis& analysis);

} // namespace twb
