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

/// The attributes and inputs of a node, as far as they are known. Lists with an entry per axis of `axes`;
/// `roi` has two.
struct ResizeRequest {
    std::vector<std::int64_t> axes;
    std::optional<std::vector<double>> roi, scales;
    std::optional<std::vector<std::int64_t>> sizes;
};

/// The resized axes, in the order of scales, sizes and roi. Throws InferError.
std::vector<std::int64_t> resizedAxes(const Attributes& attributes, int rank);
/// The plans of all resized axes. Their sizes must be known. Throws InferError.
std::vector<AxisPlan> plansOf(const Attributes& attributes, const Shape& in, const ResizeRequest& request);
/// Those that change anything, in the best order.
std::vector<AxisPlan> usefulPlans(const Attributes& attributes, const Shape& in,
                                  const ResizeRequest& request);
Shares sharesOf(const Attributes& attributes, const AxisPlan& plan);

} // namespace twb
