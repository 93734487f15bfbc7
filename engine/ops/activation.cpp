#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferSame(InferContext& ctx) { ctx.output(0, *ctx.input(0)); }

void inferSoftmax(InferContext& ctx) {
    const TensorType& self = *ctx.input(0);
    axisOrFail(ctx, ctx.attributes().integer("axis"), self.shape.rank(), -1);
    ctx.output(0, self);
}

Op makeActivation(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
                  double flopsPerElement) {
    Op op = makeOp(std::move(name), "Activation", opset, std::move(doc), std::move(formula));
    op.inputs = {port("X", "self", types, "T")};
    op.outputs = {port("Y", "", types, "T")};
    op.inPlace = {0};
    op.infer = inferSame;
    op.cost = [flopsPerElement](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                                const Attributes&) {
        return streamingCost(inputs, outputs, flopsPerElement);
    };
    return op;
}

} // namespace

void addActivations(std::vector<Op>& table) {
    table.push_back(makeActivation("Relu", 14, "Negative numbers become 0", "Y = max(0, X)", kNumbers, 1));

    Op gelu = makeActivation("Gelu", 20, "Gaussian error linear unit", "Y = X / 2 · (1 + erf(X / √2))",
                             kFloats, 20);
    gelu.attributes = {choiceAttribute("approximate", "none", {"none", "tanh"},
                                       "none: by the error function; tanh: the approximation by tanh")};
    gelu.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(gelu));

    Op softmax = makeActivation("Softmax", 13, "Shares that add up to 1 along an axis",
                                "Y = exp(X) / Σ exp(X)", kFloats, 15);
    softmax.inputs[0].name = "input";
    softmax.outputs[0].name = "output";
    softmax.attributes = {integerAttribute("axis", -1, "The axis along which the result adds up to 1")};
    softmax.tolerance = {2e-6, 1e-7};
    softmax.infer = inferSoftmax;
    table.push_back(std::move(softmax));

    Op sigmoid =
        makeActivation("Sigmoid", 13, "Squeezes numbers into 0 … 1", "Y = 1 / (1 + exp(−X))", kFloats, 12);
    sigmoid.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(sigmoid));

    Op tanh = makeActivation("Tanh", 13, "Squeezes numbers into −1 … 1", "Y = tanh(X)", kFloats, 15);
    tanh.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(tanh));
}

} // namespace twb
