#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/host_number.h"
#include "ops/philox.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

void inferDropout(InferContext& ctx) {
    for (int port : {1, 2}) knownNumber(ctx, port);
    ctx.output(0, *ctx.input(0));
    ctx.output(1, {DType::boolean, ctx.input(0)->shape});
}

double ratioOf(const KernelContext& ctx) {
    const double ratio = hostNumberOf(ctx, 1, "ratio").value_or(0);
    if (ratio >= 0 && ratio <= 1) return ratio;
    throw Error(ErrorCode::invalidArgument,
                fmt::format("dropout probability has to be between 0 and 1, but got {}", ratio));
}

bool isTraining(const KernelContext& ctx) {
    const bool isConnected = ctx.inputs.size() > 2 && ctx.inputs[2].data;
    return isConnected ? hostNumberOf(ctx, 2, "training_mode") != 0.0 : ctx.attributes.flag("training_mode");
}

void dropoutKernel(const KernelContext& ctx) {
    using element::Bool;
    const TensorView& out = ctx.outputs[0];
    Bool* const mask = ctx.outputs.size() > 1 ? ctx.outputs[1].as<Bool>() : nullptr;
    const double ratio = isTraining(ctx) ? ratioOf(ctx) : 0;
    if (out.elementCount() == 0) return;
    copyElements(ctx.inputs[0], out);
    if (ratio == 0) {
        if (mask) std::fill_n(mask, out.elementCount(), Bool(true));
        return;
    }
    const auto seed = static_cast<std::uint64_t>(ctx.attributes.integer("seed"));
    const auto iteration = static_cast<std::uint64_t>(ctx.iteration);
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const T scale = static_cast<T>(1 / (1 - ratio));
        T* const y = out.as<T>();
        const std::int64_t total = out.elementCount();
        parallelRanges(total, 20 * total, 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const bool keeps =
                    uniform01<double>(randomWords(seed, static_cast<std::uint64_t>(i), iteration)) >= ratio;
                y[i] = keeps ? y[i] * scale : T{0};
                if (mask) mask[i] = Bool(keeps);
            }
        });
    });
}

void dropoutGradient(GradientContext& g) {
    const bool training = g.input(2) ? *g.number(2) != 0 : g.attributes().flag("training_mode");
    if (!training) return g.give(0, g.gradient());
    const double ratio = g.number(1).value_or(0);
    g.give(0, where(g.output(1), g.gradient() * (ratio < 1 ? 1 / (1 - ratio) : 0)));
}

} // namespace

void addDropout(std::vector<Op>& table) {
    Op op =
        makeUnary("Dropout", "Activation", 22,
                  "In training, drops elements at random and scales up the rest; otherwise returns the input",
                  "Y = mask · X / (1 − ratio)", kFloats, 30, viaFloat<dropoutKernel>);
    op.channelsLast = ChannelsLast::no; // the element's row-major index decides whether it is dropped
    op.inputs = {port("data", "self", kFloats, "T"), hostNumber("ratio", "p", kFloats),
                 hostNumber("training_mode", "train", kBool)};
    op.outputs[0].name = "output";
    op.outputs.push_back(optionalPort("mask", "", kBool));
    AttributeSpec share = numberAttribute("ratio", 0.5, "Fraction of elements dropped in training");
    share.minimum = 0;
    share.maximum = 1;
    op.attributes = {
        std::move(share), flagAttribute("training_mode", false, "Drop elements"),
        integerAttribute(
            "seed", 0, "The same seed drops the same elements on every device; each iteration drops others")};
    op.readsIteration = true;
    op.tolerance = {1.2e-7, 0};
    op.infer = inferDropout;
    op.gradient = dropoutGradient;
    table.push_back(std::move(op));

    describe(table, "Dropout", "output and mask have the shape of data", {}, {{"training_mode", true}});
}

} // namespace twb
