#pragma once

#include "support/op_runner.h"

#include <limits>

namespace twb::test {

// Tensors for the suites of ops.

using List = std::vector<std::int64_t>;

/// Extreme sizes and indices: arithmetic with them overflows.
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

/// A list of integers, for axes, sizes and indices.
inline Tensor listOf(const List& values, DType dtype = DType::i64) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    if (dtype == DType::i64) return Tensor::of<std::int64_t>(shape, std::span<const std::int64_t>(values));
    return tensorOf(dtype, shape, {values.begin(), values.end()});
}

/// 0, 1, 2, … in f32.
inline Tensor counting(const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(shape.elementCount()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    return tensorOf(DType::f32, shape, values);
}

/// Small numbers in some layout.
inline Tensor any(Dice& dice, DType dtype, const Shape& shape) {
    return inLayout(dice.tensor(dtype, shape, 0, 100), dice.layout());
}

} // namespace twb::test
