#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {

std::vector<std::string> namesOf(DTypeSet types) {
    std::vector<std::string> names;
    for (DType dtype : kAllDTypes)
        if (types.contains(dtype)) names.emplace_back(name(dtype));
    return names;
}

Op makeOp(std::string name, std::string category, int opset, std::string doc, std::string formula) {
    Op op;
    op.name = std::move(name);
    op.category = std::move(category);
    op.opset = opset;
    op.doc = std::move(doc);
    op.formula = std::move(formula);
    return op;
}

Op makeUnary(std::string name, std::string category, int opset, std::string doc, std::string formula,
             DTypeSet types, double flopsPerElement, HostKernel kernel) {
    Op op = makeOp(std::move(name), std::move(category), opset, std::move(doc), std::move(formula));
    op.inputs = {port("X", "self", types, "T")};
    op.outputs = {port("Y", "", types, "T")};
    op.shapes = "Elementwise: the output has the shape of the input";
    op.inPlace = {0};
    op.channelsLast = ChannelsLast::pointwise;
    op.infer = [](InferContext& ctx) { ctx.output(0, *ctx.input(0)); };
    op.kernel = kernel;
    op.cost = [flopsPerElement](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                                const Attributes&) {
        return streamingCost(inputs, outputs, flopsPerElement);
    };
    return op;
}

PortSpec port(std::string name, std::string argument, DTypeSet types, std::string typeVariable) {
    PortSpec spec;
    spec.name = std::move(name);
    spec.argument = std::move(argument);
    spec.types = types;
    spec.typeVariable = std::move(typeVariable);
    return spec;
}

PortSpec optionalPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable) {
    PortSpec spec = port(std::move(name), std::move(argument), types, std::move(typeVariable));
    spec.optional = true;
    return spec;
}

PortSpec variadicPort(std::string name, std::string argument, DTypeSet types, std::string typeVariable) {
    PortSpec spec = port(std::move(name), std::move(argument), types, std::move(typeVariable));
    spec.variadic = true;
    return spec;
}

PortSpec hostPort(std::string name) {
    PortSpec spec = optionalPort(std::move(name), {}, DTypeSet{DType::i64});
    spec.hostValue = true;
    return spec;
}

namespace {
AttributeSpec attribute(std::string name, AttributeType type, std::optional<AttributeValue> value,
                        std::string doc) {
    AttributeSpec spec;
    spec.name = std::move(name);
    spec.type = type;
    spec.defaultValue = std::move(value);
    spec.doc = std::move(doc);
    return spec;
}
} // namespace

AttributeSpec flagAttribute(std::string name, bool value, std::string doc) {
    return attribute(std::move(name), AttributeType::flag, value, std::move(doc));
}

AttributeSpec integerAttribute(std::string name, std::int64_t value, std::string doc) {
    return attribute(std::move(name), AttributeType::integer, value, std::move(doc));
}

AttributeSpec numberAttribute(std::string name, double value, std::string doc) {
    return attribute(std::move(name), AttributeType::number, value, std::move(doc));
}

AttributeSpec choiceAttribute(std::string name, std::string value, std::vector<std::string> choices,
                              std::string doc) {
    AttributeSpec spec =
        attribute(std::move(name), AttributeType::enumeration, std::move(value), std::move(doc));
    spec.choices = std::move(choices);
    return spec;
}

AttributeSpec dtypeAttribute(std::string name, std::string value, DTypeSet types, std::string doc) {
    AttributeSpec spec = attribute(std::move(name), AttributeType::dtype, std::nullopt, std::move(doc));
    if (!value.empty()) spec.defaultValue = std::move(value);
    spec.choices = namesOf(types);
    return spec;
}

AttributeSpec shapeAttribute(std::string name, std::optional<std::vector<std::int64_t>> value,
                             std::int64_t minimum, std::string doc) {
    AttributeSpec spec = attribute(std::move(name), AttributeType::shape, std::nullopt, std::move(doc));
    if (value) spec.defaultValue = std::move(*value);
    spec.minimum = static_cast<double>(minimum);
    return spec;
}

AttributeSpec integersAttribute(std::string name, std::string doc) {
    return attribute(std::move(name), AttributeType::integers, std::nullopt, std::move(doc));
}

AttributeSpec numbersAttribute(std::string name, std::string doc) {
    return attribute(std::move(name), AttributeType::numbers, std::nullopt, std::move(doc));
}

AttributeSpec textsAttribute(std::string name, std::string doc) {
    return attribute(std::move(name), AttributeType::texts, std::nullopt, std::move(doc));
}

AttributeSpec fileAttribute(std::string name, std::string doc) {
    AttributeSpec spec = attribute(std::move(name), AttributeType::file, std::nullopt, std::move(doc));
    spec.required = true;
    return spec;
}

DType dtypeOf(const Attributes& attributes, std::string_view name) {
    const std::string& text = attributes.text(name);
    if (const auto dtype = parseDType(text)) return *dtype;
    throw Error(
        ErrorCode::invalidArgument,
        fmt::format("attribute \"{}\" must be a dtype such as f32 or int64, but is \"{}\"", name, text));
}

Shape broadcastOrFail(const InferContext& ctx, int port, const Shape& a, const Shape& b) {
    if (auto shape = broadcast(a, b)) return std::move(*shape);
    const int rank = std::max(a.rank(), b.rank());
    for (int axis = rank - 1; axis >= 0; --axis) {
        const int ai = axis - (rank - a.rank());
        const int bi = axis - (rank - b.rank());
        if (ai < 0 || bi < 0 || broadcast(Shape{a[ai]}, Shape{b[bi]})) continue;
        ctx.fail(
            "shape-mismatch", port,
            fmt::format("The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton "
                        "dimension {}",
                        a[ai], b[bi], axis));
    }
    ctx.fail("shape-mismatch", port,
             fmt::format("the shapes {} and {} do not broadcast", a.toTorchString(), b.toTorchString()));
}

Shape broadcastInputs(const InferContext& ctx, int a, int b) {
    return broadcastOrFail(ctx, b, ctx.input(a)->shape, ctx.input(b)->shape);
}

int axisOrFail(const InferContext& ctx, std::int64_t axis, int rank, int port) {
    const int axes = std::max(rank, 1);
    if (const auto normal = normalizeAxis(axis, axes)) return *normal;
    ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
             fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -axes,
                         axes - 1, axis));
}

int hostLength(const InferContext& ctx, int port) {
    const Shape& shape = ctx.input(port)->shape;
    const std::string& name = ctx.op().inputAt(port).name;
    if (shape.rank() > 1)
        ctx.fail(
            "shape-mismatch", port,
            fmt::format("{} must be a list of integers, but has the shape {}", name, shape.toTorchString()));
    const std::int64_t length = shape.rank() == 0 ? 1 : shape[0];
    if (length == kUnknownDim)
        ctx.fail("shape-mismatch", port,
                 fmt::format("the length of {} is not known before the run, so the result's number of "
                             "dimensions is not known either; set the attribute \"{}\" instead",
                             name, name));
    if (length > kMaxRank)
        ctx.fail(
            "shape-mismatch", port,
            fmt::format("{} has {} entries, but a tensor has {} dimensions at most", name, length, kMaxRank));
    return static_cast<int>(length);
}

double countOf(const Shape& shape) {
    double count = 1;
    for (std::int64_t size : shape) count *= static_cast<double>(std::max<std::int64_t>(size, 0));
    return count;
}

Cost streamingCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   double flopsPerElement) {
    Cost cost;
    for (const auto& types : {inputs, outputs})
        for (const TensorType& type : types) cost.bytes += countOf(type.shape) * bitsOf(type.dtype) / 8.0;
    const auto& leading = inputs.empty() ? outputs : inputs;
    if (!leading.empty()) cost.dtype = leading[0].dtype;
    const auto& counted = outputs.empty() ? inputs : outputs;
    if (!counted.empty()) cost.flops = flopsPerElement * countOf(counted[0].shape);
    return cost;
}

} // namespace twb
