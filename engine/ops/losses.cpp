#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"
#include "ops/softmax.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace twb {
namespace {

bool differ(std::int64_t a, std::int64_t b) { return a != kUnknownDim && b != kUnknownDim && a != b; }

void inferLoss(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    const Shape& target = ctx.input(1)->shape;
    const int rank = input.shape.rank();
    if (rank < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("input tensor should be (N, C, …), but has the shape {}",
                             input.shape.toTorchString()));
    std::vector<std::int64_t> dims = input.shape.dims();
    dims.erase(dims.begin() + 1);
    bool fits = target.rank() == rank - 1;
    for (int i = 0; fits && i < target.rank(); ++i) {
        auto& size = dims[static_cast<std::size_t>(i)];
        fits = !differ(target[i], size);
        if (size == kUnknownDim) size = target[i];
    }
    if (!fits)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("Expected target size {}, got {}", Shape(dims).toTorchString(),
                             target.toTorchString()));
    if (const TensorType* weight = ctx.input(2))
        if (weight->shape.rank() != 1 || differ(weight->shape[0], input.shape[1]))
            ctx.fail(
                "shape-mismatch", 2,
                fmt::format("weight tensor should be defined either for all {} classes or no classes but got "
                            "weight tensor of shape: {}",
                            input.shape[1], weight->shape.toTorchString()));
    const bool each = ctx.attributes().text("reduction") == "none";
    ctx.output(0, {input.dtype, each ? Shape(std::move(dims)) : Shape{}});
    if (ctx.op().outputs.size() > 1) ctx.output(1, input);
}

/// The loss of dense log-probabilities (N, C, D). Serial, since the sums cost little beside the logarithms
/// and an index may be out of range.
template <class T> void loss(const KernelContext& ctx, const T* logarithms) {
    const Shape& shape = ctx.inputs[0].shape;
    const std::int64_t classes = shape[1];
    Tensor keepTarget;
    Tensor keepWeight;
    const TensorView targets = denseAs(DType::i64, ctx.inputs[1], keepTarget);
    const std::int64_t count = targets.elementCount();
    const std::int64_t inner = shape[0] > 0 ? count / shape[0] : 0;
    const T* weight = nullptr;
    if (ctx.inputs.size() > 2 && ctx.inputs[2].data)
        weight = denseAs(ctx.inputs[2].dtype, ctx.inputs[2], keepWeight).as<const T>();
    std::optional<std::int64_t> ignored;
    if (ctx.attributes.has("ignore_index")) ignored = ctx.attributes.integer("ignore_index");
    const std::string& reduction = ctx.attributes.text("reduction");
    T* const out = ctx.outputs[0].as<T>();
    double sum = 0;
    double weights = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t target = targets.as<const std::int64_t>()[i];
        double item = 0;
        if (target != ignored) {
            if (target < 0 || target >= classes)
                throw Error(ErrorCode::invalidArgument,
                            fmt::format("Target {} is out of bounds: there are {} classes; set ignore_index "
                                        "to this class to ignore it",
                                        target, classes));
            const double factor = weight ? static_cast<double>(weight[target]) : 1;
            item =
                -factor * static_cast<double>(logarithms[(i / inner * classes + target) * inner + i % inner]);
            weights += factor;
        }
        if (reduction == "none") out[i] = static_cast<T>(item);
        sum += item;
    }
    if (reduction == "sum") *out = static_cast<T>(sum);
    if (reduction == "mean") *out = static_cast<T>(sum / weights);
}

void negativeLogLikelihoodKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        Tensor keep;
        loss<T>(ctx, denseAs(ctx.inputs[0].dtype, ctx.inputs[0], keep).template as<const T>());
    });
}

void softmaxCrossEntropyKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const TensorView& scores = ctx.inputs[0];
        Tensor keep;
        TensorView logarithms;
        if (ctx.outputs.size() > 1 && ctx.outputs[1].data) {
            logarithms = ctx.outputs[1];
        } else {
            keep = Tensor::onHost({scores.dtype, scores.shape});
            logarithms = keep.view();
        }
        logSoftmax(scores, logarithms, 1);
        loss<T>(ctx, logarithms.as<const T>());
    });
}

/// The gradient with respect to the log-probabilities of the targets, and the tensor that scatters it over
/// the classes.
struct TargetGradient {
    explicit TargetGradient(GradientContext& g) {
        const DType dtype = g.input(0).type().dtype;
        const std::string& reduction = g.attributes().text("reduction");
        GraphTensor target = g.input(1);
        std::vector<std::int64_t> dims = target.shape().dims();
        dims.insert(dims.begin() + 1, 1);
        const Shape sizes(std::move(dims));
        if (!g.input(2) && !g.attributes().has("ignore_index")) {
            // All targets have the same share.
            const auto count = static_cast<double>(target.shape().elementCount());
            perTarget = reduction == "none"
                            ? -reshape(g.gradient(), sizes)
                            : full(g, {dtype, sizes}, reduction == "mean" ? -1 / count : -1) * g.gradient();
        } else {
            GraphTensor weight;
            if (g.attributes().has("ignore_index")) {
                const GraphTensor isIgnored =
                    isEqual(target, static_cast<double>(g.attributes().integer("ignore_index")));
                target = where(isIgnored, 0, target); // the class to ignore need not exist
                weight = where(isIgnored, 0, weightOf(g, target, dtype));
            } else {
                weight = weightOf(g, target, dtype);
            }
            if (reduction == "mean") weight = weight / apply("ReduceSum", {weight}, {{"keepdims", false}});
            perTarget = reshape(-(weight * g.gradient()), sizes);
        }
        perClass = apply("ScatterElements", {zerosLike(g.input(0)), reshape(target, sizes), perTarget},
                         {{"axis", std::int64_t{1}}});
    }

    GraphTensor perTarget; ///< with one class
    GraphTensor perClass;  ///< 0 for other classes than the target

private:
    static GraphTensor weightOf(GradientContext& g, GraphTensor target, DType dtype) {
        if (g.input(2)) return apply("Gather", {g.input(2), target});
        return full(g, {dtype, target.shape()}, 1);
    }
};

void negativeLogLikelihoodGradient(GradientContext& g) { g.give(0, TargetGradient(g).perClass); }

void softmaxCrossEntropyGradient(GradientContext& g) {
    const GraphTensor probability = apply("Exp", {g.output(1)});
    if (g.gradient(0)) {
        const TargetGradient loss(g);
        g.give(0, loss.perClass - probability * loss.perTarget);
    }
    if (const GraphTensor ofLogarithm = g.gradient(1))
        g.give(0, ofLogarithm - probability * sumOver(ofLogarithm, {1}));
}

Op makeLoss(std::string name, int opset, std::string doc, std::string formula, std::string input,
            std::string target, double flops, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Loss", opset, std::move(doc), std::move(formula));
    op.inputs = {
        port(std::move(input), "self", kFloats, "T"), port(std::move(target), "target", kIndices),
        optionalPort(op.name == "SoftmaxCrossEntropyLoss" ? "weights" : "weight", "weight", kFloats, "T")};
    AttributeSpec ignored =
        integerAttribute("ignore_index", 0, "Target class to ignore; absent: no class is ignored");
    ignored.defaultValue.reset();
    op.attributes = {
        std::move(ignored),
        choiceAttribute("reduction", "mean", {"none", "sum", "mean"},
                        "none: one loss per element; sum; mean: sum divided by the sum of weights")};
    op.tolerance = {2e-6, 2e-6};
    op.infer = inferLoss;
    op.cost = [flops](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                      const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = flops * countOf(inputs[0].shape);
        return cost;
    };
    op.kernel = kernel;
    return op;
}

} // namespace

void addLosses(std::vector<Op>& table) {
    Op nll = makeLoss("NegativeLogLikelihoodLoss", 22, "Loss of the target classes' log-probabilities",
                      "loss = −weight[target] · input[target]", "input", "target", 1,
                      viaFloat<negativeLogLikelihoodKernel>);
    nll.gradient = negativeLogLikelihoodGradient;
    nll.outputs = {port("loss", "", kFloats, "T")};
    table.push_back(std::move(nll));
    Op entropy = makeLoss("SoftmaxCrossEntropyLoss", 13, "Softmax and the loss of the target classes",
                          "loss = −weight[label] · ln softmax(scores)[label]", "scores", "labels", 15,
                          viaFloat<softmaxCrossEntropyKernel>);
    entropy.gradient = softmaxCrossEntropyGradient;
    entropy.outputs = {port("output", "", kFloats, "T"), optionalPort("log_prob", "", kFloats, "T")};
    table.push_back(std::move(entropy));
}

} // namespace twb
