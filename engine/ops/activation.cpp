#include "backends/cpu/elementwise.h"
#include "ops/activation_functions.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"
#include "ops/unary_kernels.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace twb {
namespace {

void geluKernel(const KernelContext& ctx) {
    if (ctx.attributes.text("approximate") == "tanh")
        unaryFloatKernel<element::GeluTanh>(ctx);
    else
        unaryFloatKernel<element::GeluErf>(ctx);
}

/// An activation F with the single parameter alpha.
template <class F> void alphaKernel(const KernelContext& ctx) {
    mapFloats(ctx, F{ctx.attributes.number("alpha")});
}

void seluKernel(const KernelContext& ctx) {
    mapFloats(ctx, element::Selu{ctx.attributes.number("alpha"), ctx.attributes.number("gamma")});
}

void hardSigmoidKernel(const KernelContext& ctx) {
    mapFloats(ctx, element::HardSigmoid{ctx.attributes.number("alpha"), ctx.attributes.number("beta")});
}

void shrinkKernel(const KernelContext& ctx) {
    const element::Shrink shrink{ctx.attributes.number("bias"), ctx.attributes.number("lambd")};
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], shrink);
    });
}

void inferPRelu(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const Shape& slope = ctx.input(1)->shape;
    const Shape both = broadcastInputs(ctx, 0, 1);
    // The slope is broadcast to X's shape; X is never broadcast.
    if (both.rank() != x.shape.rank() || (both.isKnown() && x.shape.isKnown() && both != x.shape))
        ctx.fail("shape-mismatch", 1,
                 fmt::format("the slope of PRelu must broadcast to X, but has shape {} and X has {}",
                             slope.toTorchString(), x.shape.toTorchString()));
    ctx.output(0, x);
}

void pReluKernel(const KernelContext& ctx) {
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::PRelu{});
    });
}

void inferReluGrad(InferContext& ctx) {
    const TensorType& y = *ctx.input(1);
    const Shape& dy = ctx.input(0)->shape;
    if (dy.rank() != y.shape.rank() || (dy.isKnown() && y.shape.isKnown() && dy != y.shape))
        ctx.fail("shape-mismatch", 0,
                 fmt::format("the gradient of a result must have its shape {}, but has shape {}",
                             y.shape.toTorchString(), dy.toTorchString()));
    ctx.output(0, y);
}

void reluGradKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::ReluGrad{});
    });
}

void inferClip(InferContext& ctx) {
    for (int i : {1, 2})
        if (const TensorType* bound = ctx.input(i))
            if (bound->shape.isKnown() && bound->shape.elementCount() != 1)
                ctx.fail("shape-mismatch", i,
                         fmt::format("{} of Clip must be a single number, but has the shape {}",
                                     ctx.op().inputAt(i).name, bound->shape.toTorchString()));
    ctx.output(0, *ctx.input(0));
}

/// A bound of Clip, in this order: the connected value, the attribute, `open`.
template <class T> T boundOf(const KernelContext& ctx, std::size_t port, std::string_view name, T open) {
    if (port < ctx.inputs.size() && ctx.inputs[port].data) {
        if (ctx.inputs[port].elementCount() != 1)
            throw Error(ErrorCode::invalidArgument, fmt::format("{} of Clip must be a single number", name));
        return *ctx.inputs[port].as<const T>();
    }
    const AttributeValue* value = ctx.attributes.find(name);
    if (!value) return open;
    const auto* integer = std::get_if<std::int64_t>(value);
    return integer ? element::cast<T>(*integer) : element::cast<T>(ctx.attributes.number(name));
}

void clipKernel(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using Limits = std::numeric_limits<T>;
        const T lowest = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
        const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
        const element::Clip<T> clip{boundOf<T>(ctx, 1, "min", lowest), boundOf<T>(ctx, 2, "max", highest)};
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], clip);
    });
}

void pReluGradient(GradientContext& g) {
    const GraphTensor isPositive = g.input(0) > 0;
    if (g.isWanted(0)) g.give(0, where(isPositive, g.gradient(), g.gradient() * g.input(1)));
    if (g.isWanted(1)) g.give(1, where(isPositive, 0, g.gradient() * g.input(0)));
}

void seluGradient(GradientContext& g) {
    const double gamma = g.attributes().number("gamma");
    const double least = gamma * g.attributes().number("alpha"); // results approach its negative
    g.give(0, where(g.input() > 0, g.gradient() * gamma, g.gradient() * (g.output() + least)));
}

void softsignGradient(GradientContext& g) {
    const GraphTensor divisor = apply("Abs", {g.input()}) + 1;
    g.give(0, g.gradient() / (divisor * divisor));
}

void mishGradient(GradientContext& g) {
    const GraphTensor t = apply("Tanh", {apply("Softplus", {g.input()})});
    const GraphTensor slope = g.input() * apply("Sigmoid", {g.input()}) * (1 - t * t);
    g.give(0, g.gradient() * (t + slope));
}

void swishGradient(GradientContext& g) {
    const double alpha = g.attributes().number("alpha");
    const GraphTensor gate = apply("Sigmoid", {g.input() * alpha});
    g.give(0, g.gradient() * (gate + alpha * g.output() * (1 - gate)));
}

void inferSwiGlu(InferContext& ctx) {
    const TensorType& a = *ctx.input(0);
    const Shape& b = ctx.input(1)->shape;
    if (a.shape.rank() != b.rank() || (a.shape.isKnown() && b.isKnown() && a.shape != b))
        ctx.fail("shape-mismatch", 1,
                 fmt::format("the gate and the value of SwiGLU must have the same shape, but have {} and {}",
                             a.shape.toTorchString(), b.toTorchString()));
    ctx.output(0, a.shape.isKnown() ? a : *ctx.input(1));
}

void swiGluKernel(const KernelContext& ctx) {
    const element::SwiGlu f{ctx.attributes.number("alpha")};
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], f);
    });
}

void hardSwishGradient(GradientContext& g) {
    const GraphTensor between = g.gradient() * (g.input() / 3 + 0.5);
    g.give(0, where(g.input() > 3, g.gradient(), where(g.input() < -3, 0, between)));
}

void geluGradient(GradientContext& g) {
    const GraphTensor x = g.input();
    if (g.attributes().text("approximate") == "tanh") {
        constexpr double kCubic = 0.044715; // of the approximation's polynomial
        const double factor = std::sqrt(2 / std::numbers::pi);
        const GraphTensor square = x * x;
        const GraphTensor t = apply("Tanh", {factor * x * (kCubic * square + 1)});
        const GraphTensor slope = x * (1 - t * t) * (factor * (3 * kCubic * square + 1));
        return g.give(0, g.gradient() * 0.5 * (t + 1 + slope));
    }
    const GraphTensor share = 0.5 * (apply("Erf", {x * std::numbers::sqrt2 * 0.5}) + 1);
    const GraphTensor density = apply("Exp", {x * x * -0.5}) * (1 / std::sqrt(2 * std::numbers::pi));
    g.give(0, g.gradient() * (share + x * density));
}

Op makeActivation(std::string name, int opset, std::string doc, std::string formula, double flops,
                  HostKernel kernel) {
    Op op = makeUnary(std::move(name), "Activation", opset, std::move(doc), std::move(formula), kFloats,
                      flops, kernel);
    op.tolerance = {1e-6, 1e-7};
    return op;
}

/// A single number that the host reads; the attribute of the same name stands in for it.
PortSpec hostBound(std::string name, std::string argument) {
    PortSpec spec = optionalPort(std::move(name), std::move(argument), kNumbers, "T");
    spec.hostValue = true;
    return spec;
}

void addRectifiers(std::vector<Op>& table) {
    Op leaky = makeActivation("LeakyRelu", 16, "Negative numbers are scaled down",
                              "Y = X < 0 ? alpha · X : X", 2, viaFloat<alphaKernel<element::LeakyRelu>>);
    leaky.element = {"LeakyRelu", {"alpha"}};
    leaky.torch = "F.leaky_relu({0}, {alpha})";
    leaky.gradient = [](GradientContext& g) {
        g.give(0, where(g.input() > 0, g.gradient(), g.gradient() * g.attributes().number("alpha")));
    };
    leaky.attributes = {numberAttribute("alpha", 0.01, "Slope below 0")};
    table.push_back(std::move(leaky));

    Op prelu = makeOp("PRelu", "Activation", 16, "Negative numbers are scaled by a learned slope",
                      "Y = X < 0 ? slope · X : X");
    prelu.element = {"PRelu"};
    prelu.torch = "torch.where({0} < 0, {1} * {0}, {0})";
    prelu.gradient = pReluGradient;
    prelu.inputs = {port("X", "self", kMatrixTypes, "T"), port("slope", "weight", kMatrixTypes, "T")};
    prelu.outputs = {port("Y", "", kMatrixTypes, "T")};
    prelu.elementwise = true;
    prelu.channelsLast = ChannelsLast::pointwise;
    prelu.inPlace = {0};
    prelu.tolerance = {1.2e-7, 0};
    prelu.infer = inferPRelu;
    prelu.kernel = viaFloat<pReluKernel>;
    table.push_back(std::move(prelu));

    Op thresholded =
        makeActivation("ThresholdedRelu", 22, "Sets elements ≤ alpha to 0", "Y = X > alpha ? X : 0", 1,
                       viaFloat<alphaKernel<element::ThresholdedRelu>>);
    thresholded.element = {"ThresholdedRelu", {"alpha"}};
    thresholded.torch = "torch.where({0} > {alpha}, {0}, 0)";
    thresholded.gradient = [](GradientContext& g) {
        g.give(0, where(g.input() > g.attributes().number("alpha"), g.gradient()));
    };
    thresholded.attributes = {numberAttribute("alpha", 1, "Threshold")};
    table.push_back(std::move(thresholded));

    Op clip = makeUnary("Clip", "Activation", 13, "Limits numbers to the range from min to max",
                        "Y = min(max(X, min), max)", kNumbers, 2, viaFloat<clipKernel>);
    clip.inputs[0].name = "input";
    clip.inputs.push_back(hostBound("min", "min"));
    clip.inputs.push_back(hostBound("max", "max"));
    clip.outputs[0].name = "output";
    AttributeSpec low = numberAttribute("min", 0, "Least result; absent: no bound");
    AttributeSpec high = numberAttribute("max", 0, "Largest result; absent: no bound");
    low.defaultValue.reset();
    high.defaultValue.reset();
    clip.attributes = {std::move(low), std::move(high)};
    clip.infer = inferClip;
    clip.gradient = [](GradientContext& g) {
        // PyTorch's clamp passes the gradient at the bounds, too.
        g.give(0, where(isEqual(g.output(), g.input()), g.gradient()));
    };
    table.push_back(std::move(clip));

    Op shrink = makeUnary(
        "Shrink", "Activation", 9, "Sets numbers near 0 to 0 and moves others towards 0 by bias",
        "Y = X < −lambd ? X + bias : X > lambd ? X − bias : 0", kNumbers, 3, viaFloat<shrinkKernel>);
    shrink.element = {"Shrink", {"bias", "lambd"}};
    shrink.gradient = [](GradientContext& g) {
        g.give(0, where(apply("Abs", {g.input()}) > g.attributes().number("lambd"), g.gradient()));
    };
    shrink.inputs[0].name = "input";
    shrink.outputs[0].name = "output";
    shrink.attributes = {numberAttribute("bias", 0, "Distance by which numbers move towards 0"),
                         numberAttribute("lambd", 0.5, "Numbers up to this distance from 0 become 0")};
    shrink.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(shrink));
}

void addExponentialUnits(std::vector<Op>& table) {
    Op elu = makeActivation("Elu", 22, "Exponential linear unit", "Y = X < 0 ? alpha · (e ^ X − 1) : X", 12,
                            viaFloat<alphaKernel<element::Elu>>);
    elu.element = {"Elu", {"alpha"}};
    elu.torch = "F.elu({0}, {alpha})";
    elu.gradient = [](GradientContext& g) {
        g.give(0, where(g.input() > 0, g.gradient(),
                        g.gradient() * (g.output() + g.attributes().number("alpha"))));
    };
    elu.attributes = {numberAttribute("alpha", 1, "Results approach −alpha")};
    table.push_back(std::move(elu));

    Op selu = makeActivation("Selu", 22, "Self-normalising exponential linear unit",
                             "Y = gamma · (X > 0 ? X : alpha · (e ^ X − 1))", 12, viaFloat<seluKernel>);
    selu.element = {"Selu", {"alpha", "gamma"}};
    selu.gradient = seluGradient;
    selu.attributes = {numberAttribute("alpha", 1.67326319217681884765625, "Factor of the exponential part"),
                       numberAttribute("gamma", 1.05070102214813232421875, "Scale of the result")};
    table.push_back(std::move(selu));

    Op celu = makeActivation("Celu", 28, "Continuously differentiable exponential linear unit",
                             "Y = max(0, X) + min(0, alpha · (e ^ (X / alpha) − 1))", 13,
                             viaFloat<alphaKernel<element::Celu>>);
    celu.element = {"Celu", {"alpha"}};
    celu.torch = "F.celu({0}, {alpha})";
    celu.gradient = [](GradientContext& g) {
        g.give(0, where(g.input() > 0, g.gradient(),
                        g.gradient() * (g.output() / g.attributes().number("alpha") + 1)));
    };
    celu.attributes = {numberAttribute("alpha", 1, "Results approach −alpha")};
    table.push_back(std::move(celu));

    table.push_back(makeActivation("Softplus", 22, "A smooth Relu", "Y = ln(1 + e ^ X)", 25,
                                   viaFloat<unaryFloatKernel<element::Softplus>>));
    table.back().element = {"Softplus"};
    table.back().torch = "F.softplus({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() * apply("Sigmoid", {g.input()}));
    };
    table.push_back(makeActivation("Softsign", 22, "Maps numbers into −1 … 1", "Y = X / (1 + |X|)", 3,
                                   viaFloat<unaryFloatKernel<element::Softsign>>));
    table.back().element = {"Softsign"};
    table.back().torch = "F.softsign({0})";
    table.back().gradient = softsignGradient;
    table.push_back(makeActivation("Mish", 22, "Self-regularised smooth activation",
                                   "Y = X · tanh(ln(1 + e ^ X))", 40,
                                   viaFloat<unaryFloatKernel<element::Mish>>));
    table.back().element = {"Mish"};
    table.back().torch = "F.mish({0})";
    table.back().gradient = mishGradient;
    Op swish = makeActivation("Swish", 24, "Smooth activation; with alpha 1 PyTorch's SiLU",
                              "Y = X · sigmoid(alpha · X)", 14, viaFloat<alphaKernel<element::Swish>>);
    swish.element = {"Swish", {"alpha"}};
    swish.gradient = swishGradient;
    swish.attributes = {numberAttribute("alpha", 1, "Steepness of the sigmoid")};
    table.push_back(std::move(swish));

    Op gated =
        makeOp("SwiGLU", "Activation", 28, "Multiplies Swish of A by B", "Y = A · sigmoid(alpha · A) · B");
    gated.inputs = {port("A", "gate", kFloats, "T"), port("B", "value", kFloats, "T")};
    gated.outputs = {port("Y", "", kFloats, "T")};
    gated.attributes = {numberAttribute("alpha", 1, "Steepness of the sigmoid")};
    gated.shapes = "A, B and Y have the same shape";
    gated.inPlace = {0, 1};
    gated.tolerance = {1e-6, 1e-6};
    gated.infer = inferSwiGlu;
    gated.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                    const Attributes&) { return streamingCost(inputs, outputs, 15); };
    gated.kernel = viaFloat<swiGluKernel>;
    gated.gradient = [](GradientContext& g) {
        differentiate(g, [](GradientContext& inside) -> std::vector<GraphTensor> {
            return {apply("Swish", {inside.input(0)}, inside.attributes()) * inside.input(1)};
        });
    };
    table.push_back(std::move(gated));

    Op hardSigmoid = makeActivation("HardSigmoid", 22, "Piecewise linear approximation of Sigmoid",
                                    "Y = max(0, min(1, alpha · X + beta))", 4, viaFloat<hardSigmoidKernel>);
    hardSigmoid.element = {"HardSigmoid", {"alpha", "beta"}};
    hardSigmoid.torch = "torch.clamp({alpha} * {0} + {beta}, 0, 1)";
    hardSigmoid.gradient = [](GradientContext& g) {
        g.give(0, where(apply("And", {g.output() > 0, g.output() < 1}),
                        g.gradient() * g.attributes().number("alpha")));
    };
    hardSigmoid.attributes = {numberAttribute("alpha", 0.2, "Slope"),
                              numberAttribute("beta", 0.5, "Result at 0")};
    table.push_back(std::move(hardSigmoid));
    table.push_back(makeActivation("HardSwish", 22, "Piecewise linear approximation of Swish",
                                   "Y = X · max(0, min(1, X / 6 + 1 / 2))", 5,
                                   viaFloat<unaryFloatKernel<element::HardSwish>>));
    table.back().element = {"HardSwish"};
    table.back().torch = "F.hardswish({0})";
    table.back().gradient = hardSwishGradient;
}

} // namespace

void addActivations(std::vector<Op>& table) {
    table.push_back(makeUnary("Relu", "Activation", 14, "Sets negative numbers to 0", "Y = max(0, X)",
                              kSigned, 1, viaFloat<unaryNumberKernel<element::Relu>>));
    table.back().element = {"Relu"};
    table.back().torch = "torch.relu({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, apply("ReluGrad", {g.gradient(), g.output()}));
    };

    Op reluGrad = makeOp("ReluGrad", "Training", 0, "The gradient of Relu's input from that of its result",
                         "dX = Y > 0 ? dY : 0");
    reluGrad.element = {"ReluGrad"};
    reluGrad.torch = "torch.where({1} > 0, {0}, torch.zeros_like({0}))";
    reluGrad.gradient = [](GradientContext& g) {
        g.give(0, apply("ReluGrad", {g.gradient(), g.input(1)})); // the derivative by Y is 0
    };
    reluGrad.inputs = {port("dY", "grad_out", kFloats, "T"), port("Y", "result", kFloats, "T")};
    reluGrad.outputs = {port("dX", "", kFloats, "T")};
    reluGrad.shapes = "dY, Y and dX have the same shape";
    reluGrad.elementwise = true;
    reluGrad.channelsLast = ChannelsLast::pointwise;
    reluGrad.inPlace = {0, 1};
    reluGrad.infer = inferReluGrad;
    reluGrad.kernel = viaFloat<reluGradKernel>;
    table.push_back(std::move(reluGrad));

    Op gelu = makeUnary("Gelu", "Activation", 20, "Gaussian error linear unit",
                        "Y = X / 2 · (1 + erf(X / √2))", kFloats, 20, viaFloat<geluKernel>);
    gelu.element = {"Gelu", {"approximate"}};
    gelu.torch = "F.gelu({0}, approximate={approximate})";
    gelu.gradient = geluGradient;
    gelu.attributes = {choiceAttribute("approximate", "none", {"none", "tanh"},
                                       "none: by the error function; tanh: the approximation by tanh")};
    gelu.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(gelu));

    Op sigmoid = makeUnary("Sigmoid", "Activation", 13, "Maps numbers into 0 … 1", "Y = 1 / (1 + exp(−X))",
                           kFloats, 12, viaFloat<unaryFloatKernel<element::Sigmoid>>);
    sigmoid.element = {"Sigmoid"};
    sigmoid.torch = "torch.sigmoid({0})";
    sigmoid.gradient = [](GradientContext& g) { g.give(0, g.gradient() * g.output() * (1 - g.output())); };
    sigmoid.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(sigmoid));

    Op tanh = makeUnary("Tanh", "Activation", 13, "Maps numbers into −1 … 1", "Y = tanh(X)", kFloats, 15,
                        viaFloat<unaryFloatKernel<element::Tanh>>);
    tanh.element = {"Tanh"};
    tanh.torch = "torch.tanh({0})";
    tanh.gradient = [](GradientContext& g) { g.give(0, g.gradient() * (1 - g.output() * g.output())); };
    tanh.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(tanh));

    addRectifiers(table);
    addExponentialUnits(table);

    describe(table, "PRelu", "slope broadcasts to X; Y has the shape of X",
             {operand({3, 4}), operand({4}, {0.1, 0.2, 0.3, 0.4})});
    describe(table, "Clip", "min and max are scalars; output has the shape of input", {},
             {{"min", -1.0}, {"max", 1.0}});
}

} // namespace twb
