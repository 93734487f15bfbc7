#pragma once

#include "ops/op.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twb {

// For the help of ops: what a family says at its end about the shapes and the example of each entry.

using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

/// One value in `values` stands for all elements.
inline ExampleInput operand(Shape shape, std::vector<double> values = {}, std::optional<DType> dtype = {}) {
    return {std::move(shape), std::move(values), dtype};
}

/// Sets Op::shapes, unless it is empty, and Op::example of an entry of the table and returns the entry.
Op& describe(std::vector<Op>& table, std::string_view op, std::string shapes,
             std::vector<std::optional<ExampleInput>> inputs = {}, Attributes attributes = {});
/// For an op without an example: `reason` ends a sentence about it.
Op& describeOnly(std::vector<Op>& table, std::string_view op, std::string shapes, std::string_view reason);

} // namespace twb
