#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferArithmetic(InferContext& ctx) {
    requireOneDType(ctx);
    ctx.output(0, {ctx.input(0)->dtype, broadcastInputs(ctx, 0, 1)});
}

void inferEqual(InferContext& ctx) {
    requireOneDType(ctx);
    ctx.output(0, {DType::boolean, broadcastInputs(ctx, 0, 1)});
}

void inferUnary(InferContext& ctx) { ctx.output(0, *ctx.input(0)); }

void inferWhere(InferContext& ctx) {
    requireOneDType(ctx);
    const Shape values = broadcastInputs(ctx, 1, 2);
    ctx.output(0, {ctx.input(1)->dtype, broadcastOrFail(ctx, 0, ctx.input(0)->shape, values)});
}

Op makeBinary(std::string name, int opset, std::string doc, std::string formula, DTypeSet types) {
    Op op = makeOp(std::move(name), "Pointwise", opset, std::move(doc), std::move(formula));
    op.inputs = {port("A", "self", types, "T"), port("B", "other", types, "T")};
    op.outputs = {port("C", "", types, "T")};
    op.elementwise = true;
    op.inPlace = {0, 1};
    op.tolerance = {1.2e-7, 0};
    op.infer = inferArithmetic;
    return op;
}

Op makeUnary(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
             double flopsPerElement) {
    Op op = makeOp(std::move(name), "Pointwise", opset, std::move(doc), std::move(formula));
    op.inputs = {port("X", "self", types, "T")};
    op.outputs = {port("Y", "", types, "T")};
    op.inPlace = {0};
    op.infer = inferUnary;
    op.cost = [flopsPerElement](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                                const Attributes&) {
        return streamingCost(inputs, outputs, flopsPerElement);
    };
    return op;
}

} // namespace

void addPointwise(std::vector<Op>& table) {
    table.push_back(makeBinary("Add", 14, "Sum of two tensors, with broadcasting", "C = A + B", kNumbers));
    table.push_back(
        makeBinary("Sub", 14, "Difference of two tensors, with broadcasting", "C = A − B", kNumbers));
    table.push_back(
        makeBinary("Mul", 14, "Product element by element, with broadcasting", "C = A · B", kNumbers));
    table.push_back(makeBinary("Div", 14, "Quotient element by element; integers are cut towards 0",
                               "C = A / B", kNumbers));

    Op pow = makeBinary("Pow", 15, "Power with the exponent's own dtype; the result has the base's",
                        "Z = X ^ Y", kNumbers);
    pow.inputs = {port("X", "self", kNumbers, "T"), port("Y", "exponent", kNumbers, "T1")};
    pow.outputs = {port("Z", "", kNumbers, "T")};
    pow.inPlace = {0};
    pow.tolerance = {1e-6, 1e-30};
    pow.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) { return streamingCost(inputs, outputs, 30); };
    table.push_back(std::move(pow));

    table.push_back(makeUnary("Neg", 13, "The opposite number", "Y = −X", kNumbers, 1));
    table.push_back(makeUnary("Abs", 13, "The distance from 0", "Y = |X|", kNumbers, 1));
    Op exp = makeUnary("Exp", 13, "The exponential function", "Y = e ^ X", kFloats, 10);
    exp.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(exp));
    Op log = makeUnary("Log", 13, "The natural logarithm; NaN below 0", "Y = ln X", kFloats, 10);
    log.tolerance = {1e-6, 1e-7};
    table.push_back(std::move(log));
    Op sqrt = makeUnary("Sqrt", 13, "The square root; NaN below 0", "Y = √X", kFloats, 2);
    sqrt.tolerance = {1.2e-7, 0};
    table.push_back(std::move(sqrt));

    Op equal = makeBinary("Equal", 19, "Whether two elements are the same; NaN equals nothing", "C = (A = B)",
                          kValues);
    equal.outputs = {port("C", "", DTypeSet{DType::boolean})};
    equal.inPlace = {};
    equal.tolerance = {};
    equal.infer = inferEqual;
    table.push_back(std::move(equal));

    Op where =
        makeOp("Where", "Pointwise", 16, "Takes X where the condition holds, else Y, with broadcasting",
               "output = condition ? X : Y");
    where.inputs = {port("condition", "condition", DTypeSet{DType::boolean}), port("X", "self", kAll, "T"),
                    port("Y", "other", kAll, "T")};
    where.outputs = {port("output", "", kAll, "T")};
    where.elementwise = true;
    where.inPlace = {1, 2};
    where.infer = inferWhere;
    table.push_back(std::move(where));
}

} // namespace twb
