#include "ops/boxes.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twb {
namespace {

constexpr int kBoxes = 0;
constexpr int kScores = 1;

/// Batch, class and box index of each box that is kept, by batch and class, best score first.
std::vector<std::int64_t> keptBoxes(const TensorView& boxes, const TensorView& scores,
                                    const BoxLimits& limits, bool centered) {
    std::vector<std::int64_t> out;
    if (limits.most == 0) return out;
    struct Candidate {
        float score;
        std::int64_t at;
    };
    std::vector<Candidate> candidates;
    std::vector<Box> kept;
    const BoxView all(boxes, centered);
    for (std::int64_t batch = 0; batch < scores.shape[0]; ++batch)
        for (std::int64_t label = 0; label < scores.shape[1]; ++label) {
            candidates.clear();
            kept.clear();
            const float* from =
                scores.as<const float>() + batch * scores.strides[0] + label * scores.strides[1];
            for (std::int64_t i = 0; i < scores.shape[2]; ++i) {
                const float score = from[i * scores.strides[2]];
                if (limits.lets(score)) candidates.push_back({score, i});
            }
            std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
                return a.score > b.score || (a.score == b.score && a.at < b.at);
            });
            for (const Candidate& candidate : candidates) {
                if (static_cast<std::int64_t>(kept.size()) >= limits.most) break;
                const Box box = all.at(batch, candidate.at);
                if (std::any_of(kept.begin(), kept.end(),
                                [&](const Box& other) { return box.overlaps(other, limits.overlap); }))
                    continue;
                kept.push_back(box);
                out.insert(out.end(), {batch, label, candidate.at});
            }
        }
    return out;
}

void inferNonMaxSuppression(InferContext& ctx) {
    const Shape& boxes = ctx.input(kBoxes)->shape;
    const Shape& scores = ctx.input(kScores)->shape;
    const auto differs = [](std::int64_t a, std::int64_t b) {
        return a != b && a != kUnknownDim && b != kUnknownDim;
    };
    if (boxes.rank() != 3 || differs(boxes[2], 4))
        ctx.fail(
            "shape-mismatch", kBoxes,
            fmt::format("boxes should be batches × boxes × 4, but have the shape {}", boxes.toTorchString()));
    if (scores.rank() != 3 || differs(scores[0], boxes[0]) || differs(scores[2], boxes[1]))
        ctx.fail("shape-mismatch", kScores,
                 fmt::format("scores should be batches × classes × boxes for boxes of shape {}, but have the "
                             "shape {}",
                             boxes.toTorchString(), scores.toTorchString()));
    const BoxLimits limits = boxLimitsOf(ctx);
    const Tensor* boxValues = ctx.value(kBoxes);
    const Tensor* scoreValues = ctx.value(kScores);
    bool known = boxValues && scoreValues;
    for (int port : {2, 3, 4}) known = known && !ctx.isDeferred(port);
    std::int64_t count = kUnknownDim;
    if (known)
        count = static_cast<std::int64_t>(keptBoxes(boxValues->view(), scoreValues->view(), limits,
                                                    ctx.attributes().flag("center_point_box"))
                                              .size()) /
                3;
    ctx.output(0, {DType::i64, Shape{count, 3}});
}

void nonMaxSuppressionKernel(const KernelContext& ctx) {
    const std::vector<std::int64_t> kept = keptBoxes(
        ctx.inputs[kBoxes], ctx.inputs[kScores], boxLimitsOf(ctx), ctx.attributes.flag("center_point_box"));
    if (static_cast<std::int64_t>(kept.size()) != ctx.outputs[0].elementCount())
        throw Error(ErrorCode::failed,
                    "the inputs of NonMaxSuppression have changed since the size of its result was computed");
    std::copy(kept.begin(), kept.end(), ctx.outputs[0].as<std::int64_t>());
}

PortSpec limitPort(const char* name, DType dtype) {
    PortSpec spec = optionalPort(name, name, DTypeSet{dtype});
    spec.hostValue = true;
    return spec;
}

} // namespace

void addNonMaxSuppression(std::vector<Op>& table) {
    Op op = makeOp("NonMaxSuppression", "Selection", 11,
                   "Selects the best boxes of each class, without those that overlap a better box too much");
    op.inputs = {port("boxes", "boxes", DTypeSet{DType::f32}), port("scores", "scores", DTypeSet{DType::f32}),
                 limitPort("max_output_boxes_per_class", DType::i64), limitPort("iou_threshold", DType::f32),
                 limitPort("score_threshold", DType::f32)};
    op.inputs[kBoxes].shapesOutput = op.inputs[kScores].shapesOutput = true;
    op.outputs = {port("selected_indices", "", DTypeSet{DType::i64})};
    AttributeSpec most = integerAttribute("max_output_boxes_per_class", 0,
                                          "Maximum number of boxes per class; 0: select no boxes");
    most.minimum = 0;
    AttributeSpec least = numberAttribute("score_threshold", 0, "Minimum score; absent: no minimum");
    least.defaultValue.reset();
    op.attributes = {
        std::move(most), numberAttribute("iou_threshold", 0, "Maximum ratio of intersection to union"),
        std::move(least),
        flagAttribute("center_point_box", false,
                      "Boxes are given by centre x, y, width and height, not by two corners (y, x, y, x)")};
    op.infer = inferNonMaxSuppression;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = 20 * countOf(inputs[kScores].shape);
        return cost;
    };
    op.kernel = nonMaxSuppressionKernel;
    op.noGradient = "gives indices";
    table.push_back(std::move(op));

    describe(
        table, "NonMaxSuppression", "boxes [b, n, 4] · scores [b, c, n] → selected_indices [k, 3]",
        {operand({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 2, 1, 3}), operand({1, 1, 3}, {0.9, 0.75, 0.6})},
        {{"max_output_boxes_per_class", std::int64_t{2}}, {"iou_threshold", 0.5}})
        .formula = "Keeps the box of the best score, drops those with IoU > iou_threshold, and so on";
}

} // namespace twb
