#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/resize_passes.h"
#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace twb {
namespace {

constexpr int kRoi = 1;
constexpr int kScales = 2;
constexpr int kSizes = 3;

/// How one axis is resized.
struct AxisPlan {
    int axis = 0;
    std::int64_t in = 1, out = 1;
    double scale = 1;
    double roiBegin = 0, roiEnd = 1;
};

/// The attributes and inputs of a node, as far as they are known.
struct Request {
    std::vector<std::int64_t> axes;
    std::optional<std::vector<double>> roi, scales;
    std::optional<std::vector<std::int64_t>> sizes;
};

[[noreturn]] void refuse(const std::string& sentence) { throw InferError("attribute", -1, sentence); }

std::vector<std::int64_t> axesOf(const Attributes& attributes, int rank) {
    std::vector<std::int64_t> axes;
    if (attributes.has("axes")) {
        for (std::int64_t axis : attributes.integers("axes")) {
            const auto at = normalizeAxis(axis, rank);
            if (!at)
                refuse(fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                                   -rank, rank - 1, axis));
            if (std::find(axes.begin(), axes.end(), *at) != axes.end())
                refuse(fmt::format("dim {} appears multiple times in the list of dims", *at));
            axes.push_back(*at);
        }
    }
    if (axes.empty())
        for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

std::int64_t checkedSize(double size) {
    if (!(size >= 0) || size > 0x1p53)
        throw InferError(
            "too-large", -1,
            fmt::format("the result would have {} elements along an axis, which is too many", size));
    return static_cast<std::int64_t>(size);
}

/// The plans of all resized axes. Their sizes must be known.
std::vector<AxisPlan> plansOf(const Attributes& attributes, const Shape& in, const Request& request) {
    const bool crops = attributes.text("coordinate_transformation_mode") == "tf_crop_and_resize";
    const std::size_t count = request.axes.size();
    const auto requireCount = [&](const char* what, std::size_t got, std::size_t wanted) {
        if (got != wanted)
            throw InferError(
                "shape-mismatch", -1,
                fmt::format("{} must have {} entries for {} axes, but has {}", what, wanted, count, got));
    };
    if (crops) {
        if (!request.roi) refuse("tf_crop_and_resize needs roi, the region to resize");
        requireCount("roi", request.roi->size(), 2 * count);
    }
    if (request.scales && request.sizes) refuse("Resize takes scales or sizes, not both");
    if (!request.scales && !request.sizes)
        refuse("Resize needs scales or sizes: connect one, or set the attribute");
    std::vector<AxisPlan> plans(count);
    for (std::size_t i = 0; i < count; ++i) {
        AxisPlan& plan = plans[i];
        plan.axis = static_cast<int>(request.axes[i]);
        plan.in = in[plan.axis];
        if (crops) {
            plan.roiBegin = (*request.roi)[i];
            plan.roiEnd = (*request.roi)[count + i];
        }
    }
    if (request.scales) {
        requireCount("scales", request.scales->size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            AxisPlan& plan = plans[i];
            plan.scale = (*request.scales)[i];
            if (!(plan.scale > 0) || !std::isfinite(plan.scale))
                throw InferError("shape-mismatch", -1,
                                 fmt::format("scales must be above 0, but one is {}", plan.scale));
            plan.out = checkedSize(
                std::floor(static_cast<double>(plan.in) * (plan.roiEnd - plan.roiBegin) * plan.scale));
        }
        return plans;
    }
    requireCount("sizes", request.sizes->size(), count);
    const std::string policy = attributes.text("keep_aspect_ratio_policy");
    std::optional<double> common;
    for (std::size_t i = 0; i < count; ++i) {
        AxisPlan& plan = plans[i];
        plan.out = (*request.sizes)[i];
        if (plan.out < 0)
            throw InferError("shape-mismatch", -1,
                             fmt::format("sizes must not be negative, but one is {}", plan.out));
        if (plan.in == 0 && plan.out > 0)
            throw InferError(
                "shape-mismatch", 0,
                fmt::format("Input and output sizes should be greater than 0, but axis {} has none",
                            plan.axis));
        plan.scale = plan.in == 0 ? 1 : static_cast<double>(plan.out) / static_cast<double>(plan.in);
        if (!common)
            common = plan.scale;
        else
            common = policy == "not_larger" ? std::min(*common, plan.scale) : std::max(*common, plan.scale);
    }
    if (policy == "stretch") return plans;
    for (AxisPlan& plan : plans) {
        plan.scale = *common;
        plan.out = checkedSize(std::floor(*common * static_cast<double>(plan.in) + 0.5));
    }
    return plans;
}

/// A host value of floats, from the connection or the attribute; nothing if it is absent, empty or not known
/// yet.
std::optional<std::vector<double>> numbersOf(const InferContext& ctx, int port) {
    std::vector<double> values;
    if (const Tensor* known = ctx.value(port)) {
        for (std::int64_t i = 0; i < known->elementCount(); ++i) values.push_back(known->at(i));
    } else if (!ctx.input(port)) {
        const std::string& name = ctx.op().inputAt(port).name;
        if (ctx.attributes().has(name)) values = ctx.attributes().numbers(name);
    }
    if (values.empty()) return std::nullopt;
    return values;
}

bool isEmptyInput(const InferContext& ctx, int port) {
    return ctx.input(port) && ctx.input(port)->shape == Shape{0};
}

void inferResize(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.dtype == DType::boolean && ctx.attributes().text("mode") != "nearest")
        ctx.fail("attribute", -1, "bool cannot be interpolated: set mode to \"nearest\"");
    Request request;
    request.axes = axesOf(ctx.attributes(), x.shape.rank());
    const bool crops = ctx.attributes().text("coordinate_transformation_mode") == "tf_crop_and_resize";
    bool deferred = false;
    for (int port : {kRoi, kScales, kSizes})
        deferred = deferred || (ctx.isDeferred(port) && !isEmptyInput(ctx, port) && (port != kRoi || crops));
    for (std::int64_t axis : request.axes)
        deferred = deferred || x.shape[static_cast<int>(axis)] == kUnknownDim;
    if (deferred) {
        Shape shape = x.shape;
        const auto sizes = isEmptyInput(ctx, kSizes) ? std::nullopt : ctx.integers(kSizes);
        const bool stretches = ctx.attributes().text("keep_aspect_ratio_policy") == "stretch";
        for (std::size_t i = 0; i < request.axes.size(); ++i)
            shape[static_cast<int>(request.axes[i])] =
                sizes && stretches && i < sizes->size() && (*sizes)[i] >= 0 ? (*sizes)[i] : kUnknownDim;
        ctx.output(0, {x.dtype, std::move(shape)});
        return;
    }
    request.roi = numbersOf(ctx, kRoi);
    request.scales = numbersOf(ctx, kScales);
    request.sizes = isEmptyInput(ctx, kSizes) ? std::nullopt : ctx.integers(kSizes);
    if (request.sizes && request.sizes->empty()) request.sizes.reset();
    Shape shape = x.shape;
    for (const AxisPlan& plan : plansOf(ctx.attributes(), x.shape, request)) shape[plan.axis] = plan.out;
    ctx.output(0, {x.dtype, std::move(shape)});
}

/// How positions in the result map to the input.
class Coordinates {
public:
    Coordinates(const std::string& mode, const AxisPlan& plan) : m_mode(mode), m_plan(plan) {}

    double at(std::int64_t place) const {
        const auto x = static_cast<double>(place);
        const auto in = static_cast<double>(m_plan.in);
        const double scale = m_plan.scale;
        // The exact product, which may be fractional, as in ONNX's reference.
        const double out = scale * in;
        if (m_mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
        if (m_mode == "asymmetric") return x / scale;
        if (m_mode == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
        if (m_mode == "tf_crop_and_resize") {
            const double length = m_plan.roiEnd - m_plan.roiBegin;
            const auto places = static_cast<double>(m_plan.out);
            return m_plan.roiBegin * (in - 1) +
                   (m_plan.out <= 1 ? length * (in - 1) / 2 : x * length * (in - 1) / (places - 1));
        }
        if (m_mode == "pytorch_half_pixel" && out == 1) return -0.5;
        double shift = 0;
        if (m_mode == "half_pixel_symmetric") shift = in / 2 * (1 - static_cast<double>(m_plan.out) / out);
        return shift + (x + 0.5) / scale - 0.5;
    }

    /// Whether a position is outside the cropped region.
    bool isOutside(double x) const {
        return m_mode == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(m_plan.in - 1));
    }

private:
    const std::string& m_mode;
    const AxisPlan& m_plan;
};

double cubicShare(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

std::int64_t nearestOf(double x, const std::string& mode) {
    double place = 0;
    if (mode == "floor")
        place = std::floor(x);
    else if (mode == "ceil")
        place = std::ceil(x);
    else if (mode == "round_prefer_ceil")
        place = std::floor(x + 0.5);
    else
        place = std::ceil(x - 0.5);
    return static_cast<std::int64_t>(std::clamp(place, -0x1p53, 0x1p53));
}

Shares sharesOf(const Attributes& attributes, const AxisPlan& plan) {
    const std::string mode = attributes.text("mode");
    const std::string transformation = attributes.text("coordinate_transformation_mode");
    const std::string rounding = attributes.text("nearest_mode");
    const Coordinates coordinates(transformation, plan);
    const double a = attributes.number("cubic_coeff_a");
    // With antialias, the number of taps grows with the shrink factor.
    const bool smooths = attributes.flag("antialias") && plan.scale < 1;
    const double stretch = smooths ? plan.scale : 1;
    const double radius = (mode == "cubic" ? 2 : 1) / stretch;
    const bool excludes = attributes.flag("exclude_outside") && mode != "nearest";
    Shares shares;
    for (std::int64_t place = 0; place < plan.out; ++place) {
        shares.begins.push_back(shares.taps.size());
        const double x = coordinates.at(place);
        shares.outside.push_back(coordinates.isOutside(x));
        if (shares.outside.back()) continue;
        const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, plan.in - 1); };
        if (mode == "nearest") {
            shares.taps.push_back({clamped(nearestOf(x, rounding)), 1});
            continue;
        }
        const double bounded = std::clamp(x, -radius - 1, static_cast<double>(plan.in) + radius + 1);
        double sum = 0;
        const auto first = static_cast<std::int64_t>(std::ceil(bounded - radius));
        const auto last = static_cast<std::int64_t>(std::floor(bounded + radius));
        for (std::int64_t i = first; i <= last; ++i) {
            if (excludes && (i < 0 || i >= plan.in)) continue;
            const double distance = (static_cast<double>(i) - bounded) * stretch;
            const double share =
                mode == "cubic" ? cubicShare(distance, a) : std::max(0.0, 1 - std::abs(distance));
            if (share == 0) continue;
            sum += share;
            // Beyond the ends, the first or the last element is repeated.
            const std::int64_t from = clamped(i);
            if (shares.taps.size() > shares.begins.back() && shares.taps.back().from == from)
                shares.taps.back().share += share;
            else
                shares.taps.push_back({from, share});
        }
        if (smooths || excludes)
            for (std::size_t t = shares.begins.back(); t < shares.taps.size(); ++t)
                shares.taps[t].share /= sum;
    }
    shares.begins.push_back(shares.taps.size());
    return shares;
}

std::vector<double> numbersOf(const KernelContext& ctx, int port, const char* name) {
    std::vector<double> values;
    const DenseInput in = denseInput(ctx.inputs, static_cast<std::size_t>(port));
    if (in) {
        values.resize(static_cast<std::size_t>(in.view().elementCount()));
        withAny(in.view().dtype, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (!std::is_same_v<T, element::Bool>)
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = static_cast<double>(widened(in.as<T>()[i]));
        });
    } else if (ctx.attributes.has(name)) {
        values = ctx.attributes.numbers(name);
    }
    return values;
}

std::vector<AxisPlan> plansOf(const KernelContext& ctx) {
    Request request;
    const Shape& in = ctx.inputs[0].shape;
    request.axes = axesOf(ctx.attributes, in.rank());
    const auto given = [](std::vector<double> values) {
        return values.empty() ? std::nullopt : std::optional(std::move(values));
    };
    request.roi = given(numbersOf(ctx, kRoi, "roi"));
    request.scales = given(numbersOf(ctx, kScales, "scales"));
    if (const auto sizes = given(numbersOf(ctx, kSizes, "sizes")))
        request.sizes = std::vector<std::int64_t>(sizes->begin(), sizes->end());
    std::vector<AxisPlan> plans = plansOf(ctx.attributes, in, request);
    // An unchanged axis needs no pass.
    const std::string& mode = ctx.attributes.text("coordinate_transformation_mode");
    const bool shifts = mode == "tf_crop_and_resize" || mode == "tf_half_pixel_for_nn";
    std::erase_if(plans,
                  [&](const AxisPlan& plan) { return !shifts && plan.in == plan.out && plan.scale == 1; });
    // Shrinking axes come first, which leaves less work for the others.
    std::stable_sort(plans.begin(), plans.end(), [](const AxisPlan& a, const AxisPlan& b) {
        return static_cast<double>(a.out) * static_cast<double>(b.in) <
               static_cast<double>(b.out) * static_cast<double>(a.in);
    });
    return plans;
}

/// One pass along the axis of `plan`: outer × in × inner elements become outer × out × inner.
template <class Move> void overAxis(const Shape& shape, const AxisPlan& plan, const Move& move) {
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (axis != plan.axis) (axis < plan.axis ? outer : inner) *= shape[axis];
    const std::int64_t rows = outer * plan.out;
    parallelRanges(rows, rows * inner * 4, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            move(row / plan.out * plan.in * inner, row * inner, row % plan.out, inner);
    });
}

/// Elements are moved without arithmetic.
template <class T>
void resizeNearest(const KernelContext& ctx, const std::vector<AxisPlan>& plans, T outsideValue) {
    const DenseInput x(ctx.inputs[0]);
    Shape shape = ctx.inputs[0].shape;
    const T* from = x.as<T>();
    std::vector<T> room;
    for (const AxisPlan& plan : plans) {
        const Shares shares = sharesOf(ctx.attributes, plan);
        Shape next = shape;
        next[plan.axis] = plan.out;
        const bool last = &plan == &plans.back();
        std::vector<T> made(last ? 0 : static_cast<std::size_t>(next.elementCount()));
        T* const to = last ? ctx.outputs[0].as<T>() : made.data();
        overAxis(shape, plan,
                 [&](std::int64_t source, std::int64_t target, std::int64_t place, std::int64_t inner) {
                     const auto p = static_cast<std::size_t>(place);
                     if (shares.outside[p])
                         std::fill_n(to + target, inner, outsideValue);
                     else
                         std::copy_n(from + source + shares.taps[shares.begins[p]].from * inner, inner,
                                     to + target);
                 });
        room = std::move(made);
        from = room.data();
        shape = next;
    }
}

/// f32 is computed in f32, everything else in double. Integers are truncated, as in ONNX's reference.
template <class T, class Work>
void resizeSmoothly(const KernelContext& ctx, const std::vector<AxisPlan>& plans) {
    const DenseInput x(ctx.inputs[0]);
    Shape shape = ctx.inputs[0].shape;
    const auto count = static_cast<std::size_t>(shape.elementCount());
    std::vector<Work> room(count);
    for (std::size_t i = 0; i < count; ++i) room[i] = static_cast<Work>(x.as<T>()[i]);
    const Work outsideValue = static_cast<Work>(ctx.attributes.number("extrapolation_value"));
    for (const AxisPlan& plan : plans) {
        const Shares shares = sharesOf(ctx.attributes, plan);
        Shape next = shape;
        next[plan.axis] = plan.out;
        std::vector<Work> made(static_cast<std::size_t>(next.elementCount()));
        overAxis(shape, plan,
                 [&](std::int64_t source, std::int64_t target, std::int64_t place, std::int64_t inner) {
                     const auto p = static_cast<std::size_t>(place);
                     Work* const to = made.data() + target;
                     if (shares.outside[p]) {
                         std::fill_n(to, inner, outsideValue);
                         return;
                     }
                     for (std::size_t t = shares.begins[p]; t < shares.begins[p + 1]; ++t) {
                         const Work share = static_cast<Work>(shares.taps[t].share);
                         const Work* const from = room.data() + source + shares.taps[t].from * inner;
                         for (std::int64_t i = 0; i < inner; ++i) to[i] += share * from[i];
                     }
                 });
        room = std::move(made);
        shape = next;
    }
    T* const y = ctx.outputs[0].as<T>();
    for (std::size_t i = 0; i < room.size(); ++i) {
        if constexpr (std::is_integral_v<T>)
            y[i] = element::cast<T>(std::clamp(static_cast<double>(room[i]),
                                               static_cast<double>(std::numeric_limits<T>::min()),
                                               static_cast<double>(std::numeric_limits<T>::max())));
        else
            y[i] = static_cast<T>(room[i]);
    }
}

void smoothKernel(const KernelContext& ctx) {
    const std::vector<AxisPlan> plans = plansOf(ctx);
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using Work = std::conditional_t<std::is_same_v<T, float>, float, double>;
        resizeSmoothly<T, Work>(ctx, plans);
    });
}

void resizeKernel(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.elementCount() == 0) return;
    std::vector<AxisPlan> plans = plansOf(ctx);
    if (plans.empty()) return copyElements(ctx.inputs[0], y);
    if (ctx.attributes.text("mode") != "nearest") return viaFloat<smoothKernel>(ctx);
    withAny(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        const double value = ctx.attributes.number("extrapolation_value");
        if constexpr (std::is_same_v<T, element::Bool>)
            resizeNearest<T>(ctx, plans, T(value != 0));
        else
            resizeNearest<T>(ctx, plans, element::cast<T>(value));
    });
}

PortSpec hostNumbers(std::string name, DTypeSet types) {
    PortSpec spec = optionalPort(std::move(name), {}, types);
    spec.hostValue = true;
    return spec;
}

} // namespace

std::vector<ResizePass> resizePasses(const KernelContext& ctx) {
    std::vector<ResizePass> passes;
    for (const AxisPlan& plan : plansOf(ctx))
        passes.push_back({plan.axis, plan.out, sharesOf(ctx.attributes, plan)});
    return passes;
}

void addResize(std::vector<Op>& table) {
    Op resize = makeOp("Resize", "Image", 19, "Resizes axes by interpolation");
    resize.inputs = {port("X", "input", kAll, "T1"), hostNumbers("roi", kFloats),
                     hostNumbers("scales", DTypeSet{DType::f32}), hostPort("sizes")};
    resize.inputs[3].argument = "size";
    resize.inputs[2].argument = "scale_factor";
    resize.outputs = {port("Y", "", kAll, "T1")};
    resize.attributes = {
        choiceAttribute("mode", "nearest", {"nearest", "linear", "cubic"}, "How to interpolate"),
        choiceAttribute("coordinate_transformation_mode", "half_pixel",
                        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                         "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                        "Mapping from result to input coordinates; tf_half_pixel_for_nn is from opset 11"),
        choiceAttribute("nearest_mode", "round_prefer_floor",
                        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                        "Rounding to the nearest element"),
        numbersAttribute("scales", "Scale factors, one per axis; absent: see sizes"),
        shapeAttribute("sizes", std::nullopt, 0, "New sizes, one per axis; absent: see scales"),
        integersAttribute("axes", "Axes of scales, sizes and roi; absent: all"),
        choiceAttribute(
            "keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"},
            "stretch: sizes are exact; not_larger, not_smaller: sizes are bounds, and all axes are "
            "scaled by one factor"),
        flagAttribute("antialias", false, "Antialias when shrinking"),
        numberAttribute("cubic_coeff_a", -0.75, "The coefficient of the cubic, −0.5 or −0.75"),
        flagAttribute("exclude_outside", false,
                      "Ignore elements outside the input instead of repeating the edge"),
        numberAttribute("extrapolation_value", 0, "Value outside the input for tf_crop_and_resize"),
        numbersAttribute("roi",
                         "The region of tf_crop_and_resize, from 0 to 1: begins of all axes, then ends")};
    resize.tolerance = {1e-5, 1e-5};
    resize.infer = inferResize;
    resize.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes& attributes) {
        const std::string& mode = attributes.text("mode");
        return streamingCost(inputs, outputs, mode == "cubic" ? 16 : mode == "linear" ? 8 : 0);
    };
    resize.kernel = resizeKernel;
    table.push_back(std::move(resize));
}

} // namespace twb
