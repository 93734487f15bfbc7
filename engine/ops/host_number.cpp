#include "ops/host_number.h"

#include "ops/cast.h"
#include "ops/schema.h"

#include <fmt/format.h>

namespace twb {
namespace {

double numberIn(const TensorView& view) {
    Tensor keep;
    return *denseAs(DType::f64, view, keep).as<const double>();
}

} // namespace

PortSpec hostNumber(std::string name, std::string argument, DTypeSet types) {
    PortSpec spec = optionalPort(std::move(name), std::move(argument), types);
    spec.hostValue = true;
    return spec;
}

std::optional<double> knownNumber(const InferContext& ctx, int port) {
    const std::string& name = ctx.op().inputAt(port).name;
    if (const TensorType* type = ctx.input(port)) {
        if (type->shape.isKnown() && type->shape.elementCount() != 1)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must be a single number, but has the shape {}", name,
                                 type->shape.toTorchString()));
        const Tensor* value = ctx.value(port);
        return value ? std::optional(numberIn(value->view())) : std::nullopt;
    }
    const AttributeSpec* spec = ctx.op().attribute(name);
    if (!ctx.attributes().has(name) || spec->type == AttributeType::flag) return std::nullopt;
    return ctx.attributes().number(name);
}

std::optional<double> hostNumberOf(const KernelContext& ctx, int port, std::string_view name) {
    const auto i = static_cast<std::size_t>(port);
    if (i < ctx.inputs.size() && ctx.inputs[i].data) {
        if (ctx.inputs[i].elementCount() != 1)
            throw Error(ErrorCode::invalidArgument, fmt::format("{} must be a single number", name));
        return numberIn(ctx.inputs[i]);
    }
    return ctx.attributes.has(name) ? std::optional(ctx.attributes.number(name)) : std::nullopt;
}

} // namespace twb
