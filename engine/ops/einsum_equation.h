#pragma once

#include "core/shape.h"

#include <string_view>
#include <vector>

namespace twb {

/// An axis of an einsum: a letter, or one of the axes that "..." stands for, counted from the last.
using EinsumLabel = int;

/// "ij, jk -> ik": which label each axis of each operand has, and which the result's have.
struct EinsumEquation {
    std::vector<std::vector<EinsumLabel>> operands;
    std::vector<EinsumLabel> result;
};

/// Reads an equation for operands of these ranks, in NumPy's notation: letters, "...", spaces anywhere;
/// without
/// "->" the result has "..." and then the letters that occur once, in alphabetical order. Throws
/// Error(invalidArgument) with what is wrong.
EinsumEquation parseEinsum(std::string_view equation, const std::vector<int>& ranks);

} // namespace twb
