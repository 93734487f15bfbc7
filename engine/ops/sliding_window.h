#pragma once

#include "backends/cpu/window.h"
#include "ops/op.h"

#include <string>
#include <vector>

namespace twb {

// What convolutions and pooling ops share: their attributes kernel_shape, strides, pads, dilations, auto_pad
// and ceil_mode, and the sizes that follow from them.

/// The largest kernel, stride, dilation or padding that an attribute may give: products of two of them still
/// fit in 64 bits.
inline constexpr std::int64_t kMaxWindowSize = (std::int64_t{1} << 31) - 1;

AttributeSpec kernelAttribute(bool required, std::string doc);
/// strides, pads, dilations, auto_pad.
std::vector<AttributeSpec> slidingAttributes();

/// The window of a node over the spatial axes of `in` (those from the third on), with kernels of `kernel`'s
/// sizes. Where a size is kUnknownDim, so is the number of positions. Throws InferError when an attribute has
/// another number of entries than there are axes, or when the kernel does not fit.
Window slidingWindow(const Attributes& attributes, const Shape& in, const std::vector<std::int64_t>& kernel);
/// The same with the attribute kernel_shape for the kernel.
Window slidingWindow(const Attributes& attributes, const Shape& in);

/// The window of a transposed convolution: `in` are the sizes of its *result*, `out` those of its input X, so
/// that the window slides over what it writes. `outputShape`, where it is not empty, settles the padding.
Window transposedWindow(const Attributes& attributes, const Shape& x,
                        const std::vector<std::int64_t>& kernel);

/// Sizes from axis 2 on.
std::vector<std::int64_t> spatialSizes(const Shape& shape);
/// `batch` × `channels` × the sizes that follow.
Shape planesShape(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& sizes);
/// Fails unless `x` has a batch, channels and at least one axis more.
void requireSpatial(const InferContext& ctx, int port);

} // namespace twb
