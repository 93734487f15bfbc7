#include "backends/cpu/parallel.h"
#include "core/format.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/held_values.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace twb {
namespace {

Shape shapeAttributeOf(const Attributes& attributes) { return Shape(attributes.integers("shape")); }

void inferFilled(InferContext& ctx) {
    ctx.output(0, {dtypeOf(ctx.attributes(), "dtype"), shapeAttributeOf(ctx.attributes())});
}

void inferFull(InferContext& ctx) {
    inferFilled(ctx);
    needHeldBy(ctx, dtypeOf(ctx.attributes(), "dtype"), "value");
}

void inferFile(InferContext& ctx) {
    if (!ctx.files())
        ctx.fail("file", -1, "the type of a File is read from the project's folder: save the project first");
    ctx.output(0, ctx.files()->typeOf(ctx.attributes().text("path")));
}

/// The number of values of a Constant; a single number counts as one.
std::size_t constantCount(const Attributes& attributes) { return attributes.numbers("value").size(); }

/// Whether a Constant's value is a number rather than a list.
bool isLoneNumber(const Attributes& attributes) {
    const AttributeValue& value = *attributes.find("value");
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
           std::holds_alternative<std::string>(value);
}

void inferConstant(InferContext& ctx) {
    const Attributes& attributes = ctx.attributes();
    const DType dtype = dtypeOf(attributes, "dtype");
    const auto count = static_cast<std::int64_t>(constantCount(attributes));
    needHeldBy(ctx, dtype, "value");
    if (!attributes.has("shape")) {
        ctx.output(0, {dtype, isLoneNumber(attributes) ? Shape{} : Shape{count}});
        return;
    }
    Shape shape = shapeAttributeOf(attributes);
    if (count != 1 && shape.elementCount() != count)
        ctx.fail("attribute", -1,
                 fmt::format("Constant has {}, but its shape {} holds {}; list as many values as the shape "
                             "holds, or a single one to fill it with",
                             counted(static_cast<std::uint64_t>(count), "value"), shape.toTorchString(),
                             shape.elementCount()));
    ctx.output(0, {dtype, std::move(shape)});
}

/// The integers of an Arange. A double is exact only up to 2^53, so values written as integers are read as
/// integers.
std::int64_t wholeNumber(const Attributes& attributes, std::string_view name) {
    if (const auto* i = std::get_if<std::int64_t>(attributes.find(name))) return *i;
    const double value = attributes.number(name);
    if (value != std::trunc(value) || !(std::abs(value) < 0x1p63))
        throw InferError(
            "attribute", -1,
            fmt::format("an Arange of integers needs whole numbers, but its attribute \"{}\" is {}; round it "
                        "or choose a floating dtype",
                        name, value));
    return static_cast<std::int64_t>(value);
}

/// The number of elements of start, start + delta, … before limit, which may exceed 63 bits.
std::uint64_t countOfIntegers(std::int64_t start, std::int64_t limit, std::int64_t delta) {
    const bool up = delta > 0;
    if (up ? start >= limit : start <= limit) return 0;
    const auto low = static_cast<std::uint64_t>(up ? start : limit);
    const auto high = static_cast<std::uint64_t>(up ? limit : start);
    const std::uint64_t step = up ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
    return (high - low - 1) / step + 1;
}

/// The half-open progression of NumPy's arange.
void inferArange(InferContext& ctx) {
    const Attributes& attributes = ctx.attributes();
    const DType dtype = dtypeOf(attributes, "dtype");
    const double start = attributes.number("start");
    const double limit = attributes.number("limit");
    const double delta = attributes.number("delta");
    if (!std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
        ctx.fail("attribute", -1, fmt::format("unsupported range: {} -> {} by {}", start, limit, delta));
    if (delta == 0) ctx.fail("attribute", -1, "step must be nonzero: set the attribute \"delta\" of Arange");
    std::uint64_t count = 0;
    if (isFloating(dtype)) {
        const double steps = std::max(std::ceil((limit - start) / delta), 0.0);
        count =
            steps < 0x1p63 ? static_cast<std::uint64_t>(steps) : std::numeric_limits<std::uint64_t>::max();
    } else {
        const std::int64_t first = wholeNumber(attributes, "start");
        const std::int64_t step = wholeNumber(attributes, "delta");
        count = countOfIntegers(first, wholeNumber(attributes, "limit"), step);
        if (count > 0) {
            const std::uint64_t last =
                static_cast<std::uint64_t>(first) + (count - 1) * static_cast<std::uint64_t>(step);
            needHeldBy(ctx, dtype, "start", first);
            needHeldBy(ctx, dtype, "limit", static_cast<std::int64_t>(last));
        }
    }
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        ctx.fail("too-large", -1,
                 fmt::format("an Arange from {} to {} by {} has more elements than 64 bits can count", start,
                             limit, delta));
    ctx.output(0, {dtype, Shape{static_cast<std::int64_t>(count)}});
}

/// out[i] = value(i) for every element.
template <class T, class Value> void fill(const TensorView& out, const Value& value) {
    T* const target = out.as<T>();
    const std::int64_t total = out.elementCount();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) target[i] = value(i);
    });
}

template <int Value> void fillKernel(const KernelContext& ctx) {
    withAny(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fill<T>(ctx.outputs[0], [](std::int64_t) { return element::cast<T>(std::int32_t{Value}); });
    });
}

void fullKernel(const KernelContext& ctx) {
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

/// Numbers out of range become the largest one, but infinity stays infinity where there is one.
template <class Values> void storeNarrow(const TensorView& out, const Values& values) {
    std::vector<std::uint8_t> codes;
    for (const auto value : values)
        codes.push_back(narrowed(out.dtype, value, {.saturate = std::isfinite(static_cast<double>(value))}));
    if (codes.size() == 1) codes.resize(static_cast<std::size_t>(out.elementCount()), codes[0]);
    packCodes(out.dtype, codes.data(), out.data, 0, static_cast<std::int64_t>(codes.size()));
}

void constantKernel(const KernelContext& ctx) {
    const AttributeValue& value = *ctx.attributes.find("value");
    const auto store = [&](const auto& values) {
        if (isNarrow(ctx.outputs[0].dtype)) return storeNarrow(ctx.outputs[0], values);
        withAny(ctx.outputs[0].dtype, [&](auto zero) {
            using T = decltype(zero);
            const std::size_t step = values.size() == 1 ? 0 : 1;
            fill<T>(ctx.outputs[0], [&](std::int64_t i) {
                return element::cast<T>(values[static_cast<std::size_t>(i) * step]);
            });
        });
    };
    const bool integers = std::holds_alternative<std::int64_t>(value) ||
                          std::holds_alternative<std::vector<std::int64_t>>(value);
    if (integers)
        store(ctx.attributes.integers("value"));
    else
        store(ctx.attributes.numbers("value"));
}

void arangeKernel(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            const double start = ctx.attributes.number("start");
            const double delta = ctx.attributes.number("delta");
            fill<T>(ctx.outputs[0],
                    [=](std::int64_t i) { return static_cast<T>(start + static_cast<double>(i) * delta); });
        } else {
            const auto start = static_cast<std::uint64_t>(wholeNumber(ctx.attributes, "start"));
            const auto delta = static_cast<std::uint64_t>(wholeNumber(ctx.attributes, "delta"));
            fill<T>(ctx.outputs[0], [=](std::int64_t i) {
                return static_cast<T>(start + static_cast<std::uint64_t>(i) * delta);
            });
        }
    });
}

void fileKernel(const KernelContext& ctx) {
    const std::string& path = ctx.attributes.text("path");
    if (!ctx.files)
        throw Error(ErrorCode::io,
                    fmt::format("\"{}\" cannot be read: this run has no project folder; save the "
                                "project first",
                                path));
    ctx.files->read(path, ctx.outputs[0]);
}

Op makeSource(std::string name, int opset, std::string doc, DTypeSet types, std::string formula = {}) {
    Op op = makeOp(std::move(name), "Tensors", opset, std::move(doc), std::move(formula));
    op.role = OpRole::source;
    op.outputs = {port("output", "", types)};
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    return op;
}

AttributeSpec shapeOfSource() {
    return shapeAttribute("shape", std::vector<std::int64_t>{2, 3}, 0,
                          "Sizes, outermost first; [] is a scalar");
}

} // namespace

void addSources(std::vector<Op>& table) {
    Op file =
        makeSource("File", 0, "A tensor from a .npy, .npz or .safetensors file, read on the host", kStored);
    file.attributes = {fileAttribute(
        "path", "The file, relative to the project's folder: a.npy, a.npz#name or a.safetensors#name")};
    file.infer = inferFile;
    file.kernel = fileKernel;
    table.push_back(std::move(file));

    Op constant = makeSource("Constant", 25, "A tensor with the given values", kStored);
    constant.attributes = {
        [] {
            AttributeSpec value;
            value.name = "value";
            value.type = AttributeType::numbers;
            value.defaultValue = 0.0;
            value.doc = "The elements in row-major order, or one number for all";
            return value;
        }(),
        shapeAttribute("shape", std::nullopt, 0, "Sizes; absent: a list for a list of values, else a scalar"),
        dtypeAttribute("dtype", "f32", kStored, "Type of the elements")};
    constant.infer = inferConstant;
    constant.kernel = constantKernel;
    table.push_back(std::move(constant));

    Op zeros = makeSource("Zeros", 0, "A tensor of zeros, created on its lane's device", kAll, "Y = 0");
    zeros.attributes = {shapeOfSource(), dtypeAttribute("dtype", "f32", kAll, "Type of the elements")};
    zeros.infer = inferFilled;
    zeros.kernel = fillKernel<0>;
    table.push_back(std::move(zeros));

    Op ones = makeSource("Ones", 0, "A tensor of ones, created on its lane's device", kAll, "Y = 1");
    ones.attributes = {shapeOfSource(), dtypeAttribute("dtype", "f32", kAll, "Type of the elements")};
    ones.infer = inferFilled;
    ones.kernel = fillKernel<1>;
    table.push_back(std::move(ones));

    Op full = makeSource("Full", 0, "A tensor filled with one value, created on its lane's device", kAll,
                         "Y = value");
    full.attributes = {shapeOfSource(), numberAttribute("value", 0, "Value of every element"),
                       dtypeAttribute("dtype", "f32", kAll, "Type of the elements")};
    full.infer = inferFull;
    full.kernel = fullKernel;
    table.push_back(std::move(full));

    Op arange = makeSource("Arange", 0, "Evenly spaced values from start up to, but excluding, limit",
                           kNumbers, "Yᵢ = start + i · delta");
    arange.attributes = {numberAttribute("start", 0, "First value"),
                         numberAttribute("limit", 10, "Limit, excluded"),
                         numberAttribute("delta", 1, "Distance between neighbours; may be negative, not 0"),
                         dtypeAttribute("dtype", "i64", kNumbers, "Type of the elements")};
    arange.infer = inferArange;
    arange.kernel = viaFloat<arangeKernel>;
    table.push_back(std::move(arange));

    describeOnly(table, "File", "", "needs a file of yours");
    describe(table, "Constant", "", {}, {{"value", Doubles{1, 2, 3, 4, 5, 6}}, {"shape", Integers{2, 3}}});
    describe(table, "Full", "", {}, {{"value", 2.5}});
}

} // namespace twb
