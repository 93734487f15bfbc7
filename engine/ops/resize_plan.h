#pragma once

#include "core/attributes.h"
#include "core/shape.h"
#include "ops/resize_passes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace twb {

/// How one axis is resized.
struct AxisPlan {
    int axis = 0;
    std::int64_t in = 1, out = 1;
    double scale = 1;
    double roiBegin = 0, roiEnd = 1;
};

/// The resize that a node asks for, from its attributes and those inputs whose values are known. `scales` and
/// `sizes` have one entry per axis of `axes`; `roi` has all starts, then all ends.
struct ResizeRequest {
    std::vector<std::int64_t> axes;
    std::optional<std::vector<double>> roi, scales;
    std::optional<std::vector<std::int64_t>> sizes;
};

/// The axes that a node resizes, in the order in which its scales, sizes and roi list them. Throws
/// InferError.
std::vector<std::int64_t> resizedAxes(const Attributes& attributes, int rank);
/// One plan per resized axis. The sizes of these axes in `in` must be known. Throws InferError.
std::vector<AxisPlan> plansOf(const Attributes& attributes, const Shape& in, const ResizeRequest& request);
/// The plans of plansOf() that change the tensor. Axes that shrink most come first, so that later passes read
/// less.
std::vector<AxisPlan> usefulPlans(const Attributes& attributes, const Shape& in,
                                  const ResizeRequest& request);
Shares sharesOf(const Attributes& attributes, const AxisPlan& plan);

} // namespace twb
