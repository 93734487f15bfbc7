#include "support/model_cases.h"

#include <string>

namespace twb::test {
namespace {

using List = std::vector<std::int64_t>;

template <std::size_t N> std::string oneOf(Dice& dice, const char* const (&names)[N]) {
    return names[dice.integer(0, N - 1)];
}

// Images

Case gridSample(Dice& dice, const Op&, DType dtype) {
    static const char* const modes[] = {"nearest", "linear", "cubic"};
    static const char* const paddings[] = {"zeros", "border", "reflection"};
    const DType grid = isFloating(dtype) ? dtype : DType::f32;
    Case out{{{"mode", oneOf(dice, modes)},
              {"padding_mode", oneOf(dice, paddings)},
              {"align_corners", dice.one(2)}},
             {}};
    if (dice.one(3))
        out.inputs = {
            wide(dice, dtype, Shape{1, 2, 2, 3, 4}),
            inLayout(dice.tensor(grid, Shape{1, 2, 2, dice.integer(1, 3), 3}, -1.5, 1.5), dice.layout())};
    else
        out.inputs = {
            wide(dice, dtype, Shape{2, dice.integer(1, 3), dice.integer(1, 4), 5}),
            inLayout(dice.tensor(grid, Shape{2, dice.integer(1, 4), 3, 2}, -1.5, 1.5), dice.layout())};
    return out;
}

Case affineGrid(Dice& dice, const Op&, DType dtype) {
    const bool isVolume = dice.one(2);
    const List size = isVolume ? List{2, 1, dice.integer(1, 3), 2, 3} : List{2, 1, dice.integer(1, 4), 3};
    const auto axes = static_cast<std::int64_t>(size.size()) - 2;
    return {{{"size", size}, {"align_corners", dice.one(2)}}, {wide(dice, dtype, Shape{2, axes, axes + 1})}};
}

/// Corners of regions in an image of 6 × 7. Coordinates are integers, so that no rounding of halves is
/// ambiguous.
Tensor regions(Dice& dice, DType dtype, std::int64_t count, bool namesImage) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
        if (namesImage) values.push_back(static_cast<double>(dice.integer(0, 1)));
        for (int corner = 0; corner < 4; ++corner)
            values.push_back(static_cast<double>(dice.integer(corner < 2 ? -1 : 2, corner < 2 ? 3 : 8)));
    }
    return inLayout(tensorOf(dtype, Shape{count, namesImage ? 5 : 4}, values), dice.layout());
}

Case roiAlign(Dice& dice, const Op&, DType dtype) {
    static const char* const modes[] = {"avg", "max"};
    static const char* const places[] = {"half_pixel", "output_half_pixel"};
    const std::int64_t count = dice.integer(0, 3);
    return {{{"mode", oneOf(dice, modes)},
             {"coordinate_transformation_mode", oneOf(dice, places)},
             {"output_height", dice.integer(1, 3)},
             {"output_width", dice.integer(1, 3)},
             {"sampling_ratio", dice.integer(0, 2)},
             {"spatial_scale", 0.5}},
            {wide(dice, dtype, Shape{2, 2, 6, 7}), regions(dice, dtype, count, false),
             inLayout(dice.tensor(DType::i64, Shape{count}, 0, 1), dice.layout())}};
}

Case maxRoiPool(Dice& dice, const Op&, DType dtype) {
    return {{{"pooled_shape", List{dice.integer(1, 3), dice.integer(1, 3)}}},
            {wide(dice, dtype, Shape{2, 2, 6, 7}), regions(dice, dtype, dice.integer(0, 3), true)}};
}

Case maxUnpool(Dice& dice, const Op&, DType dtype) {
    // Distinct positions, since the result for equal ones would depend on the order.
    const std::int64_t size = dice.integer(1, 3);
    Case out{{{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}},
             {wide(dice, dtype, Shape{1, 2, size, 2}), Tensor()}};
    std::vector<double> places;
    for (std::int64_t i = 0; i < 4 * size; ++i)
        places.push_back(static_cast<double>(4 * i + dice.integer(0, 3)));
    out.inputs[1] = inLayout(tensorOf(DType::i64, Shape{1, 2, size, 2}, places), dice.layout());
    if (dice.one(2)) out.attributes.set("output_shape", List{1, 2, 2 * size + 1, 4});
    return out;
}

Case col2Im(Dice& dice, const Op&, DType dtype) {
    const std::int64_t stride = dice.integer(1, 2);
    const std::int64_t positions = (stride == 1 ? 4 : 2) * (stride == 1 ? 4 : 2);
    return {{{"image_shape", List{5, 5}}, {"block_shape", List{2, 2}}, {"strides", List{stride, stride}}},
            {wide(dice, dtype, Shape{2, 3 * 4, positions})}};
}

Case deformConv(Dice& dice, const Op&, DType dtype) {
    const std::int64_t groups = dice.integer(1, 2);
    const std::int64_t offsetGroups = dice.integer(1, 2);
    Case out{{{"group", groups}, {"offset_group", offsetGroups}, {"pads", List{1, 1, 1, 1}}},
             {wide(dice, dtype, Shape{2, 4, 3, 4}), some(dice, dtype, Shape{2 * groups, 4 / groups, 3, 3}),
              inLayout(dice.tensor(dtype, Shape{2, offsetGroups * 18, 3, 4}, -1.5, 1.5), dice.layout())}};
    if (dice.one(2)) return out;
    out.inputs.push_back(some(dice, dtype, Shape{2 * groups}));
    if (dice.one(2)) out.inputs.push_back(some(dice, dtype, Shape{2, offsetGroups * 9, 3, 4}));
    return out;
}

Case convInteger(Dice& dice, const Op&, DType dtype) {
    const std::int64_t groups = dice.integer(1, 2);
    Case out{{{"group", groups}, {"pads", List{1, 0, 1, 1}}, {"strides", List{dice.integer(1, 2), 1}}},
             {wide(dice, dtype, Shape{2, 2 * groups, 4, 5}),
              wide(dice, dice.one(2) ? DType::i8 : DType::u8, Shape{2 * groups, 2, 3, 2})}};
    if (dice.one(3)) return out;
    out.inputs.push_back(some(dice, dtype, Shape{}));
    out.inputs.push_back(some(dice, out.inputs[1].dtype(), dice.one(2) ? Shape{} : Shape{2 * groups}));
    return out;
}

Case qLinearConv(Dice& dice, const Op&, DType dtype) {
    const DType weight = dice.one(2) ? DType::i8 : DType::u8;
    const Shape perChannel = dice.one(2) ? Shape{} : Shape{3};
    Case out{{{"pads", List{1, 0, 1, 1}}},
             {wide(dice, dtype, Shape{1, 2, 4, 5}), some(dice, DType::f32, Shape{}),
              some(dice, dtype, Shape{}), wide(dice, weight, Shape{3, 2, 3, 2}),
              some(dice, DType::f32, perChannel), some(dice, weight, perChannel),
              some(dice, DType::f32, Shape{}), some(dice, dtype, Shape{})}};
    if (dice.one(2)) out.inputs.push_back(wide(dice, DType::i32, Shape{3}));
    return out;
}

// Signals

Case dft(Dice& dice, const Op&, DType dtype) {
    const bool isComplex = dice.one(2);
    const bool inverse = dice.one(2);
    Case out{{{"axis", dice.integer(0, 1)}, {"inverse", inverse}},
             {wide(dice, dtype, Shape{dice.integer(1, 9), dice.integer(1, 9), isComplex ? 2 : 1})}};
    if (!isComplex && !inverse) out.attributes.set("onesided", dice.one(2));
    if (dice.one(2)) out.attributes.set("dft_length", dice.integer(1, 12));
    return out;
}

Case stft(Dice& dice, const Op&, DType dtype) {
    const std::int64_t frame = dice.integer(1, 9);
    const bool isComplex = dice.one(3);
    Case out{{{"frame_step", dice.integer(1, 4)}, {"onesided", !isComplex}},
             {wide(dice, dtype, Shape{2, dice.integer(9, 20), isComplex ? 2 : 1}), Tensor()}};
    if (dice.one(2))
        out.attributes.set("frame_length", frame);
    else
        out.inputs.push_back(some(dice, dtype, Shape{frame}));
    return out;
}

Case melWeights(Dice& dice, const Op&, DType dtype) {
    return {{{"num_mel_bins", dice.integer(1, 8)},
             {"dft_length", dice.integer(1, 40)},
             {"output_datatype", std::string(name(dtype))}},
            {}};
}

// Recurrent layers

Case recurrent(Dice& dice, const Op& op, DType dtype) {
    static const char* const ways[] = {"forward", "reverse", "bidirectional"};
    const std::string way = oneOf(dice, ways);
    const std::int64_t directions = way == "bidirectional" ? 2 : 1;
    const bool isLstm = op.name.starts_with("LSTM");
    const bool isGru = op.name.starts_with("GRU");
    const std::int64_t gates = isLstm ? 4 : isGru ? 3 : 1;
    const std::int64_t length = dice.integer(0, 3);
    const std::int64_t batch = dice.integer(1, 3);
    const std::int64_t input = dice.integer(1, 3);
    const std::int64_t hidden = dice.integer(1, 3);
    const bool batchFirst = dice.one(2);
    Case out{{{"direction", way}, {"layout", std::int64_t{batchFirst ? 1 : 0}}},
             {wide(dice, dtype, batchFirst ? Shape{batch, length, input} : Shape{length, batch, input}),
              wide(dice, dtype, Shape{directions, gates * hidden, input}),
              wide(dice, dtype, Shape{directions, gates * hidden, hidden})}};
    if (dice.one(3)) out.attributes.set("clip", 0.5);
    if (isGru) out.attributes.set("linear_before_reset", dice.one(2));
    if (isLstm) out.attributes.set("input_forget", dice.one(2));
    if (dice.one(3)) return out;
    const Shape state = batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    out.inputs.push_back(wide(dice, dtype, Shape{directions, 2 * gates * hidden}));
    // Sometimes a length that is too large, which both kernels report.
    out.inputs.push_back(inLayout(
        dice.tensor(DType::i32, Shape{batch}, 0, static_cast<double>(length + (dice.one(8) ? 1 : 0))),
        dice.layout()));
    out.inputs.push_back(wide(dice, dtype, state));
    if (!isLstm || dice.one(2)) return out;
    out.inputs.push_back(wide(dice, dtype, state));
    out.inputs.push_back(wide(dice, dtype, Shape{directions, 3 * hidden}));
    return out;
}

/// The operands of the layer, then the gradients of its outputs, some of which are missing.
Case recurrentGrad(Dice& dice, const Op& op, DType dtype) {
    Case out = recurrent(dice, op, dtype);
    const bool isLstm = op.name == "LSTMGrad";
    const bool batchFirst = out.attributes.integer("layout") == 1;
    const Shape x = out.inputs[0].shape();
    const std::int64_t length = x[batchFirst ? 1 : 0];
    const std::int64_t batch = x[batchFirst ? 0 : 1];
    const std::int64_t directions = out.inputs[2].shape()[0];
    const std::int64_t hidden = out.inputs[2].shape()[2];
    const Shape state = batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    out.inputs.resize(isLstm ? 8 : 6);
    out.inputs.push_back(dice.one(4) ? Tensor()
                                     : wide(dice, dtype,
                                            batchFirst ? Shape{batch, length, directions, hidden}
                                                       : Shape{length, directions, batch, hidden}));
    for (int i = 0; i < (isLstm ? 2 : 1); ++i)
        out.inputs.push_back(dice.one(3) ? Tensor() : wide(dice, dtype, state));
    return out;
}

Case einsum(Dice& dice, const Op&, DType dtype) {
    const std::int64_t i = dice.integer(1, 3);
    const std::int64_t j = dice.integer(0, 3);
    const std::int64_t k = dice.integer(1, 3);
    switch (dice.integer(0, 4)) {
    case 0:
        return {{{"equation", std::string("ij,jk->ik")}},
                {wide(dice, dtype, Shape{i, j}), wide(dice, dtype, Shape{j, k})}};
    case 1:
        return {{{"equation", std::string("ii->i")}}, {wide(dice, dtype, Shape{i, i})}};
    case 2:
        return {{{"equation", std::string("bij,bkj->bik")}},
                {wide(dice, dtype, Shape{2, i, j}), wide(dice, dtype, Shape{dice.integer(1, 2), k, j})}};
    case 3:
        return {{{"equation", std::string("...ij->...j")}}, {wide(dice, dtype, Shape{2, i, j})}};
    default:
        return {
            {{"equation", std::string("i,ij,jk->k")}},
            {wide(dice, dtype, Shape{i}), wide(dice, dtype, Shape{i, j}), wide(dice, dtype, Shape{j, k})}};
    }
}

// Selection by value

Case compress(Dice& dice, const Op&, DType dtype) {
    const Shape shape{dice.integer(1, 3), dice.integer(1, 9), 2};
    Case out{{}, {wide(dice, dtype, shape), Tensor()}};
    const bool isFlat = dice.one(3);
    if (!isFlat) out.attributes.set("axis", std::int64_t{1});
    out.inputs[1] = wide(dice, DType::boolean, Shape{isFlat ? shape.elementCount() : shape[1]});
    return out;
}

/// Sometimes enough elements for several teams to search.
Case nonZero(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.one(4) ? Shape{2, dice.integer(3000, 9000)} : dice.shape(4, 5);
    return {{}, {wide(dice, dtype, shape)}};
}

Case nonMaxSuppression(Dice& dice, const Op&, DType dtype) {
    const std::int64_t boxes = dice.integer(1, 12);
    Case out{{{"max_output_boxes_per_class", dice.integer(0, 5)},
              {"iou_threshold", dice.real(0, 0.8)},
              {"center_point_box", dice.one(2)}},
             {inLayout(dice.tensor(dtype, Shape{2, boxes, 4}, 0, 4), dice.layout()),
              inLayout(dice.tensor(dtype, Shape{2, 2, boxes}, 0, 1), dice.layout())}};
    if (dice.one(2)) out.attributes.set("score_threshold", 0.25);
    return out;
}

Case multinomial(Dice& dice, const Op&, DType dtype) {
    return {{{"sample_size", dice.integer(0, 20)}, {"seed", dice.integer(0, 99)}},
            {wide(dice, dtype, Shape{dice.integer(1, 3), dice.integer(1, 6)})}};
}

// Classic models

Case features(Dice& dice, const Op& op, DType dtype) {
    static const char* const norms[] = {"MAX", "L1", "L2"};
    const std::int64_t columns = dice.integer(1, 40);
    Case out{requiredAttributes(op), {wide(dice, dtype, Shape{dice.integer(1, 4), columns})}};
    if (op.attribute("norm")) out.attributes.set("norm", oneOf(dice, norms));
    if (op.name == "Binarizer") out.attributes.set("threshold", dice.real(-3, 3));
    if (op.name == "Scaler") {
        std::vector<double> each(static_cast<std::size_t>(columns));
        for (double& value : each) value = dice.real(-2, 2);
        out.attributes.set("offset", each);
        if (dice.one(2)) out.attributes.set("scale", each);
    }
    if (op.name == "Imputer") {
        const std::size_t count = dice.one(2) ? 1 : static_cast<std::size_t>(columns);
        if (isFloating(dtype)) {
            out.attributes.set("imputed_value_floats", std::vector<double>(count, 0.5));
            out.attributes.set("replaced_value_float", static_cast<double>(dice.integer(-2, 2)));
        } else {
            out.attributes.set("imputed_value_int64s", List(count, 7));
            out.attributes.set("replaced_value_int64", dice.integer(-2, 2));
        }
    }
    return out;
}

Case featureVectorizer(Dice& dice, const Op&, DType dtype) {
    const std::int64_t rows = dice.integer(1, 3);
    Case out{{}, {wide(dice, dtype, Shape{rows, dice.integer(1, 4)}), wide(dice, dtype, Shape{rows, 2})}};
    if (dice.one(2)) out.attributes.set("inputdimensions", List{dice.integer(0, 5), dice.integer(0, 5)});
    return out;
}

Case arrayFeatureExtractor(Dice& dice, const Op&, DType dtype) {
    const std::int64_t columns = dice.integer(1, 5);
    // Sometimes an index out of range, which both kernels report.
    const auto last = static_cast<double>(columns - (dice.one(8) ? 0 : 1));
    return {{},
            {wide(dice, dtype, Shape{dice.integer(1, 3), columns}),
             inLayout(dice.tensor(DType::i64, Shape{dice.integer(1, 4)}, 0, last), dice.layout())}};
}

Case linearModel(Dice& dice, const Op& op, DType dtype) {
    static const char* const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const std::int64_t columns = dice.integer(1, 4);
    const std::int64_t targets = dice.integer(1, 3);
    std::vector<double> coefficients(static_cast<std::size_t>(columns * targets));
    for (double& value : coefficients) value = dice.real(0, 0.05);
    Case out{{{"coefficients", coefficients}, {"post_transform", oneOf(dice, transforms)}},
             {some(dice, dtype, Shape{dice.integer(1, 4), columns})}};
    if (dice.one(2))
        out.attributes.set("intercepts", std::vector<double>(static_cast<std::size_t>(targets), 0.25));
    if (op.name == "LinearRegressor") {
        out.attributes.set("targets", targets);
    } else {
        List labels;
        for (std::int64_t label = 0; label < targets; ++label) labels.push_back(10 - label);
        out.attributes.set("classlabels_ints", labels);
    }
    return out;
}

/// Trees of random shape, each node after its parent.
Case treeEnsemble(Dice& dice, const Op&, DType dtype) {
    const std::int64_t columns = dice.integer(1, 3);
    const std::int64_t count = dice.integer(1, 6);
    const std::int64_t leaves = dice.integer(1, 4);
    const std::int64_t targets = dice.integer(1, 3);
    List onTrue, onFalse, trueLeafs, falseLeafs, features, modes, missing, leafTargets;
    std::vector<double> splits, members, weights;
    const auto branch = [&](std::int64_t node, List& to, List& isLeaf) {
        isLeaf.push_back(node + 1 == count || dice.one(3));
        to.push_back(isLeaf.back() ? dice.integer(0, leaves - 1) : dice.integer(node + 1, count - 1));
    };
    for (std::int64_t node = 0; node < count; ++node) {
        branch(node, onTrue, trueLeafs);
        branch(node, onFalse, falseLeafs);
        features.push_back(dice.integer(0, columns - 1));
        modes.push_back(dice.integer(0, 6));
        missing.push_back(dice.one(2));
        splits.push_back(static_cast<double>(dice.integer(-1, 1)));
        if (modes.back() != 6) continue;
        for (std::int64_t i = dice.integer(0, 3); i > 0; --i)
            members.push_back(static_cast<double>(dice.integer(-2, 2)));
        members.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
        leafTargets.push_back(dice.integer(0, targets - 1));
        weights.push_back(static_cast<double>(dice.integer(-8, 8)) / 8);
    }
    List roots{0};
    for (std::int64_t i = dice.integer(0, 3); i > 0; --i) roots.push_back(dice.integer(0, count - 1));
    Case out{{{"aggregate_function", dice.integer(0, 3)},
              {"leaf_targetids", leafTargets},
              {"leaf_weights", weights},
              {"membership_values", members},
              {"n_targets", targets},
              {"nodes_falseleafs", falseLeafs},
              {"nodes_falsenodeids", onFalse},
              {"nodes_featureids", features},
              {"nodes_modes", modes},
              {"nodes_splits", splits},
              {"nodes_trueleafs", trueLeafs},
              {"nodes_truenodeids", onTrue},
              {"post_transform", dice.integer(0, 3)},
              {"tree_roots", roots}},
             {}};
    if (dice.one(2)) out.attributes.set("nodes_missing_value_tracks_true", missing);
    // Whole numbers, which also equal splits and members.
    std::vector<double> x;
    const Shape shape{dice.integer(0, 4), columns};
    for (std::int64_t i = 0; i < shape.elementCount(); ++i)
        x.push_back(dice.one(6) ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(dice.integer(-2, 2)));
    out.inputs.push_back(inLayout(tensorOf(dtype, shape, x), dice.layout()));
    return out;
}

Case oneHotEncoder(Dice& dice, const Op&, DType dtype) {
    return {{{"cats_int64s", List{3, -1, 0, 3, 5}}, {"zeros", !dice.one(6)}},
            {inLayout(dice.tensor(dtype, dice.shape(3, 4), -2, 4), dice.layout())}};
}

Case labelEncoder(Dice& dice, const Op&, DType dtype) {
    Case out{{}, {inLayout(dice.tensor(dtype, dice.shape(3, 4), 0, 4), dice.layout())}};
    if (isFloating(dtype)) {
        const std::vector<double> values = valuesOf(out.inputs[0]);
        out.attributes.set("keys_floats", std::vector<double>{values.empty() ? 1 : values[0], 2, 2});
    } else {
        out.attributes.set("keys_int64s", List{2, 0, 2});
    }
    if (dice.one(2))
        out.attributes.set("values_floats", std::vector<double>{0.5, 1.5, 2.5});
    else
        out.attributes.set("values_int64s", List{5, 15, 25});
    return out;
}

/// Few distinct values, so that rows repeat.
Case unique(Dice& dice, const Op&, DType dtype) {
    Shape shape = dice.shape(3, 5);
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.elementCount(); ++i)
        values.push_back(static_cast<double>(dice.integer(0, 1)) * (dice.one(4) ? 3 : 1));
    Case out{{{"sorted", dice.one(2)}}, {inLayout(tensorOf(dtype, shape, values), dice.layout())}};
    if (shape.rank() > 0 && dice.one(2))
        out.attributes.set("axis", dice.integer(-shape.rank(), shape.rank() - 1));
    return out;
}

Case tfIdf(Dice& dice, const Op&, DType dtype) {
    static const char* const modes[] = {"TF", "IDF", "TFIDF"};
    const Shape shape = dice.one(2) ? Shape{dice.integer(0, 12)} : Shape{dice.integer(1, 3), 9};
    Case out{{{"mode", oneOf(dice, modes)},
              {"pool_int64s", List{0, 1, 2, 0, 1, 2, 2}},
              {"ngram_counts", List{0, 3}},
              {"ngram_indexes", List{2, 0, 0, 4, 1}},
              {"min_gram_length", dice.integer(1, 2)},
              {"max_gram_length", std::int64_t{2}},
              {"max_skip_count", dice.integer(0, 3)}},
             {inLayout(dice.tensor(dtype, shape, 0, 3), dice.layout())}};
    if (dice.one(2)) out.attributes.set("weights", std::vector<double>{0.5, 2, 1, 0.25, 3});
    return out;
}

} // namespace

const CaseMakers& modelCases() {
    static const CaseMakers all{
        {"AffineGrid", affineGrid},
        {"ArrayFeatureExtractor", arrayFeatureExtractor},
        {"Binarizer", features},
        {"Col2Im", col2Im},
        {"Compress", compress},
        {"ConvInteger", convInteger},
        {"DFT", dft},
        {"DeformConv", deformConv},
        {"Einsum", einsum},
        {"FeatureVectorizer", featureVectorizer},
        {"GRU", recurrent},
        {"GRUGrad", recurrentGrad},
        {"GridSample", gridSample},
        {"Imputer", features},
        {"LSTM", recurrent},
        {"LSTMGrad", recurrentGrad},
        {"LabelEncoder", labelEncoder},
        {"LinearClassifier", linearModel},
        {"LinearRegressor", linearModel},
        {"MaxRoiPool", maxRoiPool},
        {"MaxUnpool", maxUnpool},
        {"MelWeightMatrix", melWeights},
        {"Multinomial", multinomial},
        {"NonMaxSuppression", nonMaxSuppression},
        {"NonZero", nonZero},
        {"Normalizer", features},
        {"OneHotEncoder", oneHotEncoder},
        {"QLinearConv", qLinearConv},
        {"RNN", recurrent},
        {"RNNGrad", recurrentGrad},
        {"RoiAlign", roiAlign},
        {"STFT", stft},
        {"Scaler", features},
        {"TfIdfVectorizer", tfIdf},
        {"TreeEnsemble", treeEnsemble},
        {"Unique", unique},
    };
    return all;
}

} // namespace twb::test
