#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace twb {
namespace {

void inferArg(InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), shape.rank(), -1);
    if (shape.rank() > 0 && shape[axis] == 0)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("{}(): Expected reduction dim {} to have non-zero size.",
                             ctx.op().name == "ArgMax" ? "argmax" : "argmin", axis));
    std::array<bool, kMaxRank> reduced{};
    reduced[static_cast<std::size_t>(axis)] = true;
    ctx.output(0, {DType::i64, reducedShape(shape, reduced, ctx.attributes().flag("keepdims"))});
}

Cost argCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    cost.flops = countOf(inputs[0].shape);
    return cost;
}

template <bool Largest> void argKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    std::array<bool, kMaxRank> reduced{};
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), std::max(in.shape.rank(), 1));
    reduced[static_cast<std::size_t>(axis)] = true;
    const ReductionView view = splitAxes(in, reduced);
    auto* const out = ctx.outputs[0].as<std::int64_t>();
    const auto store = [out](std::int64_t i, const auto& state) { out[i] = state.at; };
    withNumber(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce(view, ArgRule<T, Largest>{ctx.attributes.flag("select_last_index")}, store);
    });
}

Op makeArg(std::string name, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Reduce", 13, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", kNumbers)};
    op.outputs = {port("reduced", "", DTypeSet{DType::i64})};
    op.attributes = {
        integerAttribute("axis", 0, "The axis to search along, negative from the end"),
        flagAttribute("keepdims", true, "Keep the axis with size 1"),
        flagAttribute("select_last_index", false, "Choose the last of equal elements, not the first")};
    op.infer = inferArg;
    op.cost = argCost;
    op.kernel = kernel;
    op.noGradient = "gives indices";
    return op;
}

} // namespace

void addArgReductions(std::vector<Op>& table) {
    table.push_back(makeArg("ArgMax", "Index of the largest element along an axis; NaN counts as the largest",
                            "Y = argmax X", viaFloat<argKernel<true>>));
    table.push_back(makeArg("ArgMin",
                            "Index of the smallest element along an axis; NaN counts as the smallest",
                            "Y = argmin X", viaFloat<argKernel<false>>));

    describe(table, "ArgMax", "data → reduced: the axis has size 1, or is removed without keepdims", {},
             {{"axis", std::int64_t{1}}});
    describe(table, "ArgMin", "data → reduced: the axis has size 1, or is removed without keepdims", {},
             {{"axis", std::int64_t{1}}});
}

} // namespace twb
