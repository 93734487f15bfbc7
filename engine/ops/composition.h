#pragma once

#include "ops/gradient.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace twb {

/// Adds ops to the graph that compute the outputs of another op from its inputs, and returns these outputs.
/// Outputs that have no gradient may be left out.
using Composition = std::function<std::vector<GraphTensor>(GradientContext&)>;

/// The gradient of an op that `composition` expresses by differentiable ops: the product of their own
/// gradients. Only the ops of the composition whose results the backward pass reads are added to the graph.
void differentiate(GradientContext& g, const Composition& composition);

// Further ops for compositions.

/// A tensor of `shape` with these values, in row-major order; a single value fills it.
GraphTensor constant(GradientContext& context, DType dtype, const Shape& shape,
                     const std::vector<double>& values);
/// start, start + delta, …, of shape [count, 1, …, 1] (`behind` ones).
GraphTensor progression(GradientContext& context, DType dtype, std::int64_t count, double start = 0,
                        double delta = 1, int behind = 0);
/// Parts of these sizes along an axis.
std::vector<GraphTensor> split(GraphTensor tensor, std::int64_t axis, const std::vector<std::int64_t>& sizes);
GraphTensor concat(GradientContext& context, const std::vector<GraphTensor>& parts, std::int64_t axis);
GraphTensor gather(GraphTensor data, GraphTensor indices, std::int64_t axis);
GraphTensor floor(GraphTensor x);
/// Limited to [low, high].
GraphTensor within(GraphTensor x, double low, double high);
/// f32 for 16-bit floats, which cannot represent all larger integers; else `dtype`.
DType forPositions(DType dtype);

} // namespace twb
