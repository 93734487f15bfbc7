#pragma once

#include "backends/kernel.h"
#include "core/attributes.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// Ops that are launched as one; the tensors between them are never stored. All tensors have one floating
/// dtype.
struct OpChain {
    enum class Kind : std::uint8_t {
        /// Each element of the result is computed completely before the next.
        pointwise,
        /// A Gemm or MatMul, then, each optional and in this order, an Add of a row of the product's width
        /// and an activation; or a Conv, an Add of a tensor of its result's shape and an activation; or, on
        /// the cpu, a BatchNormalization with given statistics and an activation. Whether intermediate values
        /// are rounded to the dtype is unspecified.
        product,
    };
    struct Member {
        std::string op;
        Attributes attributes; ///< complete
        /// By port: operand k is input k of the launch or, from `inputs` on, the result of member k − inputs.
        std::vector<std::size_t> operands;
        HostKernel kernel = nullptr; ///< for the cpu
    };
    std::size_t inputs = 0;
    std::vector<Member> members; ///< each after its producers; the result of the last is the launch's
    Kind kind = Kind::pointwise;
};

/// The largest number of inputs of a chain.
inline constexpr std::size_t kMaxChainInputs = 8;

} // namespace twb
