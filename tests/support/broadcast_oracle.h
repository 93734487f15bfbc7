#pragma once

#include "support/op_runner.h"

#include <functional>
#include <vector>

namespace twb::test {

/// The index of element `i` of `shape` in an operand that broadcasts to it.
inline std::int64_t broadcastIndex(std::int64_t i, const Shape& shape, const Shape& operand) {
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const std::int64_t place = i % shape[axis];
        i /= shape[axis];
        const int own = axis - (shape.rank() - operand.rank());
        if (own < 0) continue;
        if (operand[own] != 1) at += place * step;
        step *= operand[own];
    }
    return at;
}

/// Random shapes that broadcast to `result`: leading axes are missing, or axes have size 1.
inline Shape operandOf(Dice& dice, const Shape& result) {
    std::vector<std::int64_t> dims = result.dims();
    for (std::int64_t& size : dims)
        if (dice.one(4)) size = 1;
    while (!dims.empty() && dims.front() == 1 && dice.one(2)) dims.erase(dims.begin());
    return Shape(std::move(dims));
}

/// exact(a, b) for every element of `shape`, to which both broadcast.
inline std::vector<double> expectBroadcast(const Shape& shape, const Tensor& a, const Tensor& b,
                                           const std::function<double(double, double)>& exact) {
    std::vector<double> out(static_cast<std::size_t>(shape.elementCount()));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        out[i] =
            exact(a.at(broadcastIndex(at, shape, a.shape())), b.at(broadcastIndex(at, shape, b.shape())));
    }
    return out;
}

} // namespace twb::test
