#pragma once

#include "graph/delta.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace twb {

/// A fully connected layer as PyTorch's nn.Linear has it: y = x · Wᵀ + b with W [outputs, inputs] and b
/// [outputs], both from U(-1/√inputs, 1/√inputs), in a module. Its Gemm's input A is left open. Throws
/// Error(invalidArgument) for a size below 1.
Fragment makeLinear(std::int64_t inputs, std::int64_t outputs);

/// Linear layers with Relu between them, in a module of modules. `sizes`: inputs, hidden…, outputs; at least
/// two.
Fragment makeMlp(std::span<const std::int64_t> sizes);

/// A palette entry that is no op but a module of several.
struct Composite {
    std::string name; ///< "Linear"
    std::string doc;  ///< one line
    Fragment fragment;
};
const std::vector<Composite>& composites();
/// Null when there is no such composite.
const Composite* findComposite(std::string_view name) noexcept;

} // namespace twb
