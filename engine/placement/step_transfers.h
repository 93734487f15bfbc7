#pragma once

#include "placement/analysis.h"

#include <optional>
#include <string>
#include <vector>

namespace twb {

/// A copy between devices in the iteration, or a point where the host waits for a device there.
struct StepTransfer {
    NodeId node = NodeId::none;
    Device from;
    Device to;               ///< same as `from` for a wait without a copy
    std::uint64_t bytes = 0; ///< 0 for a wait without a copy, and for an unknown size
    bool isSync = false;
};

/// Whether the host waits for the results of a node: a copy to the host that is not non_blocking, or an op on
/// an accelerator whose result sizes depend on values (nonzero, mask indexing), or a call that only waits.
bool isSync(const Graph& graph, const Analysis& analysis, const NodeFacts& facts);

/// The transfers and syncs of one iteration: all of the graph except those of frames that run once.
std::vector<StepTransfer> stepTransfers(const Graph& graph, const Analysis& analysis);

/// Whether a To between these devices converts the dtype before it copies: so it does where that makes the
/// copy smaller, unless only the target has a kernel for it. Nothing if neither device has one.
std::optional<bool> convertsFirst(const DeviceMap& devices, Device source, Device target, DType before,
                                  DType after);

} // namespace twb
