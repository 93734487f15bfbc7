#include "backends/cpu/elementwise.h"
#include "backends/cpu/vector_math.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/math_functions.h"
#include "ops/schema.h"
#include "ops/unary_kernels.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace twb {
namespace {

void inferArithmetic(InferContext& ctx) { ctx.output(0, {ctx.input(0)->dtype, broadcastInputs(ctx, 0, 1)}); }

void inferEqual(InferContext& ctx) { ctx.output(0, {DType::boolean, broadcastInputs(ctx, 0, 1)}); }

void inferWhere(InferContext& ctx) {
    const Shape values = broadcastInputs(ctx, 1, 2);
    ctx.output(0, {ctx.input(1)->dtype, broadcastOrFail(ctx, 0, ctx.input(0)->shape, values)});
}

template <class F> void binaryKernel(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], F{});
    });
}

void divKernel(const KernelContext& ctx) {
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::Div{});
        } else {
            // Threads may not throw, so a division by 0 sets a flag.
            std::atomic<bool> byZero{false};
            zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], [&](T a, T b) {
                if (b == 0) byZero.store(true, std::memory_order_relaxed);
                return element::Div{}(a, b);
            });
            if (byZero)
                throw Error(
                    ErrorCode::invalidArgument,
                    "ZeroDivisionError: integer division by zero; cast to a floating dtype for infinities");
        }
    });
}

template <class F> void integerModKernel(const KernelContext& ctx) {
    withInteger(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        std::atomic<bool> byZero{false};
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], [&](T a, T b) {
            if (b == 0) byZero.store(true, std::memory_order_relaxed);
            return F{}(a, b);
        });
        if (byZero)
            throw Error(ErrorCode::invalidArgument,
                        "ZeroDivisionError: integer modulo by zero; cast to a floating dtype for NaN");
    });
}

template <class F> void binaryFloatKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], F{});
    });
}

void modKernel(const KernelContext& ctx) {
    if (isInteger(ctx.outputs[0].dtype))
        return ctx.attributes.flag("fmod") ? integerModKernel<element::Fmod>(ctx)
                                           : integerModKernel<element::Remainder>(ctx);
    if (ctx.attributes.flag("fmod"))
        binaryFloatKernel<element::Fmod>(ctx);
    else
        binaryFloatKernel<element::Remainder>(ctx);
}

/// A dense base of f32 raised to one exponent, or to one for each element.
void raiseDense(const float* base, const TensorView& exponent, const TensorView& out) {
    const float* const exponents = exponent.as<const float>();
    const bool isOne = exponent.elementCount() == 1;
    const std::int64_t total = out.elementCount();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        vectorPow(base + begin, isOne ? exponents : exponents + begin, isOne ? 0 : 1, out.as<float>() + begin,
                  end - begin);
    });
}

void powKernel(const KernelContext& ctx) {
    withNumber(ctx.inputs[0].dtype, [&](auto base) {
        using T = decltype(base);
        const auto raise = [&](const TensorView& exponent, auto zero) {
            if constexpr (std::is_same_v<T, float> && std::is_same_v<decltype(zero), float>)
                if (isDense(ctx.inputs[0]) && ctx.inputs[0].shape == ctx.outputs[0].shape &&
                    (exponent.elementCount() == 1 ||
                     (isDense(exponent) && exponent.shape == ctx.outputs[0].shape)))
                    return raiseDense(ctx.inputs[0].as<const float>(), exponent, ctx.outputs[0]);
            zipElements<T, decltype(zero), T>(ctx.inputs[0], exponent, ctx.outputs[0], element::Pow{});
        };
        // A loop for every pair of dtypes would be a hundred loops, so other exponents are widened first.
        const TensorView& exponent = ctx.inputs[1];
        switch (exponent.dtype) {
        case DType::f32:
            return raise(exponent, float{});
        case DType::f64:
            return raise(exponent, double{});
        case DType::i64:
            return raise(exponent, std::int64_t{});
        default:
            break;
        }
        const Tensor wide = Tensor::onHost({DType::i64, exponent.shape});
        withInteger(exponent.dtype, [&](auto zero) {
            using E = decltype(zero);
            mapElements<E, std::int64_t>(exponent, wide.view(),
                                         [](E x) { return static_cast<std::int64_t>(x); });
        });
        raise(wide.view(), std::int64_t{});
    });
}

void equalKernel(const KernelContext& ctx) {
    withNumberOrBool(ctx.inputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, element::Bool>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::Equal{});
    });
}

/// The chosen elements are only moved, so one loop serves all dtypes of one size. `Bits`: an unsigned integer
/// of that size. A mask instead of a branch, which random conditions would make unpredictable.
template <class Bits> struct Select {
    const element::Bool* condition;
    const std::byte* x;
    const std::byte* y;
    std::byte* out;

    void operator()(std::int64_t i, std::int64_t conditionAt, std::int64_t xAt, std::int64_t yAt) const {
        constexpr std::int64_t size = sizeof(Bits);
        Bits a{};
        Bits b{};
        std::memcpy(&a, x + xAt * size, sizeof(Bits));
        std::memcpy(&b, y + yAt * size, sizeof(Bits));
        const auto mask = static_cast<Bits>(Bits{0} - static_cast<Bits>(condition[conditionAt] ? 1 : 0));
        const auto chosen = static_cast<Bits>((a & mask) | (b & static_cast<Bits>(~mask)));
        std::memcpy(out + i * size, &chosen, sizeof(Bits));
    }
};

template <class Bits> void select(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const StridedLoop<3> loop(out.shape, {&ctx.inputs[0], &ctx.inputs[1], &ctx.inputs[2]});
    const std::int64_t conditionStep = loop.innerStride(0);
    const std::int64_t xStep = loop.innerStride(1);
    const std::int64_t yStep = loop.innerStride(2);
    parallelRanges(loop.total(), loop.total(), 64, [&](std::int64_t begin, std::int64_t end) {
        constexpr std::int64_t size = sizeof(Bits);
        std::byte* to = static_cast<std::byte*>(out.data) + begin * size;
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            const Select<Bits> at{ctx.inputs[0].as<const element::Bool>() + offsets[0],
                                  static_cast<const std::byte*>(ctx.inputs[1].data) + offsets[1] * size,
                                  static_cast<const std::byte*>(ctx.inputs[2].data) + offsets[2] * size, to};
            // Loops with fixed steps become vector instructions.
            if (conditionStep == 1 && xStep == 1 && yStep == 1) {
#pragma omp simd
                for (std::int64_t i = 0; i < count; ++i) at(i, i, i, i);
            } else if (conditionStep == 1 && xStep == 1 && yStep == 0) {
#pragma omp simd
                for (std::int64_t i = 0; i < count; ++i) at(i, i, i, 0);
            } else if (conditionStep == 1 && xStep == 0 && yStep == 1) {
#pragma omp simd
                for (std::int64_t i = 0; i < count; ++i) at(i, i, 0, i);
            } else {
                for (std::int64_t i = 0; i < count; ++i) at(i, i * conditionStep, i * xStep, i * yStep);
            }
            to += count * size;
        });
    });
}

void whereKernel(const KernelContext& ctx) {
    switch (sizeOf(ctx.outputs[0].dtype)) {
    case 1:
        return select<std::uint8_t>(ctx);
    case 2:
        return select<std::uint16_t>(ctx);
    case 4:
        return select<std::uint32_t>(ctx);
    default:
        return select<std::uint64_t>(ctx);
    }
}

void addGradient(GradientContext& g) {
    g.give(0, g.gradient());
    g.give(1, g.gradient());
}

void subGradient(GradientContext& g) {
    g.give(0, g.gradient());
    if (g.isWanted(1)) g.give(1, -g.gradient());
}

void mulGradient(GradientContext& g) {
    if (g.isWanted(0)) g.give(0, g.gradient() * g.input(1));
    if (g.isWanted(1)) g.give(1, g.gradient() * g.input(0));
}

void divGradient(GradientContext& g) {
    const GraphTensor share = g.gradient() / g.input(1);
    g.give(0, share);
    if (g.isWanted(1)) g.give(1, -(share * g.output()));
}

/// Of A - B * trunc(A / B), or of A - B * floor(A / B): the factor of B is constant but for jumps.
void modGradient(GradientContext& g) {
    g.give(0, g.gradient());
    if (!g.isWanted(1)) return;
    const GraphTensor ratio = g.input(0) / g.input(1);
    const GraphTensor whole = g.attributes().flag("fmod")
                                  ? apply("Sign", {ratio}) * apply("Floor", {apply("Abs", {ratio})})
                                  : apply("Floor", {ratio});
    g.give(1, -(g.gradient() * whole));
}

/// As PyTorch's pow_backward: 0 for the exponent 0, and for the exponent's gradient at 0 ^ (Y >= 0), where
/// the formulas would multiply 0 by an infinity.
void powGradient(GradientContext& g) {
    const GraphTensor x = g.input(0);
    const GraphTensor y = cast(g.input(1), x.type().dtype);
    if (g.isWanted(0)) g.give(0, where(isEqual(y, 0.0), 0, g.gradient() * y * apply("Pow", {x, y - 1.0})));
    if (g.isWanted(1)) {
        const GraphTensor atZero = apply("And", {isEqual(x, 0.0), apply("Not", {y < 0})});
        g.give(1, cast(where(atZero, 0, g.gradient() * g.output() * apply("Log", {x})),
                       g.input(1).type().dtype));
    }
}

void whereGradient(GradientContext& g) {
    if (g.isWanted(1)) g.give(1, where(g.input(0), g.gradient()));
    if (g.isWanted(2)) g.give(2, where(g.input(0), 0, g.gradient()));
}

Op makeBinary(std::string name, int opset, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Pointwise", opset, std::move(doc), std::move(formula));
    op.inputs = {port("A", "self", kNumbers, "T"), port("B", "other", kNumbers, "T")};
    op.outputs = {port("C", "", kNumbers, "T")};
    op.shapes = "Elementwise: the inputs broadcast to the shape of the output";
    op.elementwise = true;
    op.channelsLast = ChannelsLast::pointwise;
    op.inPlace = {0, 1};
    op.tolerance = {1.2e-7, 0};
    op.infer = inferArithmetic;
    op.kernel = kernel;
    return op;
}

} // namespace

void addPointwise(std::vector<Op>& table) {
    table.push_back(makeBinary("Add", 14, "Sum of two tensors, with broadcasting", "C = A + B",
                               viaFloat<binaryKernel<element::Add>>));
    table.back().element = {"Add"};
    table.back().torch = "{0} + {1}";
    table.back().gradient = addGradient;
    table.push_back(makeBinary("Sub", 14, "Difference of two tensors, with broadcasting", "C = A − B",
                               viaFloat<binaryKernel<element::Sub>>));
    table.back().element = {"Sub"};
    table.back().torch = "{0} - {1}";
    table.back().gradient = subGradient;
    table.push_back(makeBinary("Mul", 14, "Elementwise product, with broadcasting", "C = A · B",
                               viaFloat<binaryKernel<element::Mul>>));
    table.back().element = {"Mul"};
    table.back().torch = "{0} * {1}";
    table.back().gradient = mulGradient;
    table.push_back(makeBinary("Div", 14, "Elementwise quotient; truncated for integers", "C = A / B",
                               viaFloat<divKernel>));
    table.back().element = {"Div"};
    table.back().gradient = divGradient;

    Op mod = makeBinary("Mod", 28, "Remainder of a division; integer division by zero is an error",
                        "C = A − B · ⌊A / B⌋", viaFloat<modKernel>);
    mod.attributes = {flagAttribute(
        "fmod", false, "With the sign of A, as C's fmod; else with the sign of B, as Python's %")};
    mod.gradient = modGradient;
    table.push_back(std::move(mod));

    Op pow = makeBinary("Pow", 15,
                        "Power; the exponent may have another dtype, the result has the dtype of the base",
                        "Z = X ^ Y", viaFloat<powKernel>);
    pow.inputs = {port("X", "self", kNumbers, "T"), port("Y", "exponent", kNumbers, "T1")};
    pow.outputs = {port("Z", "", kNumbers, "T")};
    pow.inPlace = {0};
    pow.tolerance = {1e-6, 1e-30};
    pow.gradient = powGradient;
    pow.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) { return streamingCost(inputs, outputs, 30); };
    table.push_back(std::move(pow));

    table.push_back(makeUnary("Neg", "Pointwise", 13, "The negated number", "Y = −X", kSigned, 1,
                              viaFloat<unaryNumberKernel<element::Neg>>));
    table.back().element = {"Neg"};
    table.back().torch = "-{0}";
    table.back().gradient = [](GradientContext& g) { g.give(0, -g.gradient()); };
    table.push_back(makeUnary("Abs", "Pointwise", 13, "The absolute value", "Y = |X|", kNumbers, 1,
                              viaFloat<unaryNumberKernel<element::Abs>>));
    table.back().element = {"Abs"};
    table.back().torch = "torch.abs({0})";
    table.back().gradient = [](GradientContext& g) { g.give(0, g.gradient() * apply("Sign", {g.input()})); };
    Op exp = makeUnary("Exp", "Pointwise", 13, "The exponential function", "Y = e ^ X", kFloats, 10,
                       viaFloat<unaryFloatKernel<element::Exp>>);
    exp.element = {"Exp"};
    exp.torch = "torch.exp({0})";
    exp.gradient = [](GradientContext& g) { g.give(0, g.gradient() * g.output()); };
    exp.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(exp));
    Op log = makeUnary("Log", "Pointwise", 13, "The natural logarithm; NaN below 0", "Y = ln X", kFloats, 10,
                       viaFloat<unaryFloatKernel<element::Log>>);
    log.element = {"Log"};
    log.torch = "torch.log({0})";
    log.gradient = [](GradientContext& g) { g.give(0, g.gradient() / g.input()); };
    log.tolerance = {1e-6, 1e-7};
    table.push_back(std::move(log));
    Op sqrt = makeUnary("Sqrt", "Pointwise", 13, "The square root; NaN below 0", "Y = √X", kFloats, 2,
                        viaFloat<unaryFloatKernel<element::Sqrt>>);
    sqrt.element = {"Sqrt"};
    sqrt.torch = "torch.sqrt({0})";
    sqrt.gradient = [](GradientContext& g) { g.give(0, g.gradient() * 0.5 / g.output()); };
    sqrt.tolerance = {1.2e-7, 0};
    table.push_back(std::move(sqrt));

    Op equal = makeBinary("Equal", 19, "Whether two elements are equal; NaN equals nothing", "C = (A = B)",
                          viaFloat<equalKernel>);
    equal.torch = "{0} == {1}";
    equal.gradient = nullptr;
    equal.noGradient = "gives booleans";
    equal.inputs = {port("A", "self", kAll, "T"), port("B", "other", kAll, "T")};
    equal.outputs = {port("C", "", DTypeSet{DType::boolean})};
    equal.inPlace = {};
    equal.tolerance = {};
    equal.infer = inferEqual;
    table.push_back(std::move(equal));

    Op where = makeOp("Where", "Pointwise", 16, "X where the condition is true, else Y, with broadcasting",
                      "output = condition ? X : Y");
    where.torch = "torch.where({0}, {1}, {2})";
    where.inputs = {port("condition", "condition", DTypeSet{DType::boolean}), port("X", "self", kAll, "T"),
                    port("Y", "other", kAll, "T")};
    where.outputs = {port("output", "", kAll, "T")};
    where.shapes = "Elementwise: the inputs broadcast to the shape of the output";
    where.elementwise = true;
    where.channelsLast = ChannelsLast::pointwise;
    where.inPlace = {1, 2};
    where.gradient = whereGradient;
    where.infer = inferWhere;
    where.kernel = whereKernel;
    table.push_back(std::move(where));

    describe(table, "Mod", "", {operand({4}, {-7, 7, -8, 8}, DType::i64), operand(Shape{}, {3}, DType::i64)});
    describe(table, "Pow", "", {operand({4}, {1, 2, 3, 4}), operand(Shape{}, {2})});
    describe(table, "Log", "", {operand({4}, {1, 2, 4, 8})});
    describe(table, "Sqrt", "", {operand({4}, {1, 4, 9, 16})});
    describe(table, "Equal", "", {operand({4}, {1, 2, 3, 4}), operand({4}, {1, 0, 3, 0})});
}

} // namespace twb
