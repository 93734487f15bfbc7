#include "formats/pytorch/aten_mapping.h"

namespace twb::aten {
namespace {

/// at::Reduction, as a number or a string.
std::string reductionOf(Mapping& m) {
    if (m.isText("reduction")) return m.text("reduction", "mean");
    const std::int64_t kind = m.integer("reduction", 1);
    return kind == 0 ? "none" : kind == 1 ? "mean" : "sum";
}

void giveReduced(Mapping& m, const Value& losses) {
    const std::string how = reductionOf(m);
    m.give(how == "none" ? losses : m.reduce(how == "mean" ? "ReduceMean" : "ReduceSum", losses, {}, false));
}

void classLoss(Mapping& m, const char* op) {
    const Value scores = m.tensor("self");
    const Value target = m.tensor("target");
    if (isFloating(target.type.dtype)) Mapping::refuse("its targets are probabilities");
    if (m.number("label_smoothing", 0) != 0) Mapping::refuse("it smooths its labels");
    if (scores.type.shape.rank() < 2) Mapping::refuse("its operand has no batch");
    Attributes attributes{{"reduction", reductionOf(m)}, {"ignore_index", m.integer("ignore_index", -100)}};
    m.give(0, m.make(op, {scores, target, m.optionalTensor("weight")}, attributes));
}

void likelihood(Mapping& m) { classLoss(m, "NegativeLogLikelihoodLoss"); }

Value difference(Mapping& m) { return m.sub(m.operand("self", m.dtype()), m.operand("target", m.dtype())); }

void squared(Mapping& m) {
    const Value d = difference(m);
    giveReduced(m, m.mul(d, d));
}

void absolute(Mapping& m) { giveReduced(m, m.make("Abs", {difference(m)})); }

/// Quadratic below `width`, else linear; `byWidth` divides by the width.
void huber(Mapping& m, double width, bool byWidth) {
    const Value d = m.make("Abs", {difference(m)});
    if (width == 0) return giveReduced(m, d);
    const Value square = m.scaled(m.mul(d, d), byWidth ? 0.5 / width : 0.5);
    const Value line = m.sub(m.scaled(d, byWidth ? 1 : width),
                             m.constant(byWidth ? 0.5 * width : 0.5 * width * width, m.dtype()));
    const Value isNear = m.make("Less", {d, m.constant(width, m.dtype())});
    giveReduced(m, m.make("Where", {isNear, square, line}));
}

Value weighted(Mapping& m, const Value& losses) {
    const auto weight = m.optionalTensor("weight");
    return weight ? m.mul(losses, *weight) : losses;
}

void binaryEntropy(Mapping& m) {
    const Value p = m.tensor("self");
    const Value t = m.tensor("target");
    const Value one = m.constant(1, p.type.dtype);
    const auto logarithm = [&](const Value& of) {
        return m.make("Clip", {m.make("Log", {of})}, {{"min", -100.0}});
    };
    const Value sum = m.add(m.mul(t, logarithm(p)), m.mul(m.sub(one, t), logarithm(m.sub(one, p))));
    giveReduced(m, weighted(m, m.make("Neg", {sum})));
}

void binaryEntropyOfLogits(Mapping& m) {
    const Value x = m.tensor("self");
    const Value t = m.tensor("target");
    const Value one = m.constant(1, x.type.dtype);
    Value soft = m.make("Softplus", {m.make("Neg", {x})});
    if (const auto positive = m.optionalTensor("pos_weight"))
        soft = m.mul(soft, m.add(m.mul(m.sub(*positive, one), t), one));
    giveReduced(m, weighted(m, m.add(m.mul(m.sub(one, t), x), soft)));
}

/// 1 / count for the mean, else 1.
double share(Mapping& m, const Value& x) {
    return reductionOf(m) == "mean" ? 1 / static_cast<double>(x.type.shape.elementCount()) : 1;
}

void squaredBackward(Mapping& m) {
    const Value x = m.tensor("self");
    m.give(m.mul(m.scaled(m.sub(x, m.tensor("target")), 2 * share(m, x)), m.tensor("grad_output")));
}

/// The slope of the quadratic part, which the linear parts continue.
void huberBackward(Mapping& m, double width, double slope) {
    const Value d = m.sub(m.tensor("self"), m.tensor("target"));
    const Value near = m.make("Clip", {d}, {{"min", -width}, {"max", width}});
    m.give(m.mul(m.scaled(near, slope * share(m, d)), m.tensor("grad_output")));
}

/// (p − t) / (p · (1 − p)), where PyTorch keeps the divisor from 0.
void binaryEntropyBackward(Mapping& m) {
    const Value p = m.tensor("self");
    const Value divisor = m.make("Clip", {m.mul(m.sub(m.constant(1, p.type.dtype), p), p)}, {{"min", 1e-12}});
    const Value slopes = m.div(m.sub(p, m.tensor("target")), divisor);
    m.give(m.mul(m.scaled(weighted(m, slopes), share(m, p)), m.tensor("grad_output")));
}

/// grad · −weight[target] / Σ weight at the target's class.
void likelihoodBackward(Mapping& m) {
    const Value x = m.tensor("self");
    const Value target = m.tensor("target");
    const DType dtype = x.type.dtype;
    if (x.type.shape.rank() < 2) Mapping::refuse("its operand has no batch");
    const Value ignored = m.make(
        "Equal", {target, m.constant(static_cast<double>(m.integer("ignore_index", -100)), DType::i64)});
    const Value at = m.make("Where", {ignored, m.constant(0, DType::i64), target});
    Value counts = m.cast(m.make("Not", {ignored}), dtype);
    if (m.has("weight")) counts = m.mul(counts, m.make("Gather", {m.tensor("weight"), at}));
    Value grad = m.tensor("grad_output");
    if (reductionOf(m) == "mean") grad = m.div(grad, m.reduce("ReduceSum", counts, {}, false));
    const Value each = m.make("Neg", {m.mul(grad, counts)});
    m.give(m.make("ScatterElements", {m.filled(0, m.type()), m.unsqueeze(at, 1), m.unsqueeze(each, 1)},
                  {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}}));
}

} // namespace

void addLosses(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    for (const char* name :
         {"nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward"})
        row(name, likelihood);
    row("cross_entropy_loss", [](Mapping& m) { classLoss(m, "SoftmaxCrossEntropyLoss"); });
    row("mse_loss", squared);
    row("l1_loss", absolute);
    row("smooth_l1_loss", [](Mapping& m) { huber(m, m.number("beta", 1), true); });
    row("huber_loss", [](Mapping& m) { huber(m, m.number("delta", 1), false); });
    row("binary_cross_entropy", binaryEntropy);
    row("binary_cross_entropy_with_logits", binaryEntropyOfLogits);
    row("mse_loss_backward", squaredBackward);
    row("smooth_l1_loss_backward", [](Mapping& m) {
        const double width = m.number("beta", 1);
        huberBackward(m, width, 1 / width);
    });
    row("huber_loss_backward", [](Mapping& m) { huberBackward(m, m.number("delta", 1), 1); });
    row("binary_cross_entropy_backward", binaryEntropyBackward);
    row("nll_loss_backward", likelihoodBackward);
    row("nll_loss2d_backward", likelihoodBackward);
}

} // namespace twb::aten
