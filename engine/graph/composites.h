#pragma once

#include "graph/delta.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace twb {

/// A fully connected layer like PyTorch's nn.Linear, in a module: y = x · Wᵀ + b with W [outputs, inputs] and
/// b [outputs], both from U(-1/√inputs, 1/√inputs). Input A of its Gemm stays unconnected. Throws
/// Error(invalidArgument) for a size below 1.
Fragment makeLinear(std::int64_t inputs, std::int64_t outputs);

/// Linear layers with Relu between them, as nested modules. `sizes`: inputs, hidden…, outputs; at least two.
Fragment makeMlp(std::span<const std::int64_t> sizes);

/// A palette entry that adds a module of several ops.
struct Composite {
    std::string name; ///< "Linear"
    std::string doc;  ///< one line
    Fragment fragment;
};
const std::vector<Composite>& composites();
/// The example of an op ("Conv example"): its node, after a source for each operand, as Op::example describes
/// them. It runs wherever it is put. Null if the op has none.
const Composite* exampleOf(std::string_view op) noexcept;
/// Also finds examples. Null if there is no such composite.
const Composite* findComposite(std::string_view name) noexcept;

} // namespace twb
