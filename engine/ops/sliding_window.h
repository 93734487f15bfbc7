#pragma once

#include "backends/cpu/window.h"
#include "ops/op.h"

#include <string>
#include <vector>

namespace twb {

// The common attributes of convolutions and pooling (kernel_shape, strides, pads, dilations, auto_pad and
// ceil_mode) and the sizes that follow from them.

/// The limit for kernel, stride, dilation and padding: products of two of them fit in 64 bits.
inline constexpr std::int64_t kMaxWindowSize = (std::int64_t{1} << 31) - 1;

AttributeSpec kernelAttribute(bool required, std::string doc);
/// strides, pads, dilations, auto_pad.
std::vector<AttributeSpec> slidingAttributes();
/// group: of convolutions.
AttributeSpec groupAttribute();

/// The window of a node over the spatial axes of `in` (from the third axis on), with the kernel sizes
/// `kernel`. If a size is kUnknownDim, so is the number of positions. Throws InferError if an attribute has a
/// wrong number of entries, or if the kernel does not fit.
Window slidingWindow(const Attributes& attributes, const Shape& in, const std::vector<std::int64_t>& kernel);
/// The same with the kernel size from the attribute kernel_shape.
Window slidingWindow(const Attributes& attributes, const Shape& in);

/// The window of a transposed convolution: `in` are the sizes of its *result*, `out` those of its input X, so
/// that the window slides over the result. A non-empty `outputShape` determines the padding.
Window transposedWindow(const Attributes& attributes, const Shape& x,
                        const std::vector<std::int64_t>& kernel);

/// Sizes from axis 2 on.
std::vector<std::int64_t> spatialSizes(const Shape& shape);
/// The shape `batch` × `channels` × `sizes`.
Shape planesShape(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& sizes);
/// Fails unless `x` has a batch axis, a channel axis and at least one more.
void requireSpatial(const InferContext& ctx, int port);

} // namespace twb
