#pragma once

#include "backends/kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb {

// Resize goes along one axis after the other: for every place in the result, the elements that it is made of
// and their shares are worked out once for the axis, then used for all that lies beside it.

/// What every place of the result along one axis is made of.
struct Shares {
    struct Tap {
        std::int64_t from;
        double share;
    };
    std::vector<Tap> taps;
    std::vector<std::size_t> begins; ///< of each place, and the end
    std::vector<bool> outside;       ///< gets the extrapolation value
};

struct ResizePass {
    int axis = 0;
    std::int64_t out = 1; ///< size of the axis once it is resized
    Shares shares;
};

/// Of a launch of Resize, in the order in which they are made; none where nothing changes.
std::vector<ResizePass> resizePasses(const KernelContext& ctx);

} // namespace twb
