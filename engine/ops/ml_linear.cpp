#include "backends/cpu/dense_input.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/linear_scores.h"
#include "ops/ml_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

// The linear models of ai.onnx.ml.

namespace twb {
namespace {

/// Fails unless the coefficients and intercepts match `targets` scores per row.
void needLinear(const InferContext& ctx, std::int64_t targets) {
    needRows(ctx);
    const std::int64_t features = columnsOf(ctx.input(0)->shape);
    const auto coefficients = static_cast<double>(ctx.attributes().numbers("coefficients").size());
    const std::size_t intercepts = numbersOrNone(ctx.attributes(), "intercepts").size();
    if (features != kUnknownDim &&
        coefficients != static_cast<double>(targets) * static_cast<double>(features))
        ctx.fail("shape-mismatch", 0,
                 fmt::format("coefficients has {} entries, but {} scores of {} features need {}",
                             coefficients, targets, features,
                             static_cast<double>(targets) * static_cast<double>(features)));
    if (intercepts != 0 && intercepts != static_cast<std::size_t>(targets))
        ctx.fail("attribute", -1,
                 fmt::format("intercepts has {} entries for {} scores", intercepts, targets));
}

/// Writes X · coefficientsᵀ + intercepts to `out` and applies the transform. Calls rowDone(row, scores) for
/// each row before the transform.
template <class F> void linear(const KernelContext& ctx, const TensorView& out, const F& rowDone) {
    const DenseInput in(ctx.inputs[0]);
    const std::vector<double> coefficients = ctx.attributes.numbers("coefficients");
    const std::vector<double> intercepts = numbersOrNone(ctx.attributes, "intercepts");
    const ScoreTransform how = scoreTransformOf(ctx.attributes.text("post_transform"));
    const std::int64_t features = columnsOf(in.shape());
    const std::int64_t targets = out.shape[1];
    withMatrixType(in.view().dtype, [&](auto zero) {
        const auto* const x = in.as<decltype(zero)>();
        const std::int64_t work = out.elementCount() * (features + 1);
        parallelRangesThrowing(out.shape[0], work, 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> scores(static_cast<std::size_t>(targets));
            for (std::int64_t row = begin; row < end; ++row) {
                for (std::size_t t = 0; t < scores.size(); ++t) {
                    const double* const c = coefficients.data() + static_cast<std::int64_t>(t) * features;
                    scores[t] = intercepts.empty() ? 0 : intercepts[t];
                    for (std::int64_t f = 0; f < features; ++f)
                        scores[t] += static_cast<double>(x[row * features + f]) * c[f];
                }
                rowDone(row, scores);
                transformScores(scores.data(), targets, how);
                std::transform(scores.begin(), scores.end(), out.as<float>() + row * targets,
                               [](double score) { return element::cast<float>(score); });
            }
        });
    });
}

void inferLinearRegressor(InferContext& ctx) {
    const std::int64_t targets = ctx.attributes().integer("targets");
    needLinear(ctx, targets);
    ctx.output(0, {DType::f32, {rowsOf(ctx.input(0)->shape), targets}});
}

void linearRegressorKernel(const KernelContext& ctx) {
    linear(ctx, ctx.outputs[0], [](std::int64_t, const std::vector<double>&) {});
}

void inferLinearClassifier(InferContext& ctx) {
    const auto classes = static_cast<std::int64_t>(ctx.attributes().integers("classlabels_ints").size());
    if (classes == 0) ctx.fail("attribute", -1, "classlabels_ints is empty: list at least one class");
    needLinear(ctx, classes);
    const std::int64_t rows = rowsOf(ctx.input(0)->shape);
    ctx.output(0, {DType::i64, {rows}});
    ctx.output(1, {DType::f32, {rows, classes}});
}

void linearClassifierKernel(const KernelContext& ctx) {
    const std::vector<std::int64_t> labels = ctx.attributes.integers("classlabels_ints");
    auto* const chosen = ctx.outputs[0].as<std::int64_t>();
    linear(ctx, ctx.outputs[1], [&](std::int64_t row, const std::vector<double>& scores) {
        const auto best = std::max_element(scores.begin(), scores.end());
        chosen[row] = labels[static_cast<std::size_t>(best - scores.begin())];
    });
}

/// Computes the gradient of the features from the gradient of the transformed scores (output `port`).
void linearGradient(GradientContext& g, int port) {
    const GraphTensor y = g.output(port);
    GraphTensor ofScores = g.gradient(port);
    if (!ofScores) return;
    switch (scoreTransformOf(g.attributes().text("post_transform"))) {
    case ScoreTransform::none:
        break;
    case ScoreTransform::softmax:
    case ScoreTransform::softmaxZero:
        ofScores = y * (ofScores - sumOver(y * ofScores, {1}));
        break;
    case ScoreTransform::logistic:
        ofScores = ofScores * y * (1 - y);
        break;
    case ScoreTransform::probit: // the inverse of the normal density
        ofScores = ofScores * std::sqrt(2 * std::numbers::pi) * apply("Exp", {y * y / 2});
        break;
    }
    const Shape& x = g.input().shape();
    const GraphTensor coefficients =
        constant(g, y.type().dtype, {y.shape()[1], columnsOf(x)}, g.attributes().numbers("coefficients"));
    g.give(0, reshape(cast(apply("MatMul", {ofScores, coefficients}), g.input().type().dtype), x));
}

Op makeLinear(std::string name, std::string doc, std::string formula) {
    Op op = makeMlOp(std::move(name), 1, std::move(doc), std::move(formula), kMlTypes, DTypeSet{DType::f32});
    AttributeSpec coefficients =
        numbersAttribute("coefficients", "Coefficients of the first score, of the second, …");
    coefficients.required = true;
    op.attributes = {
        std::move(coefficients), numbersAttribute("intercepts", "One intercept per score; absent: 0"),
        choiceAttribute("post_transform", "NONE", {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"},
                        "Function of each row of scores; SOFTMAX_ZERO keeps zeros")};
    op.tolerance = {1e-6, 1e-6};
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        const Shape& x = inputs[0].shape;
        const double features = x.rank() == 0 ? 1 : countOf({columnsOf(x)});
        cost.flops = 2 * features * countOf(outputs.back().shape);
        return cost;
    };
    return op;
}

} // namespace

void addMlLinear(std::vector<Op>& table) {
    Op regressor = makeLinear("LinearRegressor", "A linear model's prediction for each row of features",
                              "Y = X · coefficients′ + intercepts");
    AttributeSpec targets = integerAttribute("targets", 1, "Scores of each row");
    targets.minimum = 1;
    regressor.attributes.push_back(std::move(targets));
    regressor.infer = inferLinearRegressor;
    regressor.kernel = linearRegressorKernel;
    regressor.gradient = [](GradientContext& g) { linearGradient(g, 0); };
    table.push_back(std::move(regressor));

    Op classifier =
        makeLinear("LinearClassifier", "A linear model's class and scores for each row of features",
                   "Z = X · coefficients′ + intercepts; Y = label of the largest");
    classifier.outputs[0].types = DTypeSet{DType::i64};
    classifier.outputs.push_back(port("Z", "", DTypeSet{DType::f32}));
    AttributeSpec labels = integersAttribute("classlabels_ints", "Labels of the classes in Y");
    labels.required = true;
    classifier.attributes.push_back(std::move(labels));
    classifier.attributes.push_back(flagAttribute(
        "multi_class", false, "Whether the model was fitted multinomially; has no effect on the scores"));
    classifier.infer = inferLinearClassifier;
    classifier.kernel = linearClassifierKernel;
    classifier.gradient = [](GradientContext& g) { linearGradient(g, 1); };
    table.push_back(std::move(classifier));

    describe(table, "LinearRegressor", "X [n, features] → Y [n, targets]", {operand({2, 3})},
             {{"coefficients", Doubles{0.5, -1.0, 2.0}}});
    describe(
        table, "LinearClassifier", "X [n, features] → labels Y [n], scores Z [n, classes]", {operand({2, 3})},
        {{"coefficients", Doubles{0.5, -1.0, 2.0, -0.5, 1.0, -2.0}}, {"classlabels_ints", Integers{0, 1}}});
}

} // namespace twb
