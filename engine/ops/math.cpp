#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/math_functions.h"
#include "ops/schema.h"
#include "ops/unary_kernels.h"

#include <cmath>
#include <numbers>

namespace twb {
namespace {

void inferTest(InferContext& ctx) { ctx.output(0, {DType::boolean, ctx.input(0)->shape}); }

template <class F> void testElements(const KernelContext& ctx, const F& f) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) {
        mapElements<decltype(zero), element::Bool>(ctx.inputs[0], ctx.outputs[0], f);
    });
}

void isNaNKernel(const KernelContext& ctx) { testElements(ctx, element::IsNaN{}); }

void isInfKernel(const KernelContext& ctx) {
    testElements(
        ctx, element::IsInf{ctx.attributes.flag("detect_positive"), ctx.attributes.flag("detect_negative")});
}

void identityKernel(const KernelContext& ctx) { copyElements(ctx.inputs[0], ctx.outputs[0]); }

/// A function of one number whose result may differ from other C libraries in the last two digits.
Op makeFunction(std::string name, int opset, std::string doc, std::string formula, double flops,
                HostKernel kernel) {
    Op op =
        makeUnary(std::move(name), "Math", opset, std::move(doc), std::move(formula), kFloats, flops, kernel);
    op.inputs[0].name = "input";
    op.outputs[0].name = "output";
    op.tolerance = {1e-6, 1e-30};
    return op;
}

Op makeTest(std::string name, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Logic", 20, std::move(doc), std::move(formula));
    op.inputs = {port("X", "self", kFloats)};
    op.outputs = {port("Y", "", kBool)};
    op.shapes = "Elementwise: the output has the shape of the input";
    op.infer = inferTest;
    op.noGradient = "gives booleans";
    op.kernel = kernel;
    return op;
}

} // namespace

void addMath(std::vector<Op>& table) {
    table.push_back(makeFunction("Sin", 22, "Sine of an angle in radians", "Y = sin X", 15,
                                 viaFloat<unaryFloatKernel<element::Sin>>));
    table.back().element = {"Sin"};
    table.back().torch = "torch.sin({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() * apply("Cos", {g.input()})); };
    table.push_back(makeFunction("Cos", 22, "Cosine of an angle in radians", "Y = cos X", 15,
                                 viaFloat<unaryFloatKernel<element::Cos>>));
    table.back().element = {"Cos"};
    table.back().torch = "torch.cos({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, -(g.gradient() * apply("Sin", {g.input()})));
    };
    table.push_back(makeFunction("Tan", 22, "Tangent of an angle in radians", "Y = tan X", 20,
                                 viaFloat<unaryFloatKernel<element::Tan>>));
    table.back().element = {"Tan"};
    table.back().torch = "torch.tan({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() * (g.output() * g.output() + 1));
    };
    table.push_back(makeFunction("Asin", 22, "The angle whose sine is X; NaN beyond −1 … 1", "Y = asin X", 20,
                                 viaFloat<unaryFloatKernel<element::Asin>>));
    table.back().element = {"Asin"};
    table.back().torch = "torch.asin({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() / apply("Sqrt", {1 - g.input() * g.input()}));
    };
    table.push_back(makeFunction("Acos", 22, "The angle whose cosine is X; NaN beyond −1 … 1", "Y = acos X",
                                 20, viaFloat<unaryFloatKernel<element::Acos>>));
    table.back().element = {"Acos"};
    table.back().torch = "torch.acos({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, -(g.gradient() / apply("Sqrt", {1 - g.input() * g.input()})));
    };
    table.push_back(makeFunction("Atan", 22, "The angle whose tangent is X", "Y = atan X", 20,
                                 viaFloat<unaryFloatKernel<element::Atan>>));
    table.back().element = {"Atan"};
    table.back().torch = "torch.atan({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() / (g.input() * g.input() + 1)); };
    table.push_back(makeFunction("Sinh", 22, "Hyperbolic sine", "Y = (e ^ X − e ^ −X) / 2", 15,
                                 viaFloat<unaryFloatKernel<element::Sinh>>));
    table.back().element = {"Sinh"};
    table.back().torch = "torch.sinh({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() * apply("Cosh", {g.input()})); };
    table.push_back(makeFunction("Cosh", 22, "Hyperbolic cosine", "Y = (e ^ X + e ^ −X) / 2", 15,
                                 viaFloat<unaryFloatKernel<element::Cosh>>));
    table.back().element = {"Cosh"};
    table.back().torch = "torch.cosh({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() * apply("Sinh", {g.input()})); };
    table.push_back(makeFunction("Asinh", 22, "The number whose hyperbolic sine is X", "Y = asinh X", 25,
                                 viaFloat<unaryFloatKernel<element::Asinh>>));
    table.back().element = {"Asinh"};
    table.back().torch = "torch.asinh({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() / apply("Sqrt", {g.input() * g.input() + 1}));
    };
    table.push_back(makeFunction("Acosh", 22, "The number whose hyperbolic cosine is X; NaN below 1",
                                 "Y = acosh X", 25, viaFloat<unaryFloatKernel<element::Acosh>>));
    table.back().element = {"Acosh"};
    table.back().torch = "torch.acosh({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() / apply("Sqrt", {g.input() * g.input() - 1}));
    };
    table.push_back(makeFunction("Atanh", 22, "The number whose hyperbolic tangent is X; NaN beyond −1 … 1",
                                 "Y = atanh X", 25, viaFloat<unaryFloatKernel<element::Atanh>>));
    table.back().element = {"Atanh"};
    table.back().torch = "torch.atanh({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() / (1 - g.input() * g.input())); };

    Op erf = makeFunction("Erf", 13, "The error function; truncated for integers",
                          "Y = 2 / √π · ∫₀ˣ e ^ −t² dt", 20, viaFloat<unaryNumberKernel<element::Erf>>);
    erf.element = {"Erf"};
    erf.gradient = [](GradientContext& g) {
        g.give(0,
               g.gradient() * (2 / std::sqrt(std::numbers::pi)) * apply("Exp", {-(g.input() * g.input())}));
    };
    erf.inputs[0].types = kNumbers;
    erf.outputs[0].types = kNumbers;
    table.push_back(std::move(erf));

    table.push_back(makeFunction("Erfinv", 0, "The number whose error function is X; NaN beyond −1 … 1",
                                 "Y = erf⁻¹ X", 60, viaFloat<unaryFloatKernel<element::Erfinv>>));
    table.back().element = {"Erfinv"};
    table.back().torch = "torch.erfinv({0})";
    table.back().gradient = [](GradientContext& g) {
        g.give(0, g.gradient() * (std::sqrt(std::numbers::pi) / 2) * apply("Exp", {g.output() * g.output()}));
    };

    table.push_back(makeUnary("Floor", "Math", 13, "The largest integer ≤ X", "Y = ⌊X⌋", kFloats, 1,
                              viaFloat<unaryFloatKernel<element::Floor>>));
    table.back().element = {"Floor"};
    table.back().torch = "torch.floor({0})";
    table.back().gradient = passNoGradient;
    table.push_back(makeUnary("Ceil", "Math", 13, "The smallest integer ≥ X", "Y = ⌈X⌉", kFloats, 1,
                              viaFloat<unaryFloatKernel<element::Ceil>>));
    table.back().element = {"Ceil"};
    table.back().torch = "torch.ceil({0})";
    table.back().gradient = passNoGradient;
    table.push_back(makeUnary("Round", "Math", 22, "The nearest integer, halves to the even one",
                              "Y = round(X)", kFloats, 1, viaFloat<unaryFloatKernel<element::Round>>));
    table.back().element = {"Round"};
    table.back().torch = "torch.round({0})";
    table.back().gradient = passNoGradient;
    Op sign = makeUnary("Sign", "Math", 13, "−1, 0 or 1 by the sign; NaN stays NaN", "Y = sign X", kNumbers,
                        1, viaFloat<unaryNumberKernel<element::Sign>>);
    sign.element = {"Sign"};
    sign.torch = "torch.sign({0})";
    sign.gradient = passNoGradient;
    sign.inputs[0].name = "input";
    sign.outputs[0].name = "output";
    table.push_back(std::move(sign));
    Op reciprocal = makeUnary("Reciprocal", "Math", 13, "One divided by X", "Y = 1 / X", kFloats, 1,
                              viaFloat<unaryFloatKernel<element::Reciprocal>>);
    reciprocal.element = {"Reciprocal"};
    reciprocal.torch = "torch.reciprocal({0})";
    reciprocal.gradient = [](GradientContext& g) { g.give(0, -(g.gradient() * g.output() * g.output())); };
    reciprocal.tolerance = {1.2e-7, 0};
    table.push_back(std::move(reciprocal));

    table.push_back(
        makeTest("IsNaN", "Whether an element is not a number", "Y = (X ≠ X)", viaFloat<isNaNKernel>));
    table.back().torch = "torch.isnan({0})";
    Op isInf = makeTest("IsInf", "Whether an element is infinite", "Y = (|X| = ∞)", viaFloat<isInfKernel>);
    isInf.attributes = {flagAttribute("detect_negative", true, "Detect −∞"),
                        flagAttribute("detect_positive", true, "Detect ∞")};
    table.push_back(std::move(isInf));

    Op identity =
        makeUnary("Identity", "Shape", 25, "The same tensor; free if the input has no other consumer",
                  "Y = X", kStored, 0, identityKernel);
    identity.torch = "{0}";
    identity.gradient = [](GradientContext& g) { g.give(0, g.gradient()); };
    identity.inputs[0].name = "input";
    identity.outputs[0].name = "output";
    table.push_back(std::move(identity));

    Op detach = makeUnary("Detach", "Training", 0, "The same tensor, through which no gradient passes",
                          "Y = X", kAll, 0, identityKernel);
    detach.torch = "{0}.detach()";
    detach.gradient = passNoGradient;
    table.push_back(std::move(detach));

    describe(table, "Asin", "", {operand({5}, {-1, -0.5, 0, 0.5, 1})});
    describe(table, "Acos", "", {operand({5}, {-1, -0.5, 0, 0.5, 1})});
    describe(table, "Erfinv", "", {operand({5}, {-0.9, -0.5, 0, 0.5, 0.9})});
    describe(table, "Acosh", "", {operand({4}, {1, 2, 3, 4})});
    describe(table, "Atanh", "", {operand({3}, {-0.5, 0, 0.5})});
}

} // namespace twb
