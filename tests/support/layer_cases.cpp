#include "support/layer_cases.h"

namespace twb::test {
namespace {

Case channels(Dice& dice, const Op& op, DType dtype) {
    Case out{requiredAttributes(op),
             {wide(dice, dtype, Shape{dice.integer(1, 3), 4, dice.integer(1, 5), 2})}};
    for (std::size_t i = 1; i < op.inputs.size(); ++i) out.inputs.push_back(some(dice, dtype, Shape{4}));
    if (op.attribute("num_groups")) out.attributes.set("num_groups", std::int64_t{2});
    if (op.attribute("training_mode")) out.attributes.set("training_mode", dice.one(2));
    return out;
}

Case channelGradients(Dice& dice, const Op&, DType dtype) {
    const Shape shape{dice.integer(2, 3), 4, dice.integer(1, 5), 2};
    return {{}, {wide(dice, dtype, shape), wide(dice, dtype, shape), some(dice, dtype, Shape{4})}};
}

Case rows(Dice& dice, const Op& op, DType dtype) {
    const Shape shape{2, dice.integer(1, 3), dice.integer(1, 40)};
    Case out{{{"axis", dice.integer(-2, -1)}}, {wide(dice, dtype, shape)}};
    for (std::size_t i = 1; i < op.inputs.size(); ++i)
        out.inputs.push_back(op.inputs[i].optional && dice.one(3) ? Tensor{}
                                                                  : some(dice, dtype, Shape{shape[2]}));
    return out;
}

Case pooling(Dice& dice, const Op& op, DType dtype) {
    using List = std::vector<std::int64_t>;
    Case out{{}, {wide(dice, dtype, Shape{dice.integer(1, 2), 2, dice.integer(3, 6), dice.integer(3, 7)})}};
    if (!op.attribute("kernel_shape")) return out;
    out.attributes.set("kernel_shape", List{2, 3});
    out.attributes.set("strides", List{dice.integer(1, 2), dice.integer(1, 2)});
    out.attributes.set("pads", List{1, 0, dice.integer(0, 1), 1});
    if (op.attribute("ceil_mode")) out.attributes.set("ceil_mode", dice.one(2));
    return out;
}

Case convolution(Dice& dice, const Op& op, DType dtype) {
    using List = std::vector<std::int64_t>;
    const std::int64_t groups = dice.integer(1, 2);
    const bool isTransposed = op.name == "ConvTranspose";
    const std::int64_t inside = dice.integer(1, 3);
    const Shape weight{2 * groups, inside, 3, dice.integer(1, 3)};
    Case out{{{"group", groups},
              {"strides", List{dice.integer(1, 2), 1}},
              {"pads", List{dice.integer(0, 1), 0, dice.integer(0, 1), 0}}},
             {some(dice, dtype, Shape{2, isTransposed ? 2 * groups : inside * groups, 4, 5}),
              some(dice, dtype, weight)}};
    if (dice.one(2))
        out.inputs.push_back(some(dice, dtype, Shape{isTransposed ? inside * groups : 2 * groups}));
    return out;
}

Case weightGradient(Dice& dice, const Op&, DType dtype) {
    using List = std::vector<std::int64_t>;
    const std::int64_t groups = dice.integer(1, 2);
    const List kernel{dice.integer(1, 3), dice.integer(1, 2)};
    const List strides{dice.integer(1, 2), 1};
    const List pads{dice.integer(0, 1), 0, dice.integer(0, 1), 0};
    const Shape x{dice.integer(1, 3), groups * dice.integer(1, 3), 4, 5};
    return {{{"kernel_shape", kernel}, {"group", groups}, {"strides", strides}, {"pads", pads}},
            {some(dice, dtype,
                  Shape{x[0], 2 * groups, (4 + pads[0] + pads[2] - kernel[0]) / strides[0] + 1,
                        5 - kernel[1] + 1}),
             some(dice, dtype, x)}};
}

Case matMul(Dice& dice, const Op&, DType dtype) {
    const std::int64_t k = dice.integer(0, 5);
    const Shape batch = dice.shape(2, 3);
    const auto with = [](const Shape& before, std::int64_t rows, std::int64_t columns) {
        std::vector<std::int64_t> dims = before.dims();
        dims.insert(dims.end(), {rows, columns});
        return Shape(std::move(dims));
    };
    return {{},
            {wide(dice, dtype, with(batch, dice.integer(1, 4), k)),
             wide(dice, dtype, with(narrowed(dice, batch), k, dice.integer(1, 4)))}};
}

Case matMulInteger(Dice& dice, const Op&, DType dtype) {
    const Shape a{2, dice.integer(1, 4), dice.integer(1, 5)};
    const Shape b{a[2], dice.integer(1, 4)};
    Case out{{}, {wide(dice, dtype, a), wide(dice, dice.one(2) ? DType::i8 : DType::u8, b)}};
    if (dice.one(3)) return out;
    out.inputs.push_back(some(dice, dtype, dice.one(2) ? Shape{} : Shape{a[1]}));
    out.inputs.push_back(some(dice, out.inputs[1].dtype(), dice.one(2) ? Shape{1} : Shape{b[1]}));
    return out;
}

Case qLinearMatMul(Dice& dice, const Op&, DType dtype) {
    const Shape a{dice.integer(1, 4), dice.integer(1, 5)};
    const Shape b{a[1], dice.integer(1, 4)};
    return {{},
            {wide(dice, dtype, a), some(dice, DType::f32, Shape{a[0]}), some(dice, dtype, Shape{a[0]}),
             wide(dice, dtype, b), some(dice, DType::f32, Shape{b[1]}), some(dice, dtype, Shape{b[1]}),
             some(dice, DType::f32, Shape{}), some(dice, dtype, Shape{})}};
}

Case stackOfSquares(Dice& dice, const Op&, DType dtype) {
    const std::int64_t n = dice.integer(1, 5);
    return {{}, {some(dice, dtype, Shape{dice.integer(0, 3), n, n})}};
}

Case window(Dice& dice, const Op&, DType dtype) {
    return {{{"size", dice.integer(0, 20)},
             {"periodic", dice.one(2)},
             {"output_datatype", std::string(name(dtype))}},
            {}};
}

Case gemm(Dice& dice, const Op&, DType dtype) {
    const std::int64_t m = dice.integer(1, 4);
    const std::int64_t k = dice.integer(1, 4);
    const std::int64_t n = dice.integer(1, 4);
    const bool a = dice.one(2);
    const bool b = dice.one(2);
    const bool isStack = !a && dice.one(3);
    const std::int64_t matrices = dice.integer(1, 3);
    const Shape first = isStack ? Shape{matrices, m, k} : a ? Shape{k, m} : Shape{m, k};
    Case out{{{"transA", a}, {"transB", b}},
             {wide(dice, dtype, first), wide(dice, dtype, b ? Shape{n, k} : Shape{k, n})}};
    const bool mayScale = !isStack || isFloating(dtype); // ONNX has no stack of integers that is scaled
    if (mayScale && dice.one(2)) out.attributes.set("alpha", 0.5);
    if (dice.one(3)) return out;
    out.inputs.push_back(wide(dice, dtype, narrowed(dice, isStack ? Shape{matrices, m, n} : Shape{m, n})));
    if (mayScale && dice.one(2)) out.attributes.set("beta", 2.0);
    return out;
}

Case loss(Dice& dice, const Op&, DType dtype) {
    static const char* const reductions[] = {"none", "sum", "mean"};
    const std::int64_t batch = dice.integer(1, 4);
    Case out{{{"reduction", std::string(reductions[dice.integer(0, 2)])}},
             {some(dice, dtype, Shape{batch, 3, 2}),
              inLayout(dice.tensor(DType::i64, Shape{batch, 2}, 0, 2), dice.layout())}};
    if (dice.one(2)) out.inputs.push_back(some(dice, dtype, Shape{3}));
    return out;
}

/// The inputs of a loss, after its gradient.
Case lossGrad(Dice& dice, const Op& op, DType dtype) {
    Case out = loss(dice, op, dtype);
    const bool isEach = out.attributes.text("reduction") == "none";
    out.inputs.insert(out.inputs.begin(), some(dice, dtype, isEach ? out.inputs[1].shape() : Shape{}));
    if (dice.one(3)) out.attributes.set("ignore_index", std::int64_t{1});
    return out;
}

Case dropout(Dice& dice, const Op&, DType dtype) {
    return {{{"training_mode", dice.one(2)}, {"seed", dice.integer(0, 99)}},
            {wide(dice, dtype, dice.shape(3, 5))}};
}

Case optimizer(Dice& dice, const Op& op, DType dtype) {
    const std::int64_t states = op.name == "Adam" ? 2 : 1;
    const std::int64_t parameters = dice.integer(1, 2);
    Case out{{{"num_outputs", parameters * (1 + states)},
              {"R", dice.real(0.01, 0.5)},
              {"T", dice.integer(0, 3)},
              {"norm_coefficient", 0.125}},
             {Tensor(), Tensor()}};
    std::vector<Shape> shapes;
    for (std::int64_t i = 0; i < parameters; ++i) shapes.push_back(dice.shape(3, 4));
    for (std::int64_t group = 0; group < 2 + states; ++group)
        for (const Shape& shape : shapes) out.inputs.push_back(some(dice, dtype, shape));
    return out;
}

/// A step of an optimizer, or another op that writes its inputs in place. Numbers are 0-dimensional.
Case update(Dice& dice, const Op& op, DType dtype) {
    Case out;
    const Shape shape = dice.shape(3, 5);
    for (const PortSpec& port : op.inputs) {
        const std::string& name = port.name;
        const DType type = port.types.contains(dtype)            ? dtype
                           : name == "step"                      ? DType::i64
                           : name == "growth_tracker"            ? DType::i32
                           : port.types.contains(DType::boolean) ? DType::boolean
                                                                 : DType::f32;
        const bool isNumber = name == "lr" || name == "skip" || name == "grad_scale" || name == "step" ||
                              name == "scale" || name == "growth_tracker" || name == "found_inf" ||
                              (op.name == "Record" && name == "value") || op.name == "LearningRate";
        if (name == "record") {
            out.inputs.push_back(some(dice, type, Shape{dice.integer(0, 4)}));
        } else if (isNumber) {
            const double value =
                type == DType::f32 || type == DType::f64 ? 0.25 : static_cast<double>(dice.integer(0, 1));
            const bool isLeftOut = port.optional && dice.one(2);
            out.inputs.push_back(isLeftOut ? Tensor()
                                           : tensorOf(type, Shape{}, {name == "step" ? value + 1 : value}));
        } else {
            out.inputs.push_back(port.optional && dice.one(3) ? Tensor() : some(dice, type, shape));
        }
    }
    return out;
}

Case schedule(Dice& dice, const Op& op, DType dtype) {
    Case out = update(dice, op, dtype);
    const AttributeSpec& names = *op.attribute("schedule");
    out.attributes = {{"schedule", names.choices[static_cast<std::size_t>(dice.integer(0, 4))]},
                      {"total_steps", std::int64_t{9}},
                      {"step_size", dice.integer(1, 3)},
                      {"dtype", std::string(dtype == DType::f64 ? "f64" : "f32")}};
    return out;
}

Case parameter(Dice& dice, const Op& op, DType dtype) {
    const AttributeSpec& names = *op.attribute("init");
    return {{{"init", names.choices[static_cast<std::size_t>(dice.integer(0, 7))]},
             {"value", 0.5},
             {"shape", std::vector<std::int64_t>{dice.integer(1, 4), dice.integer(1, 3), dice.integer(1, 3)}},
             {"seed", dice.integer(0, 99)},
             {"dtype", std::string(name(dtype))}},
            {}};
}

/// One scale, or one per index of the first axis.
Case quantize(Dice& dice, const Op& op, DType dtype) {
    const Shape shape{dice.integer(1, 4), dice.integer(0, 5)};
    const Shape scales = dice.one(2) ? Shape{} : Shape{shape[0]};
    Case out{{{"axis", std::int64_t{0}}}, {wide(dice, dtype, shape), some(dice, DType::f32, scales)}};
    const bool isBack = op.name == "DequantizeLinear";
    if (dice.one(2)) out.inputs.push_back(some(dice, isBack ? dtype : DType::i8, scales));
    return out;
}

Case topK(Dice& dice, const Op&, DType dtype) {
    const Shape shape{dice.integer(1, 3), dice.integer(1, 20), dice.integer(1, 3)};
    return {{{"axis", std::int64_t{1}}, {"K", dice.integer(0, shape[1])}, {"largest", dice.one(2)}},
            {wide(dice, dtype, shape)}};
}

Case resize(Dice& dice, const Op&, DType dtype) {
    static const char* const modes[] = {"nearest", "linear", "cubic"};
    const std::string mode = modes[dtype == DType::boolean ? 0 : dice.integer(0, 2)];
    const Shape shape{1, 2, dice.integer(1, 5), dice.integer(1, 5)};
    return {
        {{"mode", mode}, {"sizes", std::vector<std::int64_t>{1, 2, dice.integer(1, 9), dice.integer(1, 9)}}},
        {wide(dice, dtype, shape)}};
}

Case attention(Dice& dice, const Op&, DType dtype) {
    const std::int64_t keyHeads = dice.integer(1, 2);
    const std::int64_t heads = keyHeads * dice.integer(1, 2);
    const std::int64_t queries = dice.integer(1, 4);
    const std::int64_t keys = dice.integer(1, 4);
    Case out{{{"is_causal", dice.one(2)}}, {}};
    if (dice.one(2)) {
        out.attributes.set("q_num_heads", heads);
        out.attributes.set("kv_num_heads", keyHeads);
        out.inputs = {wide(dice, dtype, Shape{2, queries, heads * 4}),
                      wide(dice, dtype, Shape{2, keys, keyHeads * 4}),
                      wide(dice, dtype, Shape{2, keys, keyHeads * 3})};
    } else {
        out.inputs = {wide(dice, dtype, Shape{2, heads, queries, 4}),
                      wide(dice, dtype, Shape{2, keyHeads, keys, 4}),
                      wide(dice, dtype, Shape{2, keyHeads, keys, 3})};
    }
    for (const char* side : {"left_window_size", "right_window_size"})
        if (dice.one(3)) out.attributes.set(side, dice.integer(0, 2));
    if (dice.one(2)) out.inputs.push_back(wide(dice, dtype, Shape{queries, keys}));
    if (dice.one(3)) {
        out.inputs.resize(6);
        out.inputs.push_back(
            inLayout(dice.tensor(DType::i64, Shape{2}, 0, static_cast<double>(keys)), dice.layout()));
    }
    return out;
}

Case linearAttention(Dice& dice, const Op&, DType dtype) {
    static const char* const rules[] = {"linear", "gated", "delta", "gated_delta"};
    const std::string rule = rules[dice.integer(0, 3)];
    const std::int64_t keyHeads = dice.integer(1, 2);
    const std::int64_t heads = keyHeads * dice.integer(1, 2);
    const std::int64_t steps = dice.integer(1, 4);
    Case out{{{"q_num_heads", heads}, {"kv_num_heads", keyHeads}, {"update_rule", rule}},
             {some(dice, dtype, Shape{2, steps, heads * 3}), some(dice, dtype, Shape{2, steps, keyHeads * 3}),
              some(dice, dtype, Shape{2, steps, keyHeads * 2})}};
    out.inputs.resize(6);
    if (dice.one(2)) out.inputs[3] = some(dice, dtype, Shape{2, keyHeads, 3, 2});
    if (rule.starts_with("gated"))
        out.inputs[4] = some(dice, dtype, Shape{2, steps, keyHeads * (dice.one(2) ? 3 : 1)});
    if (rule.ends_with("delta"))
        out.inputs[5] = some(dice, dtype, Shape{2, steps, dice.one(2) ? 1 : keyHeads});
    return out;
}

Case causalConvolution(Dice& dice, const Op&, DType dtype) {
    const std::int64_t channels = dice.integer(1, 3);
    const std::int64_t taps = dice.integer(1, 4);
    Case out{{{"activation", std::string(dice.one(2) ? "silu" : "none")}},
             {wide(dice, dtype, Shape{2, channels, dice.integer(1, 6)}),
              wide(dice, dtype, Shape{channels, 1, taps})}};
    out.inputs.resize(4);
    if (dice.one(2)) out.inputs[2] = wide(dice, dtype, Shape{channels});
    if (dice.one(2)) out.inputs[3] = wide(dice, dtype, Shape{2, channels, taps - 1});
    return out;
}

Case rotary(Dice& dice, const Op&, DType dtype) {
    const std::int64_t length = dice.integer(1, 4);
    return {{{"interleaved", dice.one(2)}},
            {wide(dice, dtype, Shape{2, 3, length, 4}), some(dice, dtype, Shape{2, length, 2}),
             some(dice, dtype, Shape{2, length, 2})}};
}

} // namespace

const CaseMakers& layerCases() {
    static const CaseMakers all{
        {"Adagrad", optimizer},
        {"AdagradUpdate", update},
        {"Adam", optimizer},
        {"AdamUpdate", update},
        {"AdamWUpdate", update},
        {"Assign", update},
        {"Attention", attention},
        {"AveragePool", pooling},
        {"AverageUpdate", update},
        {"BatchNormalization", channels},
        {"BatchNormalizationGrad", channelGradients},
        {"BlackmanWindow", window},
        {"CausalConvWithState", causalConvolution},
        {"Conv", convolution},
        {"ConvTranspose", convolution},
        {"ConvWeightGrad", weightGradient},
        {"DequantizeLinear", quantize},
        {"Det", stackOfSquares},
        {"Dropout", dropout},
        {"Gemm", gemm},
        {"GlobalAveragePool", pooling},
        {"GlobalLpPool", pooling},
        {"GlobalMaxPool", pooling},
        {"GroupNormalization", channels},
        {"HammingWindow", window},
        {"HannWindow", window},
        {"InstanceNormalization", channels},
        {"LRN", channels},
        {"LayerNormalization", rows},
        {"LearningRate", schedule},
        {"LionUpdate", update},
        {"LinearAttention", linearAttention},
        {"LpPool", pooling},
        {"MatMul", matMul},
        {"MatMulInteger", matMulInteger},
        {"MaxPool", pooling},
        {"MeanVarianceNormalization", channels},
        {"Momentum", optimizer},
        {"NegativeLogLikelihoodLoss", loss},
        {"Parameter", parameter},
        {"QLinearMatMul", qLinearMatMul},
        {"QuantizeLinear", quantize},
        {"RMSNormalization", rows},
        {"RMSpropUpdate", update},
        {"Record", update},
        {"Resize", resize},
        {"RotaryEmbedding", rotary},
        {"SGDUpdate", update},
        {"ScaleUpdate", update},
        {"SoftmaxCrossEntropyGrad", lossGrad},
        {"SoftmaxCrossEntropyLoss", loss},
        {"StepUpdate", update},
        {"TopK", topK},
    };
    return all;
}

} // namespace twb::test
