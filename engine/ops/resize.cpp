#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/resize_passes.h"
#include "ops/resize_plan.h"
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
    ResizeRequest request;
    request.axes = resizedAxes(ctx.attributes(), x.shape.rank());
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
    ResizeRequest request;
    const Shape& in = ctx.inputs[0].shape;
    request.axes = resizedAxes(ctx.attributes, in.rank());
    const auto given = [](std::vector<double> values) {
        return values.empty() ? std::nullopt : std::optional(std::move(values));
    };
    request.roi = given(numbersOf(ctx, kRoi, "roi"));
    request.scales = given(numbersOf(ctx, kScales, "scales"));
    if (const auto sizes = given(numbersOf(ctx, kSizes, "sizes")))
        request.sizes = std::vector<std::int64_t>(sizes->begin(), sizes->end());
    return usefulPlans(ctx.attributes, in, request);
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

/// Each element `factor` times in a row along an axis.
GraphTensor repeated(GraphTensor x, int axis, std::int64_t factor) {
    std::vector<std::int64_t> dims = x.shape().dims();
    dims.insert(dims.begin() + axis + 1, 1);
    const GraphTensor each = reshape(x, Shape(dims));
    dims[static_cast<std::size_t>(axis) + 1] = factor;
    Shape out = x.shape();
    out[axis] *= factor;
    return reshape(expand(each, Shape(dims)), out);
}

/// One axis resized by other ops; the values outside the input have no gradient and are 0.
GraphTensor resizedAlong(GraphTensor x, const AxisPlan& plan, const Shares& shares) {
    std::size_t most = 1;
    bool areWhole = true; // each result is one element
    bool areRuns = plan.in > 0 && plan.out % plan.in == 0;
    for (std::size_t p = 0; p + 1 < shares.begins.size(); ++p) {
        const std::size_t first = shares.begins[p];
        const std::size_t count = shares.begins[p + 1] - first;
        most = std::max(most, count);
        areWhole = areWhole && count == 1 && shares.taps[first].share == 1;
        areRuns = areRuns && areWhole &&
                  shares.taps[first].from == static_cast<std::int64_t>(p) * plan.in / plan.out;
    }
    if (areRuns) return repeated(x, plan.axis, plan.out / plan.in);
    std::vector<double> from;
    std::vector<double> factors;
    for (std::size_t tap = 0; tap < most; ++tap)
        for (std::size_t p = 0; p + 1 < shares.begins.size(); ++p) {
            const std::size_t first = shares.begins[p];
            const std::size_t count = shares.begins[p + 1] - first;
            // A tap that a position lacks repeats the first one with the weight 0.
            from.push_back(count > 0 ? static_cast<double>(shares.taps[first + (tap < count ? tap : 0)].from)
                                     : 0);
            factors.push_back(tap < count ? shares.taps[first + tap].share : 0);
        }
    GradientContext& context = x.context();
    const auto taps = static_cast<std::int64_t>(most);
    const GraphTensor taken = gather(x, constant(context, DType::i64, {taps, plan.out}, from), plan.axis);
    Shape out = x.shape();
    out[plan.axis] = plan.out;
    if (areWhole) return reshape(taken, out);
    std::vector<std::int64_t> line(static_cast<std::size_t>(taken.shape().rank()), 1);
    line[static_cast<std::size_t>(plan.axis)] = taps;
    line[static_cast<std::size_t>(plan.axis) + 1] = plan.out;
    return reshape(sumOver(taken * constant(context, x.type().dtype, Shape(line), factors), {plan.axis}),
                   out);
}

std::vector<GraphTensor> resizedBy(GradientContext& g) {
    const auto given = [](auto list) {
        if (list && list->empty()) list.reset();
        return list;
    };
    GraphTensor x = g.input();
    const Shape in = x.shape();
    const ResizeRequest request{resizedAxes(g.attributes(), in.rank()), given(g.numbers(kRoi)),
                                given(g.numbers(kScales)), given(g.integers(kSizes))};
    for (const AxisPlan& plan : usefulPlans(g.attributes(), in, request))
        x = resizedAlong(x, plan, sharesOf(g.attributes(), plan));
    return {x};
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
    resize.gradient = [](GradientContext& g) { differentiate(g, resizedBy); };
    table.push_back(std::move(resize));

    describe(table, "Resize", "X [d₀, …] → Y [⌊d₀ · scales₀⌋, …], or Y [sizes]", {operand({1, 1, 2, 2})},
             {{"scales", Doubles{1.0, 1.0, 2.0, 2.0}}})
        .formula = "Y[i] = X at place i / scale, rounded or interpolated";
}

} // namespace twb
