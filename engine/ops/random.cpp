#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferRandom(InferContext& ctx) {
    ctx.output(0, {dtypeOf(ctx.attributes(), "dtype"), Shape(ctx.attributes().integers("shape"))});
}

/// Ten Philox rounds and a few operations of the distribution.
Cost randomCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    return streamingCost(inputs, outputs, 100);
}

Op makeRandom(std::string name, std::string doc, std::string formula, AttributeSpec first,
              AttributeSpec second) {
    Op op = makeOp(std::move(name), "Tensors", 1, std::move(doc), std::move(formula));
    op.role = OpRole::source;
    op.outputs = {port("output", "", kFloats)};
    op.attributes = {
        shapeAttribute("shape", std::vector<std::int64_t>{2, 3}, 0, "Sizes, outermost first; [] is a scalar"),
        std::move(first), std::move(second),
        integerAttribute("seed", 0, "The same seed gives the same numbers on every device"),
        dtypeAttribute("dtype", "f32", kFloats, "Type of the elements")};
    // Logarithm and cosine of the host and of a GPU may differ in the last place of a double.
    op.tolerance = {1.2e-7, 1e-30};
    op.infer = inferRandom;
    op.cost = randomCost;
    return op;
}

} // namespace

void addRandomSources(std::vector<Op>& table) {
    AttributeSpec scale = numberAttribute("scale", 1, "Standard deviation");
    scale.minimum = 0;
    table.push_back(makeRandom("RandomNormal", "Normally distributed numbers, created on its lane's device",
                               "Y = mean + scale · √(−2 ln u₁) · cos(2π u₂)",
                               numberAttribute("mean", 0, "Mean"), std::move(scale)));
    table.push_back(makeRandom("RandomUniform", "Evenly distributed numbers, created on its lane's device",
                               "Y = low + u · (high − low)", numberAttribute("low", 0, "Least value"),
                               numberAttribute("high", 1, "Bound that is not reached")));
}

} // namespace twb
