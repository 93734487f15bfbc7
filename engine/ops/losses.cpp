#include "backends/cpu/parallel.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"
#include "ops/softmax.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace twb {
namespace {

bool differ(std::int64_t a, std::int64_t b) { return a != kUnknownDim && b != kUnknownDim && a != b; }

/// The sizes of the targets of scores (N, C, …): (N, …). The target and the weight are the ports after that
/// of the scores.
Shape checkTargets(const InferContext& ctx, int scores) {
    const TensorType& input = *ctx.input(scores);
    const Shape& target = ctx.input(scores + 1)->shape;
    const int rank = input.shape.rank();
    if (rank < 2)
        ctx.fail("shape-mismatch", scores,
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
        ctx.fail("shape-mismatch", scores + 1,
                 fmt::format("Expected target size {}, got {}", Shape(dims).toTorchString(),
                             target.toTorchString()));
    if (const TensorType* weight = ctx.input(scores + 2))
        if (weight->shape.rank() != 1 || differ(weight->shape[0], input.shape[1]))
            ctx.fail(
                "shape-mismatch", scores + 2,
                fmt::format("weight tensor should be defined either for all {} classes or no classes but got "
                            "weight tensor of shape: {}",
                            input.shape[1], weight->shape.toTorchString()));
    return Shape(std::move(dims));
}

Shape lossShape(const InferContext& ctx, Shape targets) {
    return ctx.attributes().text("reduction") == "none" ? std::move(targets) : Shape{};
}

void inferLoss(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    ctx.output(0, {input.dtype, lossShape(ctx, checkTargets(ctx, 0))});
    if (ctx.op().outputs.size() > 1) ctx.output(1, input);
}

void inferLossGrad(InferContext& ctx) {
    const Shape loss = lossShape(ctx, checkTargets(ctx, 1));
    const Shape& given = ctx.input(0)->shape;
    bool fits = given.rank() == loss.rank();
    for (int i = 0; fits && i < loss.rank(); ++i) fits = !differ(given[i], loss[i]);
    if (!fits)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("the gradient of the loss must have its shape {}, but has shape {}",
                             loss.toTorchString(), given.toTorchString()));
    ctx.output(0, *ctx.input(1));
}

/// The classes of the targets, and the weight of each class.
template <class T> class Targets {
public:
    /// The target is the input at `port`, the weight the next one.
    Targets(const KernelContext& ctx, std::size_t port, std::int64_t classes)
        : m_targets(denseAs(DType::i64, ctx.inputs[port], m_keepTargets)), m_classes(classes) {
        if (const std::size_t next = port + 1; ctx.inputs.size() > next && ctx.inputs[next].data)
            m_weight = denseAs(ctx.inputs[next].dtype, ctx.inputs[next], m_keepWeight).template as<const T>();
        if (ctx.attributes.has("ignore_index")) m_ignored = ctx.attributes.integer("ignore_index");
    }
    std::int64_t count() const { return m_targets.elementCount(); }
    /// Nothing for a target to ignore. Throws Error(invalidArgument) if the class does not exist.
    std::optional<std::int64_t> operator[](std::int64_t i) const {
        const std::int64_t target = m_targets.template as<const std::int64_t>()[i];
        if (target == m_ignored) return std::nullopt;
        if (target < 0 || target >= m_classes)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("Target {} is out of bounds: there are {} classes; set ignore_index "
                                    "to this class to ignore it",
                                    target, m_classes));
        return target;
    }
    double weightOf(std::int64_t target) const {
        return m_weight ? static_cast<double>(m_weight[target]) : 1;
    }

private:
    Tensor m_keepTargets;
    Tensor m_keepWeight;
    TensorView m_targets;
    const T* m_weight = nullptr;
    std::int64_t m_classes;
    std::optional<std::int64_t> m_ignored;
};

/// The loss of dense log-probabilities (N, C, D). Serial, since the sums cost little beside the logarithms
/// and an index may be out of range.
template <class T> void loss(const KernelContext& ctx, const T* logarithms) {
    const Shape& shape = ctx.inputs[0].shape;
    const std::int64_t classes = shape[1];
    const Targets<T> targets(ctx, 1, classes);
    const std::int64_t count = targets.count();
    const std::int64_t inner = shape[0] > 0 ? count / shape[0] : 0;
    const std::string& reduction = ctx.attributes.text("reduction");
    T* const out = ctx.outputs[0].as<T>();
    double sum = 0;
    double weights = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        double item = 0;
        if (const auto target = targets[i]) {
            const double factor = targets.weightOf(*target);
            item = -factor *
                   static_cast<double>(logarithms[(i / inner * classes + *target) * inner + i % inner]);
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

/// dX = (exp(log_prob) − one-hot(labels)) · share. The share of a target is its weight times the gradient of
/// its loss; in a mean, also divided by the sum of the weights. A target to ignore has no share, even if its
/// probabilities are NaN.
void softmaxCrossEntropyGradKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t classes = out.shape[1];
        const Targets<T> targets(ctx, 2, classes);
        Tensor keepGradient;
        Tensor keepLogarithms;
        const T* const gradient = denseAs(out.dtype, ctx.inputs[0], keepGradient).template as<const T>();
        const T* const logarithms = denseAs(out.dtype, ctx.inputs[1], keepLogarithms).template as<const T>();
        const std::string& reduction = ctx.attributes.text("reduction");
        const bool isEach = reduction == "none";
        // Before the threads start: a class may not exist.
        double weights = 0;
        for (std::int64_t i = 0; i < targets.count(); ++i)
            if (const auto target = targets[i]) weights += targets.weightOf(*target);
        const double scale = reduction == "mean" ? 1 / weights : 1;
        const std::int64_t inner = targets.count() / out.shape[0];
        const std::int64_t total = out.elementCount();
        T* const to = out.as<T>();
        // The cost of an exponential is about ten plain operations.
        parallelRanges(total, 10 * total, 64, [&](std::int64_t begin, std::int64_t end) {
            exponentials(logarithms + begin, to + begin, end - begin);
        });
        parallelRanges(targets.count(), 2 * total, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                T* const column = to + i / inner * classes * inner + i % inner;
                const auto target = targets[i];
                const double factor = target ? scale * targets.weightOf(*target) : 0;
                const auto share = static_cast<T>(factor * static_cast<double>(gradient[isEach ? i : 0]));
                for (std::int64_t c = 0; c < classes; ++c) {
                    T& element = column[c * inner];
                    element = target ? element * share : T{0};
                }
                if (target) column[*target * inner] -= share;
            }
        });
    });
}

/// The gradient of a loss with respect to the log-probabilities.
struct TargetGradient {
    /// `gradient` is that of the loss; `weight` may be none.
    TargetGradient(GradientContext& g, GraphTensor logarithms, GraphTensor target, GraphTensor weight,
                   GraphTensor gradient) {
        const DType dtype = logarithms.type().dtype;
        const std::string& reduction = g.attributes().text("reduction");
        std::vector<std::int64_t> dims = target.shape().dims();
        dims.insert(dims.begin() + 1, 1);
        const Shape sizes(std::move(dims));
        if (!weight && !g.attributes().has("ignore_index")) {
            // All targets have the same share.
            const auto count = static_cast<double>(target.shape().elementCount());
            perTarget = reduction == "none"
                            ? -reshape(gradient, sizes)
                            : full(g, {dtype, sizes}, reduction == "mean" ? -1 / count : -1) * gradient;
        } else {
            GraphTensor isIgnored;
            if (g.attributes().has("ignore_index")) {
                isIgnored = isEqual(target, static_cast<double>(g.attributes().integer("ignore_index")));
                target = where(isIgnored, 0, target); // the class to ignore need not exist
            }
            GraphTensor factor =
                weight ? apply("Gather", {weight, target}) : full(g, {dtype, target.shape()}, 1);
            if (isIgnored) factor = where(isIgnored, 0, factor);
            if (reduction == "mean") factor = factor / apply("ReduceSum", {factor}, {{"keepdims", false}});
            perTarget = reshape(-(factor * gradient), sizes);
        }
        perClass = apply("ScatterElements", {zerosLike(logarithms), reshape(target, sizes), perTarget},
                         {{"axis", std::int64_t{1}}});
    }

    GraphTensor perTarget; ///< of the target's log-probability; with one class
    GraphTensor perClass;  ///< 0 for other classes than the target
};

void negativeLogLikelihoodGradient(GradientContext& g) {
    g.give(0, TargetGradient(g, g.input(0), g.input(1), g.input(2), g.gradient()).perClass);
}

void softmaxCrossEntropyGradient(GradientContext& g) {
    if (g.gradient(0))
        g.give(0, apply("SoftmaxCrossEntropyGrad", {g.gradient(0), g.output(1), g.input(1), g.input(2)},
                        g.attributes()));
    if (const GraphTensor ofLogarithm = g.gradient(1))
        g.give(0, ofLogarithm - apply("Exp", {g.output(1)}) * sumOver(ofLogarithm, {1}));
}

/// dX = perClass − exp(log_prob) · perTarget, in which both factors are proportional to dY.
void softmaxCrossEntropyGradGradient(GradientContext& g) {
    const GraphTensor probability = apply("Exp", {g.input(1)});
    const auto of = [&](GraphTensor gradient) {
        return TargetGradient(g, g.input(1), g.input(2), g.input(3), gradient);
    };
    if (g.isWanted(0)) {
        const TargetGradient slope = of(full(g, g.input(0).type(), 1));
        const GraphTensor product = g.gradient() * (slope.perClass - probability * slope.perTarget);
        const Shape& loss = g.input(0).shape();
        g.give(0, loss.rank() == 0 ? sumTo(product, loss) : reshape(sumOver(product, {1}), loss));
    }
    if (g.isWanted(1)) g.give(1, -(g.gradient() * probability * of(g.input(0)).perTarget));
}

std::vector<AttributeSpec> lossAttributes() {
    AttributeSpec ignored =
        integerAttribute("ignore_index", 0, "Target class to ignore; absent: no class is ignored");
    ignored.defaultValue.reset();
    return {std::move(ignored),
            choiceAttribute("reduction", "mean", {"none", "sum", "mean"},
                            "none: one loss per element; sum; mean: sum divided by the sum of weights")};
}

Op makeLoss(std::string name, int opset, std::string doc, std::string formula, std::string input,
            std::string target, double flops, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Loss", opset, std::move(doc), std::move(formula));
    op.inputs = {
        port(std::move(input), "self", kFloats, "T"), port(std::move(target), "target", kIndices),
        optionalPort(op.name == "SoftmaxCrossEntropyLoss" ? "weights" : "weight", "weight", kFloats, "T")};
    op.attributes = lossAttributes();
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

Op makeSoftmaxCrossEntropyGrad() {
    Op op = makeOp("SoftmaxCrossEntropyGrad", "Training", 0,
                   "The gradient of the scores of a SoftmaxCrossEntropyLoss from that of the loss",
                   "dX = (exp(log_prob) − one-hot(labels)) · weights[labels] · dY");
    op.inputs = {port("dY", "grad_out", kFloats, "T"), port("log_prob", "log_prob", kFloats, "T"),
                 port("labels", "target", kIndices), optionalPort("weights", "weight", kFloats, "T")};
    op.outputs = {port("dX", "", kFloats, "T")};
    op.attributes = lossAttributes();
    op.inPlace = {1};
    op.tolerance = {2e-6, 2e-6};
    op.infer = inferLossGrad;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 12);
    };
    op.kernel = viaFloat<softmaxCrossEntropyGradKernel>;
    op.gradient = softmaxCrossEntropyGradGradient;
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
    table.push_back(makeSoftmaxCrossEntropyGrad());

    describe(table, "NegativeLogLikelihoodLoss",
             "input [n, classes, d…] · target [n, d…] → a scalar, or [n, d…] with reduction none",
             {operand({3, 4}), operand({3}, {0, 1, 2}, DType::i64)});
    describe(table, "SoftmaxCrossEntropyLoss",
             "scores [n, classes, d…] · labels [n, d…] → a scalar, or [n, d…] with reduction none",
             {operand({3, 4}), operand({3}, {0, 1, 2}, DType::i64)});
    describe(table, "SoftmaxCrossEntropyGrad",
             "dY has the loss's shape · log_prob [n, classes, d…] · labels [n, d…] → dX [n, classes, d…]",
             {operand({}), operand({3, 4}), operand({3}, {0, 1, 2}, DType::i64)});
}

} // namespace twb
