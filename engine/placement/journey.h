#pragma once

#include "placement/analysis.h"

#include <vector>

namespace twb {

/// One place in which a tensor lives: where it was created, or a copy of it.
struct Residence {
    PortRef tensor; ///< the output that it is there; of an implicit copy, of what was copied
    Device device;
    bool isImplicit = false;     ///< the policy copies it there
    std::vector<NodeId> readers; ///< who reads it there, copies included, in the order in which they run
    NodeId dies() const noexcept { return readers.empty() ? NodeId::none : readers.back(); }
};

/// Where the tensor that leaves `output` was created, every copy of it, and who reads each: the first
/// residence is the origin, a copy comes after what it is a copy of.
std::vector<Residence> journeyOf(const Graph& graph, const Analysis& analysis, PortRef output);

} // namespace twb
