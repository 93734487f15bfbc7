#pragma once

#include "core/attributes.h"

#include <cstddef>
#include <string>
#include <vector>

namespace twb {

/// Pointwise ops that are launched as one: each element of the result is worked out from start to end before
/// the next, and what lies between the ops is never stored. All tensors have one floating dtype.
struct PointwiseChain {
    struct Member {
        std::string op;
        Attributes attributes; ///< complete
        /// By port: operand k is input k of the launch, or, from `inputs` on, the result of member k −
        /// inputs.
        std::vector<std::size_t> operands;
    };
    std::size_t inputs = 0;
    std::vector<Member> members; ///< each after those it reads; the last one's result is the launch's
};

/// As many inputs as a chain may have.
inline constexpr std::size_t kMaxChainInputs = 8;

} // namespace twb
