#include "ops/sliding_window.h"

#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace twb {
namespace {

/// No tensor has more elements along an axis; larger sizes could overflow.
constexpr std::int64_t kMaxAxis = std::int64_t{1} << 48;

[[noreturn]] void refuse(const std::string& sentence) { throw InferError("attribute", -1, sentence); }

/// An attribute with one entry per axis; `standard` if it is absent.
std::vector<std::int64_t> entries(const Attributes& attributes, const char* name, std::size_t count,
                                  std::int64_t standard) {
    if (!attributes.has(name)) return std::vector<std::int64_t>(count, standard);
    std::vector<std::int64_t> values = attributes.integers(name);
    if (values.empty()) return std::vector<std::int64_t>(count, standard);
    if (values.size() != count)
        refuse(fmt::format(
            "attribute \"{}\" must have {} entries for an input of {} spatial axes, but is [{}]", name, count,
            std::string_view(name) == "pads" ? count / 2 : count, fmt::join(values, ", ")));
    return values;
}

AttributeSpec bounded(AttributeSpec spec) {
    spec.maximum = static_cast<double>(kMaxWindowSize);
    return spec;
}

std::string autoPadOf(const Attributes& attributes) {
    return attributes.has("auto_pad") ? attributes.text("auto_pad") : "NOTSET";
}

bool ceils(const Attributes& attributes) {
    return attributes.has("ceil_mode") && attributes.flag("ceil_mode");
}

/// The number of positions of a window over `in` elements and the padding.
std::int64_t positions(const WindowAxis& axis, bool roundUp) {
    const std::int64_t room = axis.in + axis.padBegin + axis.padEnd - axis.reach();
    if (room < 0)
        throw InferError(
            "shape-mismatch", 0,
            fmt::format("Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel "
                        "size can't be greater than actual input size",
                        axis.in + axis.padBegin + axis.padEnd, axis.reach()));
    std::int64_t out = room / axis.stride + 1;
    // ceil_mode adds a window for the remaining elements unless it would start in the padding at the end.
    if (roundUp && room % axis.stride != 0 && out * axis.stride < axis.in + axis.padBegin) ++out;
    return out;
}

void checkAxis(std::int64_t size) {
    if (size > kMaxAxis)
        throw InferError("too-large", 0,
                         fmt::format("an axis of {} elements is too long for a window", size));
}

} // namespace

AttributeSpec kernelAttribute(bool required, std::string doc) {
    AttributeSpec spec = bounded(shapeAttribute("kernel_shape", std::nullopt, 1, std::move(doc)));
    spec.required = required;
    return spec;
}

std::vector<AttributeSpec> slidingAttributes() {
    return {
        bounded(shapeAttribute("strides", std::nullopt, 1,
                               "Step of the window along each spatial axis; absent: 1")),
        bounded(shapeAttribute("pads", std::nullopt, 0,
                               "Padding before each spatial axis, then after each; absent: no padding")),
        bounded(shapeAttribute("dilations", std::nullopt, 1,
                               "Distance between window elements along each spatial axis; absent: 1")),
        choiceAttribute("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"},
                        "NOTSET: use pads. VALID: no padding. SAME: pad so that output = input / stride; an "
                        "odd padding element goes to the end (UPPER) or the beginning (LOWER)")};
}

AttributeSpec groupAttribute() {
    AttributeSpec spec = integerAttribute(
        "group", 1,
        "Number of groups of channels; each group of output channels reads its own input channels only");
    spec.minimum = 1;
    spec.maximum = static_cast<double>(kMaxWindowSize);
    return spec;
}

Window slidingWindow(const Attributes& attributes, const Shape& in, const std::vector<std::int64_t>& kernel) {
    const auto rank = static_cast<std::size_t>(std::max(in.rank() - 2, 0));
    if (kernel.size() != rank)
        refuse(
            fmt::format("the kernel must have {} axes, one for each spatial axis of the input, but is [{}]",
                        rank, fmt::join(kernel, ", ")));
    const auto strides = entries(attributes, "strides", rank, 1);
    const auto dilations = entries(attributes, "dilations", rank, 1);
    const auto pads = entries(attributes, "pads", 2 * rank, 0);
    const std::string autoPad = autoPadOf(attributes);
    Window window;
    for (std::size_t a = 0; a < rank; ++a) {
        WindowAxis axis;
        axis.in = in[static_cast<int>(a) + 2];
        axis.kernel = kernel[a];
        axis.stride = strides[a];
        axis.dilation = dilations[a];
        checkAxis(axis.in);
        const bool known = axis.in != kUnknownDim && axis.kernel != kUnknownDim;
        if (axis.kernel > kMaxWindowSize)
            throw InferError("too-large", -1,
                             fmt::format("a kernel of {} elements is too long", axis.kernel));
        if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
            axis.out = axis.in == kUnknownDim ? kUnknownDim : (axis.in + axis.stride - 1) / axis.stride;
            if (known && axis.out > 0) {
                const std::int64_t pad =
                    std::max<std::int64_t>((axis.out - 1) * axis.stride + axis.reach() - axis.in, 0);
                axis.padBegin = autoPad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
                axis.padEnd = pad - axis.padBegin;
            }
        } else {
            if (autoPad == "NOTSET") {
                axis.padBegin = pads[a];
                axis.padEnd = pads[rank + a];
            }
            axis.out = known ? positions(axis, ceils(attributes)) : kUnknownDim;
        }
        window.axes.push_back(axis);
    }
    return window;
}

Window slidingWindow(const Attributes& attributes, const Shape& in) {
    return slidingWindow(attributes, in, attributes.integers("kernel_shape"));
}

Window transposedWindow(const Attributes& attributes, const Shape& x,
                        const std::vector<std::int64_t>& kernel) {
    const auto rank = static_cast<std::size_t>(std::max(x.rank() - 2, 0));
    if (kernel.size() != rank)
        refuse(
            fmt::format("the kernel must have {} axes, one for each spatial axis of the input, but is [{}]",
                        rank, fmt::join(kernel, ", ")));
    const auto strides = entries(attributes, "strides", rank, 1);
    const auto dilations = entries(attributes, "dilations", rank, 1);
    const auto pads = entries(attributes, "pads", 2 * rank, 0);
    const auto added = entries(attributes, "output_padding", rank, 0);
    std::vector<std::int64_t> wanted;
    if (attributes.has("output_shape")) wanted = attributes.integers("output_shape");
    // Some exporters include the batch and channel axes.
    if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (!wanted.empty() && wanted.size() != rank)
        refuse(fmt::format("attribute \"output_shape\" must have {} entries, but is [{}]", rank,
                           fmt::join(wanted, ", ")));
    const std::string autoPad = autoPadOf(attributes);
    Window window;
    for (std::size_t a = 0; a < rank; ++a) {
        WindowAxis axis;
        axis.out = x[static_cast<int>(a) + 2];
        axis.kernel = kernel[a];
        axis.stride = strides[a];
        axis.dilation = dilations[a];
        axis.in = wanted.empty() ? kUnknownDim : wanted[a];
        checkAxis(axis.out);
        if (axis.kernel > kMaxWindowSize || axis.out > kMaxAxis / axis.stride)
            throw InferError("too-large", -1,
                             fmt::format("a kernel of {} and a stride of {} are too large for {} elements",
                                         axis.kernel, axis.stride, axis.out));
        if (axis.out == kUnknownDim || axis.kernel == kUnknownDim) {
            window.axes.push_back(axis);
            continue;
        }
        if (added[a] >= std::max(axis.stride, axis.dilation))
            refuse(fmt::format("output padding must be smaller than either stride or dilation, but got "
                               "output_padding {}, stride {} and dilation {}",
                               added[a], axis.stride, axis.dilation));
        const std::int64_t full = axis.stride * (axis.out - 1) + added[a] + axis.reach();
        if (!wanted.empty() || autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
            if (wanted.empty()) axis.in = axis.out * axis.stride;
            const std::int64_t pad = std::max<std::int64_t>(full - axis.in, 0);
            // By ONNX's formula, SAME_UPPER puts the odd element at the end and SAME_LOWER at the beginning.
            axis.padBegin = autoPad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
            axis.padEnd = pad - axis.padBegin;
        } else {
            if (autoPad == "NOTSET") {
                axis.padBegin = pads[a];
                axis.padEnd = pads[rank + a];
            }
            axis.in = full - axis.padBegin - axis.padEnd;
        }
        if (axis.in < 0 || (axis.in == 0 && axis.out > 0 && wanted.empty()))
            refuse(fmt::format("the output would have {} elements along an axis: padding {} and {} removes "
                               "more than its {} elements",
                               axis.in, axis.padBegin, axis.padEnd, full));
        window.axes.push_back(axis);
    }
    return window;
}

std::vector<std::int64_t> spatialSizes(const Shape& shape) {
    return {shape.begin() + std::min(shape.rank(), 2), shape.end()};
}

Shape planesShape(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> dims{batch, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return Shape(std::move(dims));
}

void requireSpatial(const InferContext& ctx, int port) {
    const Shape& shape = ctx.input(port)->shape;
    if (shape.rank() < 3)
        ctx.fail("shape-mismatch", port,
                 fmt::format("Expected an input of batch, channels and at least one spatial axis to {}, but "
                             "got input of size: {}",
                             ctx.op().name, shape.toTorchString()));
}

} // namespace twb
