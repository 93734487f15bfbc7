#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <cmath>

namespace twb {
namespace {

Shape shapeAttributeOf(const Attributes& attributes) { return Shape(attributes.integers("shape")); }

void inferFilled(InferContext& ctx) {
    ctx.output(0, {dtypeOf(ctx.attributes(), "dtype"), shapeAttributeOf(ctx.attributes())});
}

void inferFile(InferContext& ctx) {
    if (!ctx.files())
        ctx.fail("file", -1, "the type of a File is known only where its folder is: save the project first");
    ctx.output(0, ctx.files()->typeOf(ctx.attributes().text("path")));
}

/// How many values a Constant lists; a lone number counts as one.
std::size_t constantCount(const Attributes& attributes) { return attributes.numbers("value").size(); }

/// Whether a Constant's value is written as a number rather than as a list.
bool isLoneNumber(const Attributes& attributes) {
    const AttributeValue& value = *attributes.find("value");
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
           std::holds_alternative<std::string>(value);
}

void inferConstant(InferContext& ctx) {
    const Attributes& attributes = ctx.attributes();
    const DType dtype = dtypeOf(attributes, "dtype");
    const auto count = static_cast<std::int64_t>(constantCount(attributes));
    if (!attributes.has("shape")) {
        ctx.output(0, {dtype, isLoneNumber(attributes) ? Shape{} : Shape{count}});
        return;
    }
    Shape shape = shapeAttributeOf(attributes);
    if (count != 1 && shape.elementCount() != count)
        ctx.fail(
            "attribute", -1,
            fmt::format("Constant has {} values, but its shape {} holds {}; list as many values as the shape "
                        "holds, or a single one to fill it with",
                        count, shape.toTorchString(), shape.elementCount()));
    ctx.output(0, {dtype, std::move(shape)});
}

bool isWhole(double value) {
    return std::isfinite(value) && value == std::trunc(value) && std::abs(value) < 0x1p63;
}

/// Elements of the half-open progression start, start + delta, … below limit: NumPy's arange.
void inferArange(InferContext& ctx) {
    const Attributes& attributes = ctx.attributes();
    const DType dtype = dtypeOf(attributes, "dtype");
    const double start = attributes.number("start");
    const double limit = attributes.number("limit");
    const double delta = attributes.number("delta");
    if (!std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
        ctx.fail("attribute", -1, fmt::format("unsupported range: {} -> {} by {}", start, limit, delta));
    if (delta == 0) ctx.fail("attribute", -1, "step must be nonzero: set the attribute \"delta\" of Arange");
    if (!isFloating(dtype) && !(isWhole(start) && isWhole(limit) && isWhole(delta)))
        ctx.fail("attribute", -1,
                 fmt::format(
                     "an Arange of {} needs whole numbers, but goes from {} to {} by {}; choose a floating "
                     "dtype or round them",
                     name(dtype), start, limit, delta));
    const double count = std::max(std::ceil((limit - start) / delta), 0.0);
    if (count > 0x1p62)
        ctx.fail("shape-mismatch", -1,
                 fmt::format("an Arange from {} to {} by {} has more elements than 64 bits can count", start,
                             limit, delta));
    ctx.output(0, {dtype, Shape{static_cast<std::int64_t>(count)}});
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
        makeSource("File", 0, "A tensor from a .npy file of the project's folder, read on the host", kAll);
    file.attributes = {fileAttribute("path", "The .npy file, relative to the project's folder")};
    file.infer = inferFile;
    table.push_back(std::move(file));

    Op constant = makeSource("Constant", 13, "A tensor of the values that are written here", kValues);
    constant.attributes = {
        [] {
            AttributeSpec value;
            value.name = "value";
            value.type = AttributeType::numbers;
            value.defaultValue = 0.0;
            value.doc = "The elements in row-major order, or a single number to fill the shape with";
            return value;
        }(),
        shapeAttribute("shape", std::nullopt, 0, "Sizes; absent: a list for a list of values, else a scalar"),
        dtypeAttribute("dtype", "f32", kValues, "Type of the elements")};
    constant.infer = inferConstant;
    table.push_back(std::move(constant));

    Op zeros = makeSource("Zeros", 0, "A tensor of zeros, created on its lane's device", kValues, "Y = 0");
    zeros.attributes = {shapeOfSource(), dtypeAttribute("dtype", "f32", kValues, "Type of the elements")};
    zeros.infer = inferFilled;
    table.push_back(std::move(zeros));

    Op ones = makeSource("Ones", 0, "A tensor of ones, created on its lane's device", kValues, "Y = 1");
    ones.attributes = {shapeOfSource(), dtypeAttribute("dtype", "f32", kValues, "Type of the elements")};
    ones.infer = inferFilled;
    table.push_back(std::move(ones));

    Op full = makeSource("Full", 0, "A tensor filled with one value, created on its lane's device", kValues,
                         "Y = value");
    full.attributes = {shapeOfSource(), numberAttribute("value", 0, "What every element is"),
                       dtypeAttribute("dtype", "f32", kValues, "Type of the elements")};
    full.infer = inferFilled;
    table.push_back(std::move(full));

    Op arange = makeSource("Arange", 0, "Evenly spaced values from start up to, but without, limit", kNumbers,
                           "Yᵢ = start + i · delta");
    arange.attributes = {numberAttribute("start", 0, "First value"),
                         numberAttribute("limit", 10, "Where to stop; not part of the result"),
                         numberAttribute("delta", 1, "Distance between neighbours; may be negative, not 0"),
                         dtypeAttribute("dtype", "i64", kNumbers, "Type of the elements")};
    arange.infer = inferArange;
    table.push_back(std::move(arange));
}

} // namespace twb
