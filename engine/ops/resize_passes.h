#pragma once

#include "backends/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb {

// Resize handles one axis after the other. The taps and weights of each position are computed once per axis
// and used for all lines along it.

/// The taps of every position of the result along one axis.
struct Shares {
    struct Tap {
        std::int64_t from;
        double share;
    };
    std::vector<Tap> taps;
    std::vector<std::size_t> begins; ///< the first tap of each position, and the total
    std::vector<bool> outside;       ///< these positions get the extrapolation value
};

struct ResizePass {
    int axis = 0;
    std::int64_t out = 1; ///< the resized size of the axis
    Shares shares;
};

/// The passes of a launch of Resize, in order. Empty if no size changes.
std::vector<ResizePass> resizePasses(const KernelContext& ctx);

} // namespace twb
