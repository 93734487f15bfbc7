#pragma once

#include "core/attributes.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// Ops that are launched as one, and what lies between them is never stored. All tensors have one floating
/// dtype.
struct OpChain {
    enum class Kind : std::uint8_t {
        /// Each element of the result is worked out from start to end before the next.
        pointwise,
        /// A Gemm or MatMul, then, each at most once and in this order, an Add of a row as long as those of
        /// the product and an activation; or a Conv, an Add of a tensor of its result's shape and an
        /// activation. What lies between them is rounded to the dtype or is not.
        product,
    };
    struct Member {
        std::string op;
        Attributes attributes; ///< complete
        /// By port: operand k is input k of the launch, or, from `inputs` on, the result of member k −
        /// inputs.
        std::vector<std::size_t> operands;
    };
    std::size_t inputs = 0;
    std::vector<Member> members; ///< each after those it reads; the last one's result is the launch's
    Kind kind = Kind::pointwise;
};

/// As many inputs as a chain may have.
inline constexpr std::size_t kMaxChainInputs = 8;

} // namespace twb
