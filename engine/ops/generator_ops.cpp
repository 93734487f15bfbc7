#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/held_values.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

// Ops that make a tensor from a few numbers or from another tensor's shape.

constexpr DTypeSet kRangeTypes = kFloats | DTypeSet{DType::i16, DType::i32, DType::i64};

void inferConstantOfShape(InferContext& ctx) {
    const DType dtype = dtypeOf(ctx.attributes(), "dtype");
    needHeldBy(ctx, dtype, "value");
    const int port = ctx.input(0) ? 0 : -1;
    const int length = port == 0 ? hostLength(ctx, 0) : 0;
    if (ctx.isDeferred(0)) {
        ctx.output(0,
                   {dtype, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(length), kUnknownDim))});
        return;
    }
    const auto sizes = ctx.integers(0);
    if (!sizes)
        ctx.fail("attribute", -1,
                 "ConstantOfShape needs a shape: connect one, or set the attribute \"input\"");
    for (std::int64_t size : *sizes)
        if (size < 0)
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("Trying to create tensor with negative dimension {}: [{}]", size,
                                 fmt::join(*sizes, ", ")));
    ctx.output(0, {dtype, Shape(*sizes)});
}

template <class T, class Value> void fill(const TensorView& out, const Value& value) {
    T* const target = out.as<T>();
    const std::int64_t total = out.elementCount();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) target[i] = value(i);
    });
}

void constantOfShapeKernel(const KernelContext& ctx) {
    const AttributeValue& value = *ctx.attributes.find("value");
    withAny(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        // An integer literal keeps all its digits.
        const auto* integer = std::get_if<std::int64_t>(&value);
        const T element =
            integer ? element::cast<T>(*integer) : element::cast<T>(ctx.attributes.number("value"));
        fill<T>(ctx.outputs[0], [element](std::int64_t) { return element; });
    });
}

// Range

/// start, limit and delta, as exact integers or as floating-point numbers.
template <class T> struct Bounds {
    T start{};
    T limit{};
    T delta{};
};

template <class T> T boundOf(const TensorView* view, const Attributes& attributes, const char* name) {
    if (!view) {
        if constexpr (std::is_integral_v<T>)
            if (const auto* integer = std::get_if<std::int64_t>(attributes.find(name))) return *integer;
        return element::cast<T>(attributes.number(name));
    }
    if (view->elementCount() != 1)
        throw InferError(
            "shape-mismatch", -1,
            fmt::format("{} must be one number, but has the shape {}", name, view->shape.toTorchString()));
    T out{};
    withAny(view->dtype, [&](auto zero) {
        using V = decltype(zero);
        out = element::cast<T>(*view->as<const V>());
    });
    return out;
}

template <class T>
Bounds<T> boundsOf(const std::array<const TensorView*, 3>& views, const Attributes& attributes) {
    return {boundOf<T>(views[0], attributes, "start"), boundOf<T>(views[1], attributes, "limit"),
            boundOf<T>(views[2], attributes, "delta")};
}

/// The number of elements of the half-open progression. Calls fail(kind, sentence) if it is invalid.
template <class T, class Fail> std::int64_t countOfRange(const Bounds<T>& bounds, const Fail& fail) {
    const auto [start, limit, delta] = bounds;
    std::uint64_t count = 0;
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
            fail("shape-mismatch", fmt::format("unsupported range: {} -> {} by {}", start, limit, delta));
        if (delta == 0) fail("shape-mismatch", "step must be nonzero");
        const double steps = std::max(static_cast<double>(std::ceil((limit - start) / delta)), 0.0);
        count = steps < 0x1p63 ? static_cast<std::uint64_t>(steps) : std::uint64_t{1} << 63;
    } else {
        if (delta == 0) fail("shape-mismatch", "step must be nonzero");
        const bool up = delta > 0;
        if (up ? start < limit : start > limit) {
            const auto low = static_cast<std::uint64_t>(up ? start : limit);
            const auto high = static_cast<std::uint64_t>(up ? limit : start);
            const auto step = static_cast<std::uint64_t>(delta);
            count = (high - low - 1) / (up ? step : 0 - step) + 1;
        }
    }
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail("too-large", fmt::format("a range from {} to {} by {} has more elements than 64 bits can count",
                                      start, limit, delta));
    return static_cast<std::int64_t>(count);
}

void inferRange(InferContext& ctx) {
    const TensorType* typed = nullptr;
    std::array<TensorView, 3> views;
    std::array<const TensorView*, 3> given{};
    bool deferred = false;
    for (int i = 0; i < 3; ++i) {
        if (!ctx.input(i)) continue;
        if (!typed) typed = ctx.input(i);
        deferred = deferred || ctx.isDeferred(i);
        const auto at = static_cast<std::size_t>(i);
        if (const Tensor* value = ctx.value(i)) {
            views[at] = value->view();
            given[at] = &views[at];
        }
    }
    if (!typed)
        ctx.fail("missing-input", 0,
                 "Range takes its dtype from its inputs: connect at least one, or use Arange, which has "
                 "attributes instead");
    if (deferred) {
        ctx.output(0, {typed->dtype, Shape{kUnknownDim}});
        return;
    }
    const auto fail = [&](const char* kind, const std::string& sentence) { ctx.fail(kind, -1, sentence); };
    const std::int64_t count =
        isHalfWidth(typed->dtype)  ? countOfRange(boundsOf<float>(given, ctx.attributes()), fail)
        : isFloating(typed->dtype) ? countOfRange(boundsOf<double>(given, ctx.attributes()), fail)
                                   : countOfRange(boundsOf<std::int64_t>(given, ctx.attributes()), fail);
    ctx.output(0, {typed->dtype, Shape{count}});
}

void rangeKernel(const KernelContext& ctx) {
    std::array<const TensorView*, 3> given{};
    for (std::size_t i = 0; i < 3 && i < ctx.inputs.size(); ++i)
        if (ctx.inputs[i].data) given[i] = &ctx.inputs[i];
    withAny(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_integral_v<T>) {
            const auto bounds = boundsOf<double>(given, ctx.attributes);
            fill<T>(ctx.outputs[0], [=](std::int64_t i) {
                return element::cast<T>(bounds.start + static_cast<double>(i) * bounds.delta);
            });
        } else {
            const auto bounds = boundsOf<std::int64_t>(given, ctx.attributes);
            fill<T>(ctx.outputs[0], [=](std::int64_t i) {
                return static_cast<T>(static_cast<std::uint64_t>(bounds.start) +
                                      static_cast<std::uint64_t>(i) *
                                          static_cast<std::uint64_t>(bounds.delta));
            });
        }
    });
}

// EyeLike

void inferEyeLike(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    if (input.shape.rank() != 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("EyeLike needs a matrix, but its input has {} dimensions", input.shape.rank()));
    const bool named = ctx.attributes().has("dtype");
    ctx.output(0, {named ? dtypeOf(ctx.attributes(), "dtype") : input.dtype, input.shape});
}

void eyeLikeKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const std::int64_t total = out.elementCount();
    if (total == 0) return;
    std::memset(out.data, 0, static_cast<std::size_t>(total) * sizeOf(out.dtype));
    const std::int64_t rows = out.shape[0];
    const std::int64_t columns = out.shape[1];
    const std::int64_t k = std::clamp(ctx.attributes.integer("k"), -rows, columns);
    withAny(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t row = std::max<std::int64_t>(0, -k); row < rows && row + k < columns; ++row)
            out.as<T>()[row * columns + row + k] = element::cast<T>(std::int32_t{1});
    });
}

PortSpec numberPort(const char* name) {
    PortSpec spec = optionalPort(name, name, kRangeTypes, "T");
    spec.hostValue = true;
    return spec;
}

} // namespace

void addGenerators(std::vector<Op>& table) {
    Op constant = makeOp("ConstantOfShape", "Tensors", 25,
                         "A tensor of a computed shape, filled with one value", "output = value");
    constant.inputs = {hostPort("input")};
    constant.outputs = {port("output", "", kAll)};
    constant.attributes = {shapeAttribute("input", std::nullopt, 0, "Sizes, outermost first; [] is a scalar"),
                           numberAttribute("value", 0, "Value of every element"),
                           dtypeAttribute("dtype", "f32", kAll, "Type of the elements")};
    constant.infer = inferConstantOfShape;
    constant.cost = moveCost;
    constant.kernel = constantOfShapeKernel;
    table.push_back(std::move(constant));

    Op range = makeOp("Range", "Tensors", 27, "Evenly spaced values between computed bounds, excluding limit",
                      "outputᵢ = start + i · delta");
    range.inputs = {numberPort("start"), numberPort("limit"), numberPort("delta")};
    range.outputs = {port("output", "", kRangeTypes, "T")};
    range.attributes = {numberAttribute("start", 0, "First value"),
                        numberAttribute("limit", 10, "Limit, excluded"),
                        numberAttribute("delta", 1, "Distance between neighbours; may be negative, not 0"),
                        integerAttribute("stash_type", 1,
                                         "ONNX's code of the dtype used for f16 and bf16; at least f32 is "
                                         "used")};
    range.infer = inferRange;
    range.kernel = rangeKernel;
    table.push_back(std::move(range));

    Op eye = makeOp("EyeLike", "Tensors", 22,
                    "Ones on a diagonal and zeros elsewhere, in the shape of the given matrix",
                    "output[i, i + k] = 1");
    eye.inputs = {port("input", "self", kAll)};
    eye.outputs = {port("output", "", kAll)};
    eye.attributes = {dtypeAttribute("dtype", "", kAll, "Type of the elements; absent: the input's"),
                      integerAttribute("k", 0, "Diagonal: positive above the main one, negative below")};
    eye.readsTypesOnly = true;
    eye.infer = inferEyeLike;
    eye.cost = [](std::span<const TensorType>, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost({}, outputs, 0);
    };
    eye.kernel = eyeLikeKernel;
    eye.noGradient = "reads only the type of its input";
    table.push_back(std::move(eye));

    describe(table, "ConstantOfShape", "input [r] → output [input₀, …, inputᵣ₋₁]", {},
             {{"input", Integers{2, 3}}, {"value", 1.5}});
    describe(table, "Range", "→ output [⌈(limit − start) / delta⌉]",
             {operand(Shape{}, {1}), operand(Shape{}, {6}), operand(Shape{}, {2})});
    describe(table, "EyeLike", "input [m, n] → output [m, n]");
}

} // namespace twb
