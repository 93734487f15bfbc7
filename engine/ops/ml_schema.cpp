#include "ops/ml_schema.h"

#include <fmt/format.h>

namespace twb {

Op makeMlOp(std::string name, int version, std::string doc, std::string formula, DTypeSet types,
            DTypeSet results) {
    Op op = makeOp(std::move(name), "Classic ML", version, std::move(doc), std::move(formula));
    op.domain = kMlDomain;
    op.inputs = {port("X", "input", types)};
    op.outputs = {port("Y", "", results)};
    return op;
}

std::vector<double> numbersOrNone(const Attributes& attributes, std::string_view name) {
    return attributes.has(name) ? attributes.numbers(name) : std::vector<double>{};
}

std::vector<std::int64_t> integersOrNone(const Attributes& attributes, std::string_view name) {
    return attributes.has(name) ? attributes.integers(name) : std::vector<std::int64_t>{};
}

void needRows(const InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    if (shape.rank() == 1 || shape.rank() == 2) return;
    ctx.fail("shape-mismatch", 0,
             fmt::format("{} needs rows of features, [N, C], or one row, [C], but X has the shape {}",
                         ctx.op().name, shape.toTorchString()));
}

std::int64_t rowsOf(const Shape& shape) { return shape.rank() == 1 ? 1 : shape[0]; }

std::int64_t columnsOf(const Shape& shape) { return shape[shape.rank() - 1]; }

void needPerFeature(const InferContext& ctx, std::string_view name, std::size_t length) {
    const Shape& shape = ctx.input(0)->shape;
    const std::int64_t features = shape.rank() == 0 ? 1 : columnsOf(shape);
    const auto entries = static_cast<std::int64_t>(length);
    if (entries <= 1 || entries == features || features == kUnknownDim) return;
    ctx.fail("shape-mismatch", 0,
             fmt::format("{} has {} entries, but X has {} features along its last axis: give one entry for "
                         "each of them, or one for all",
                         name, entries, features));
}

bool needOneOf(const InferContext& ctx, std::string_view first, std::string_view second) {
    const auto isGiven = [&](std::string_view name) {
        const AttributeValue* value = ctx.attributes().find(name);
        return value && !isEmptyList(*value);
    };
    if (isGiven(first) != isGiven(second)) return isGiven(first);
    ctx.fail("attribute", -1,
             fmt::format("{} needs one of {} and {}, and {}", ctx.op().name, first, second,
                         isGiven(first) ? "has both" : "has neither"));
}

} // namespace twb
