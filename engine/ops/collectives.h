#pragma once

#include "backends/world.h"
#include "ops/op.h"

#include <span>

namespace twb {

/// The calls over ranks that a launch of a collective op makes.
struct CollectiveLoad {
    CollectiveKind kind = CollectiveKind::barrier;
    std::uint64_t bytes = 0; ///< bytesOf() in a world with these ranks
};
/// `op` has OpRole::collective; the types are known.
CollectiveLoad collectiveLoad(const Op& op, std::span<const TensorType> inputs, int ranks);

} // namespace twb
