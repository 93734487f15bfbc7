#pragma once

#include "ops/composition.h"
#include "ops/grid_axis.h"

#include <cstdint>
#include <vector>

namespace twb {

// Interpolation between the elements of images, composed of other ops: for the gradients of GridSample,
// RoiAlign and DeformConv.

/// The elements along one axis that are combined at each place, and their weights. Both are taps × images ×
/// places, where the places may have several axes.
struct AxisTaps {
    GraphTensor at;     ///< i64, within the axis
    GraphTensor weight; ///< 0 for elements outside
};

/// The taps at coordinates in elements, images × places. The coordinates of the mode nearest are whole.
/// Outside the axis are zeros, repetitions of the last element, or reflections.
AxisTaps tapsAt(GraphTensor coordinate, std::int64_t size, GridMode mode, GridPadding padding, bool corners);

/// Coordinates reflected at the outer edges of an axis, or at its last elements with `corners`.
GraphTensor reflected(GraphTensor coordinate, std::int64_t size, bool corners);

/// `x` is images × channels × spatial axes. Returns the elements of `x` at the taps, times their weights, as
/// taps of axis 0 × … × places × channels. Sizes of 1 broadcast. The first axis of places is the image:
/// images[i], or image i without `images`.
GraphTensor weightedTaps(GraphTensor x, const std::vector<AxisTaps>& axes, GraphTensor images = {});

} // namespace twb
