#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/logic_functions.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferSame(InferContext& ctx) { ctx.output(0, {ctx.input(0)->dtype, broadcastInputs(ctx, 0, 1)}); }

void inferComparison(InferContext& ctx) { ctx.output(0, {DType::boolean, broadcastInputs(ctx, 0, 1)}); }

template <class F> void compareKernel(const KernelContext& ctx) {
    withNumber(ctx.inputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, element::Bool>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], F{});
    });
}

template <class F> void boolKernel(const KernelContext& ctx) {
    using element::Bool;
    zipElements<Bool, Bool, Bool>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], F{});
}

void notKernel(const KernelContext& ctx) {
    mapElements<element::Bool, element::Bool>(ctx.inputs[0], ctx.outputs[0], element::Not{});
}

template <class F> void bitsKernel(const KernelContext& ctx) {
    withBits(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], F{});
    });
}

void bitwiseNotKernel(const KernelContext& ctx) {
    withBits(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], element::BitwiseNot{});
    });
}

void bitShiftKernel(const KernelContext& ctx) {
    const bool isLeft = ctx.attributes.text("direction") == "LEFT";
    withInteger(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if (isLeft)
            zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::ShiftLeft{});
        else
            zipElements<T, T, T>(ctx.inputs[0], ctx.inputs[1], ctx.outputs[0], element::ShiftRight{});
    });
}

Op makeLogic(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
             HostKernel kernel) {
    Op op = makeOp(std::move(name), "Logic", opset, std::move(doc), std::move(formula));
    op.inputs = {port("A", "self", types, "T"), port("B", "other", types, "T")};
    op.outputs = {port("C", "", types, "T")};
    op.shapes = "Elementwise: the inputs broadcast to the shape of the output";
    op.elementwise = true;
    op.channelsLast = ChannelsLast::pointwise;
    op.inPlace = {0, 1};
    op.infer = inferSame;
    op.kernel = kernel;
    return op;
}

Op makeComparison(std::string name, int opset, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeLogic(std::move(name), opset, std::move(doc), std::move(formula), kNumbers, kernel);
    op.outputs = {port("C", "", kBool)};
    op.inPlace = {};
    op.infer = inferComparison;
    op.noGradient = "gives booleans";
    return op;
}

} // namespace

void addLogic(std::vector<Op>& table) {
    table.push_back(makeComparison("Greater", 13, "Whether A is greater than B; false for NaN", "C = (A > B)",
                                   viaFloat<compareKernel<element::Greater>>));
    table.back().torch = "{0} > {1}";
    table.push_back(makeComparison("GreaterOrEqual", 16,
                                   "Whether A is greater than or equal to B; false for NaN", "C = (A ≥ B)",
                                   viaFloat<compareKernel<element::GreaterOrEqual>>));
    table.back().torch = "{0} >= {1}";
    table.push_back(makeComparison("Less", 13, "Whether A is less than B; false for NaN", "C = (A < B)",
                                   viaFloat<compareKernel<element::Less>>));
    table.back().torch = "{0} < {1}";
    table.push_back(makeComparison("LessOrEqual", 16, "Whether A is less than or equal to B; false for NaN",
                                   "C = (A ≤ B)", viaFloat<compareKernel<element::LessOrEqual>>));
    table.back().torch = "{0} <= {1}";

    table.push_back(makeLogic("And", 7, "Logical and", "C = A ∧ B", kBool, boolKernel<element::And>));
    table.back().torch = "{0} & {1}";
    table.push_back(makeLogic("Or", 7, "Logical or", "C = A ∨ B", kBool, boolKernel<element::Or>));
    table.back().torch = "{0} | {1}";
    table.push_back(
        makeLogic("Xor", 7, "Logical exclusive or", "C = A ⊕ B", kBool, boolKernel<element::Xor>));
    table.back().torch = "{0} ^ {1}";
    table.push_back(makeUnary("Not", "Logic", 1, "Logical not", "Y = ¬X", kBool, 1, notKernel));
    table.back().torch = "~{0}";

    table.push_back(
        makeLogic("BitwiseAnd", 18, "Bitwise and", "C = A & B", kIntegers, bitsKernel<element::BitwiseAnd>));
    table.back().torch = "{0} & {1}";
    table.push_back(
        makeLogic("BitwiseOr", 18, "Bitwise or", "C = A | B", kIntegers, bitsKernel<element::BitwiseOr>));
    table.back().torch = "{0} | {1}";
    table.push_back(makeLogic("BitwiseXor", 18, "Bitwise exclusive or", "C = A ^ B", kIntegers,
                              bitsKernel<element::BitwiseXor>));
    table.back().torch = "{0} ^ {1}";
    table.push_back(
        makeUnary("BitwiseNot", "Logic", 18, "Bitwise not", "Y = ~X", kIntegers, 1, bitwiseNotKernel));
    table.back().torch = "~{0}";
    Op shift = makeLogic("BitShift", 28, "Shifts bits to the left or right; bits shifted out are lost",
                         "Z = X ≪ Y or X ≫ Y", kIntegers, bitShiftKernel);
    shift.inputs = {port("X", "self", kIntegers, "T"), port("Y", "other", kIntegers, "T")};
    shift.outputs = {port("Z", "", kIntegers, "T")};
    shift.attributes = {
        choiceAttribute("direction", "LEFT", {"LEFT", "RIGHT"},
                        "LEFT multiplies by powers of two; RIGHT divides by them and rounds down")};
    table.push_back(std::move(shift));

    describe(table, "BitShift", "",
             {operand({4}, {1, 2, 3, 4}, DType::u8), operand(Shape{}, {1}, DType::u8)});
}

} // namespace twb
