#pragma once

#include "placement/analysis.h"

#include <vector>

namespace twb {

/// A device on which a tensor exists: its origin, or a copy.
struct Residence {
    PortRef tensor; ///< the output of this residence; for an implicit copy, of its source
    Device device;
    bool isImplicit = false;     ///< the policy makes the copy
    std::vector<NodeId> readers; ///< its consumers on this device, including copies, in execution order
    NodeId dies() const noexcept { return readers.empty() ? NodeId::none : readers.back(); }
};

/// The origin of the tensor at `output`, all its copies, and the consumers of each. The origin comes first; a
/// copy comes after its source.
std::vector<Residence> journeyOf(const Graph& graph, const Analysis& analysis, PortRef output);

} // namespace twb
