#pragma once

#include "core/shape.h"

#include <string_view>
#include <vector>

namespace twb {

/// An axis of an einsum: a letter, or one of the axes that "..." stands for, counted from the last.
using EinsumLabel = int;

/// "ij, jk -> ik": the label of each axis of the operands and of the result.
struct EinsumEquation {
    std::vector<std::vector<EinsumLabel>> operands;
    std::vector<EinsumLabel> result;
};

/// Parses an equation for operands of these ranks, in NumPy's notation: letters, "...", spaces anywhere.
/// Without "->" the result has "..." followed by the letters that occur once, in alphabetical order. Throws
/// Error(invalidArgument) with the reason.
EinsumEquation parseEinsum(std::string_view equation, const std::vector<int>& ranks);

} // namespace twb
