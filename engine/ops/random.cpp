#include "backends/cpu/parallel.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/parameter_start.h"
#include "ops/philox.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>

namespace twb {
namespace {

void inferRandom(InferContext& ctx) {
    ctx.output(0, {dtypeOf(ctx.attributes(), "dtype"), Shape(ctx.attributes().integers("shape"))});
}

/// The cost of ten Philox rounds and a few operations of the distribution.
Cost randomCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    return streamingCost(inputs, outputs, 100);
}

/// The cost of ten Philox rounds, in plain operations.
constexpr std::int64_t kWorkPerElement = 20;

/// out[i] = value(words of element i); see ops/philox.h.
template <class T, class Value> void fillRandom(const KernelContext& ctx, const Value& value) {
    const auto seed = static_cast<std::uint64_t>(ctx.attributes.integer("seed"));
    const TensorView& out = ctx.outputs[0];
    T* const target = out.as<T>();
    const std::int64_t total = out.elementCount();
    parallelRanges(total, kWorkPerElement * total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            target[i] = value(randomWords(seed, static_cast<std::uint64_t>(i)));
    });
}

void normalKernel(const KernelContext& ctx) {
    const double mean = ctx.attributes.number("mean");
    const double scale = ctx.attributes.number("scale");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(
            ctx, [&](PhiloxWords words) { return static_cast<T>(mean + scale * standardNormal(words)); });
    });
}

void uniformKernel(const KernelContext& ctx) {
    const double low = ctx.attributes.number("low");
    const double high = ctx.attributes.number("high");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [&](PhiloxWords words) {
            return static_cast<T>(low + static_cast<double>(uniform01<T>(words)) * (high - low));
        });
    });
}

/// Stands in for data that is not given yet: values that a network can process.
void inputKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (!isFloating(out.dtype)) {
        std::memset(out.data, 0, static_cast<std::size_t>(out.shape.byteCount(out.dtype)));
        return;
    }
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [](PhiloxWords words) { return static_cast<T>(standardNormal(words)); });
    });
}

void inferParameter(InferContext& ctx) {
    inferRandom(ctx);
    const std::string& init = ctx.attributes().text("init");
    const Shape shape(ctx.attributes().integers("shape"));
    const bool usesFans = init.starts_with("xavier") || init.starts_with("kaiming");
    if (!usesFans) return;
    if (shape.rank() < 2)
        ctx.fail(
            "attribute", -1,
            fmt::format("the initialisation {} needs a matrix or a filter, but the shape is {}; use zeros "
                        "or uniform for a bias",
                        init, shape.toTorchString()));
    if (shape.elementCount() == 0)
        ctx.fail("attribute", -1,
                 fmt::format("the initialisation {} needs elements, but the shape is {}", init,
                             shape.toTorchString()));
}

void parameterKernel(const KernelContext& ctx) {
    const ParameterStart start = parameterStart(ctx.attributes, ctx.outputs[0].shape);
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [start](PhiloxWords words) { return start.element<T>(words); });
    });
}

Op makeRandom(std::string name, std::string doc, std::string formula, AttributeSpec first,
              AttributeSpec second, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Tensors", 1, std::move(doc), std::move(formula));
    op.role = OpRole::source;
    op.outputs = {port("output", "", kFloats)};
    op.attributes = {
        shapeAttribute("shape", std::vector<std::int64_t>{2, 3}, 0, "Sizes, outermost first; [] is a scalar"),
        std::move(first), std::move(second),
        integerAttribute("seed", 0, "The same seed gives the same numbers on every device"),
        dtypeAttribute("dtype", "f32", kFloats, "Type of the elements")};
    // The host's and the GPU's logarithm and cosine may differ in the last digit of a double.
    op.tolerance = {1.2e-7, 1e-30};
    op.infer = inferRandom;
    op.cost = randomCost;
    op.kernel = kernel;
    return op;
}

} // namespace

void addRandomSources(std::vector<Op>& table) {
    Op input =
        makeOp("Input", "Tensors", 0,
               "An input of the graph; random normal numbers, or zeros for integers, until a run sets it");
    input.role = OpRole::source;
    input.outputs = {port("output", "", kStored)};
    input.attributes = {
        shapeAttribute("shape", std::vector<std::int64_t>{2, 3}, 0, "Sizes, outermost first; [] is a scalar"),
        dtypeAttribute("dtype", "f32", kStored, "Type of the elements"),
        integerAttribute("seed", 0, "The same seed gives the same numbers on every device")};
    input.tolerance = {1.2e-7, 1e-30};
    input.infer = inferRandom;
    input.cost = randomCost;
    input.kernel = viaFloat<inputKernel>;
    table.push_back(std::move(input));

    AttributeSpec scale = numberAttribute("scale", 1, "Standard deviation");
    scale.minimum = 0;
    AttributeSpec inAxis =
        integerAttribute("in_axis", 1, "Axis of the inputs: 1 for Linear and Conv, 0 for MatMul");
    inAxis.minimum = 0;
    inAxis.maximum = 1;
    AttributeSpec gain =
        numberAttribute("gain", 1, "Factor of xavier and kaiming; absent: 1, and √2 for kaiming");
    gain.defaultValue.reset();
    gain.minimum = 0;
    Op parameter = makeRandom("Parameter", "Initial value of a tensor that training changes", "",
                              choiceAttribute("init", "zeros",
                                              {"zeros", "constant", "normal", "uniform", "xavier_uniform",
                                               "xavier_normal", "kaiming_uniform", "kaiming_normal"},
                                              "Distribution, as in torch.nn.init"),
                              numberAttribute("value", 0, "Value of constant; mean of normal and uniform"),
                              viaFloat<parameterKernel>);
    AttributeSpec spread = numberAttribute("scale", 1, "normal: standard deviation; uniform: half the width");
    spread.minimum = 0;
    for (AttributeSpec* extra : {&spread, &inAxis, &gain}) parameter.attributes.push_back(std::move(*extra));
    parameter.opset = 0;
    parameter.infer = inferParameter;
    table.push_back(std::move(parameter));

    table.push_back(makeRandom("RandomNormal", "Normally distributed numbers, created on its lane's device",
                               "Y = mean + scale · √(−2 ln u₁) · cos(2π u₂)",
                               numberAttribute("mean", 0, "Mean"), std::move(scale), viaFloat<normalKernel>));
    table.push_back(makeRandom("RandomUniform", "Uniformly distributed numbers, created on its lane's device",
                               "Y = low + u · (high − low)", numberAttribute("low", 0, "Least value"),
                               numberAttribute("high", 1, "Upper bound; reached only by rounding"),
                               viaFloat<uniformKernel>));

    describe(table, "Parameter", "", {},
             {{"init", std::string("kaiming_uniform")}, {"shape", Integers{4, 3}}});
}

} // namespace twb
