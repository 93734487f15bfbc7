#include "support/kernel_cases.h"

#include "support/layer_cases.h"
#include "support/model_cases.h"

#include <string>

namespace twb::test {

Tensor some(Dice& dice, DType dtype, const Shape& shape) {
    return inLayout(dice.tensor(dtype, shape, isFloating(dtype) ? 0.125 : 1, isFloating(dtype) ? 0.875 : 3),
                    dice.layout());
}

Tensor wide(Dice& dice, DType dtype, const Shape& shape) {
    const bool isSigned = isFloating(dtype) || (dtype >= DType::i8 && dtype <= DType::i64);
    return inLayout(dice.tensor(dtype, shape, isSigned ? -6 : 0, 6), dice.layout());
}

Shape narrowed(Dice& dice, const Shape& shape) {
    std::vector<std::int64_t> dims(shape.begin() + dice.integer(0, shape.rank()), shape.end());
    for (std::int64_t& size : dims)
        if (dice.one(3)) size = 1;
    return Shape(std::move(dims));
}

namespace {

Case unary(Dice& dice, const Op& op, DType dtype) {
    return {requiredAttributes(op), {some(dice, dtype, dice.shape(4, 5))}};
}

Case unaryWide(Dice& dice, const Op& op, DType dtype) {
    return {requiredAttributes(op), {wide(dice, dtype, dice.shape(4, 5))}};
}

Case binary(Dice& dice, const Op& op, DType dtype) {
    const Shape shape = dice.shape(4, 5);
    Tensor whole = some(dice, dtype, shape);
    Tensor part = some(dice, dtype, narrowed(dice, shape));
    return {requiredAttributes(op), {whole, part}};
}

Case modulo(Dice& dice, const Op& op, DType dtype) {
    Case out = binary(dice, op, dtype);
    out.attributes.set("fmod", dice.one(2));
    return out;
}

Case pRelu(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(4, 5);
    return {{}, {wide(dice, dtype, shape), wide(dice, dtype, narrowed(dice, shape))}};
}

Case reluGrad(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(4, 5);
    return {{}, {wide(dice, dtype, shape), wide(dice, dtype, shape)}};
}

Case where(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(4, 5);
    return {{},
            {wide(dice, DType::boolean, narrowed(dice, shape)), wide(dice, dtype, shape),
             wide(dice, dtype, narrowed(dice, shape))}};
}

Case variadic(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(3, 5);
    Case out{{}, {wide(dice, dtype, shape)}};
    for (std::int64_t more = dice.integer(0, 3); more > 0; --more)
        out.inputs.push_back(wide(dice, dtype, narrowed(dice, shape)));
    return out;
}

Case cast(Dice& dice, const Op& op, DType dtype) {
    Case out = unaryWide(dice, op, dtype);
    out.attributes.set("to", std::string(name(kWideDTypes[static_cast<std::size_t>(dice.integer(0, 12))])));
    return out;
}

Case castLike(Dice& dice, const Op& op, DType dtype) {
    Case out = unaryWide(dice, op, dtype);
    out.inputs.push_back(wide(dice, kWideDTypes[static_cast<std::size_t>(dice.integer(0, 12))], Shape{2}));
    return out;
}

/// For ops that reduce or work along an axis.
Case alongAxis(Dice& dice, const Op& op, DType dtype) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(dice.integer(1, 4)));
    for (std::int64_t& size : dims) size = dice.integer(1, 6);
    const Shape shape(std::move(dims));
    Case out{requiredAttributes(op), {some(dice, dtype, shape)}};
    out.attributes.set("axis", dice.integer(-shape.rank(), shape.rank() - 1));
    if (op.attribute("select_last_index")) out.attributes.set("select_last_index", dice.one(2));
    if (op.attribute("reverse")) out.attributes.set("reverse", dice.one(2));
    if (op.attribute("exclusive")) out.attributes.set("exclusive", dice.one(2));
    return out;
}

Case reduction(Dice& dice, const Op&, DType dtype) {
    // Sometimes enough elements to be reduced in pieces.
    const Shape shape = dice.one(4) ? Shape{dice.integer(1, 3), dice.integer(4000, 20000)} : dice.shape(4, 5);
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (dice.one(2)) axes.push_back(axis);
    Case out{{}, {some(dice, dtype, shape)}};
    out.attributes.set("axes", axes);
    out.attributes.set("keepdims", dice.one(2));
    return out;
}

/// The shape as an attribute, for sources.
Case source(Dice& dice, const Op& op, DType dtype) {
    Case out{requiredAttributes(op), {}};
    if (op.attribute("shape")) out.attributes.set("shape", dice.shape(3, 6).dims());
    if (op.attribute("dtype")) out.attributes.set("dtype", std::string(name(dtype)));
    if (op.attribute("seed")) out.attributes.set("seed", dice.integer(0, 1 << 30));
    if (op.attribute("value") && op.name == "Full") out.attributes.set("value", 2.0);
    return out;
}

Case randomLike(Dice& dice, const Op&, DType dtype) {
    return {{{"dtype", std::string(name(isFloating(dtype) ? dtype : DType::f32))},
             {"seed", dice.integer(0, 1 << 30)}},
            {wide(dice, dtype, dice.shape(3, 5))}};
}

Case constant(Dice& dice, const Op&, DType dtype) {
    std::vector<double> values(static_cast<std::size_t>(dice.integer(1, 9)));
    for (double& value : values) value = static_cast<double>(dice.integer(0, 5));
    return {{{"value", values}, {"dtype", std::string(name(dtype))}}, {}};
}

Case constantOfShape(Dice& dice, const Op&, DType dtype) {
    return {{{"input", dice.shape(3, 5).dims()}, {"value", 3.0}, {"dtype", std::string(name(dtype))}}, {}};
}

Case range(Dice& dice, const Op&, DType dtype) {
    return {{{"limit", dice.integer(-5, 40)}, {"delta", 2.0}}, {dice.tensor(dtype, Shape{}, 0, 9)}};
}

Case matrix(Dice& dice, const Op& op, DType dtype) {
    return {requiredAttributes(op), {wide(dice, dtype, Shape{dice.integer(1, 6), dice.integer(1, 6)})}};
}

Case images(Dice& dice, const Op& op, DType dtype) {
    Case out{requiredAttributes(op), {wide(dice, dtype, Shape{dice.integer(1, 3), 4, 4, 6})}};
    out.attributes.set("mode", std::string(dice.one(2) ? "DCR" : "CRD"));
    return out;
}

Case reshape(Dice& dice, const Op& op, DType dtype) {
    const Shape shape = dice.shape(4, 4);
    Case out{requiredAttributes(op), {wide(dice, dtype, shape)}};
    out.attributes.set("shape", std::vector<std::int64_t>{1, shape.elementCount()});
    out.attributes.set("allowzero", true);
    return out;
}

Case squeeze(Dice& dice, const Op&, DType dtype) {
    return {{}, {wide(dice, dtype, Shape{dice.integer(1, 3), 1, dice.integer(1, 3)})}};
}

Case unsqueeze(Dice& dice, const Op&, DType dtype) {
    return {{{"axes", std::vector<std::int64_t>{0, -1}}}, {wide(dice, dtype, dice.shape(3, 4))}};
}

Case transpose(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(4, 6);
    std::vector<std::int64_t> perm;
    for (int axis = 0; axis < shape.rank(); ++axis) perm.insert(perm.begin() + dice.integer(0, axis), axis);
    return {{{"perm", perm}}, {wide(dice, dtype, shape)}};
}

Case concat(Dice& dice, const Op&, DType dtype) {
    Case out{{{"axis", std::int64_t{1}}}, {}};
    const std::int64_t rows = dice.integer(1, 4);
    for (std::int64_t more = dice.integer(1, 4); more > 0; --more)
        out.inputs.push_back(wide(dice, dtype, Shape{rows, dice.integer(0, 4), 2}));
    return out;
}

Case expand(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(4, 4);
    return {{{"shape", shape.dims()}}, {wide(dice, dtype, narrowed(dice, shape))}};
}

Case tile(Dice& dice, const Op&, DType dtype) {
    const Shape shape = dice.shape(3, 4);
    std::vector<std::int64_t> repeats(static_cast<std::size_t>(shape.rank()));
    for (std::int64_t& times : repeats) times = dice.integer(0, 3);
    return {{{"repeats", repeats}}, {wide(dice, dtype, shape)}};
}

Case slice(Dice& dice, const Op&, DType dtype) {
    using List = std::vector<std::int64_t>;
    return {{{"starts", List{dice.integer(-6, 6), dice.integer(-6, 6)}},
             {"ends", List{dice.integer(-6, 6), dice.integer(-6, 6)}},
             {"steps", List{dice.integer(1, 3), dice.integer(-3, -1)}}},
            {wide(dice, dtype, Shape{5, 6, 2})}};
}

Case split(Dice& dice, const Op&, DType dtype) {
    return {{{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{3}}},
            {wide(dice, dtype, Shape{2, dice.integer(3, 8)})}};
}

Case pad(Dice& dice, const Op&, DType dtype) {
    std::vector<std::int64_t> pads(4);
    for (std::int64_t& size : pads) size = dice.integer(-1, 3);
    static const char* const modes[] = {"constant", "reflect", "edge", "wrap"};
    return {{{"pads", pads}, {"mode", std::string(modes[dice.integer(0, 3)])}},
            {wide(dice, dtype, Shape{4, 5})}};
}

Case centerCropPad(Dice& dice, const Op&, DType dtype) {
    return {{{"shape", std::vector<std::int64_t>{dice.integer(0, 7), dice.integer(0, 7)}}},
            {wide(dice, dtype, Shape{4, 5})}};
}

Case reverseSequence(Dice& dice, const Op&, DType dtype) {
    const std::int64_t steps = dice.integer(1, 5);
    return {{},
            {wide(dice, dtype, Shape{steps, 3, 2}),
             inLayout(dice.tensor(DType::i64, Shape{3}, 0, static_cast<double>(steps)), dice.layout())}};
}

Tensor indices(Dice& dice, const Shape& shape, std::int64_t size, DType dtype = DType::i64) {
    return inLayout(dice.tensor(dtype, shape, static_cast<double>(-size), static_cast<double>(size - 1)),
                    dice.layout());
}

Case gather(Dice& dice, const Op&, DType dtype) {
    const std::int64_t size = dice.integer(1, 5);
    return {{{"axis", std::int64_t{1}}},
            {wide(dice, dtype, Shape{2, size, dice.integer(1, 9)}),
             indices(dice, dice.shape(2, 4), size, dice.one(2) ? DType::i32 : DType::i64)}};
}

Case gatherElements(Dice& dice, const Op&, DType dtype) {
    const std::int64_t size = dice.integer(1, 5);
    return {{{"axis", std::int64_t{1}}},
            {wide(dice, dtype, Shape{3, size}), indices(dice, Shape{dice.integer(0, 3), 4}, size)}};
}

Case gatherND(Dice& dice, const Op&, DType dtype) {
    return {{{"batch_dims", dice.integer(0, 1)}},
            {wide(dice, dtype, Shape{2, 2, 2, dice.integer(1, 4)}), indices(dice, Shape{2, 3, 2}, 2)}};
}

std::string reductionOf(Dice& dice) {
    static const char* const rules[] = {"none", "add", "mul", "min", "max"};
    return rules[dice.integer(0, 4)];
}

Case scatterElements(Dice& dice, const Op&, DType dtype) {
    const Shape shape{dice.integer(0, 3), 3};
    return {{{"axis", std::int64_t{1}}, {"reduction", reductionOf(dice)}},
            {wide(dice, dtype, Shape{3, 4}), indices(dice, shape, 4), wide(dice, dtype, shape)}};
}

Case scatterND(Dice& dice, const Op&, DType dtype) {
    const std::int64_t count = dice.integer(0, 4);
    return {{{"reduction", reductionOf(dice)}},
            {wide(dice, dtype, Shape{3, 4, 2}), indices(dice, Shape{count, 2}, 3),
             wide(dice, dtype, Shape{count, 2})}};
}

Case tensorScatter(Dice& dice, const Op&, DType dtype) {
    const std::int64_t length = dice.integer(0, 3);
    const bool wraps = dice.one(2);
    Case out{{{"axis", dice.integer(-2, -1)}, {"mode", std::string(wraps ? "circular" : "linear")}}, {}};
    const bool isLast = out.attributes.integer("axis") == -1;
    out.inputs = {wide(dice, dtype, isLast ? Shape{3, 2, 5} : Shape{3, 5, 2}),
                  wide(dice, dtype, isLast ? Shape{3, 2, length} : Shape{3, length, 2})};
    if (dice.one(3)) return out;
    out.inputs.push_back(inLayout(
        dice.tensor(DType::i64, Shape{3}, wraps ? -9 : 0, static_cast<double>(wraps ? 9 : 5 - length)),
        dice.layout()));
    return out;
}

Case pair(Dice& dice, const Op& op, DType dtype) {
    const Shape shape = dice.shape(4, 5);
    Tensor first = wide(dice, dtype, shape);
    Tensor second = wide(dice, dtype, shape);
    return {requiredAttributes(op), {first, second}};
}

Case bitCast(Dice& dice, const Op&, DType dtype) {
    std::vector<DType> same;
    for (const DType to : kAllDTypes)
        if (bitsOf(to) == bitsOf(dtype) && isNarrow(to) == isNarrow(dtype)) same.push_back(to);
    const DType to =
        same[static_cast<std::size_t>(dice.integer(0, static_cast<std::int64_t>(same.size()) - 1))];
    return {{{"to", std::string(name(to))}}, {wide(dice, dtype, dice.shape(4, 5))}};
}

Case oneHot(Dice& dice, const Op&, DType dtype) {
    return {{{"depth", std::int64_t{4}}, {"axis", dice.integer(-2, 0)}},
            {wide(dice, DType::i32, Shape{dice.integer(1, 5)}), Tensor(), wide(dice, dtype, Shape{2})}};
}

const CaseMakers& dataCases() {
    static const CaseMakers all{
        {"Acosh", unaryWide},
        {"ArgMax", alongAxis},
        {"ArgMin", alongAxis},
        {"Cast", cast},
        {"CastLike", castLike},
        {"CenterCropPad", centerCropPad},
        {"Concat", concat},
        {"Constant", constant},
        {"ConstantOfShape", constantOfShape},
        {"BitCast", bitCast},
        {"CumProd", alongAxis},
        {"CumSum", alongAxis},
        {"DepthToSpace", images},
        {"Expand", expand},
        {"EyeLike", matrix},
        {"Flatten", alongAxis},
        {"Gather", gather},
        {"GatherElements", gatherElements},
        {"GatherND", gatherND},
        {"Hardmax", alongAxis},
        {"LogSoftmax", alongAxis},
        {"LpNormalization", alongAxis},
        {"Max", variadic},
        {"Mean", variadic},
        {"Min", variadic},
        {"Mod", modulo},
        {"OneHot", oneHot},
        {"PRelu", pRelu},
        {"Pad", pad},
        {"RandomNormalLike", randomLike},
        {"RandomUniformLike", randomLike},
        {"Range", range},
        {"ReluGrad", reluGrad},
        {"Reshape", reshape},
        {"ReverseSequence", reverseSequence},
        {"ScatterElements", scatterElements},
        {"ScatterND", scatterND},
        {"Slice", slice},
        {"Softmax", alongAxis},
        {"SpaceToDepth", images},
        {"Split", split},
        {"Squeeze", squeeze},
        {"Sum", variadic},
        {"SwiGLU", pair},
        {"TensorScatter", tensorScatter},
        {"Tile", tile},
        {"Transpose", transpose},
        {"Trilu", matrix},
        {"Unsqueeze", unsqueeze},
        {"Where", where},
    };
    return all;
}

} // namespace

CaseMaker caseMakerOf(const Op& op) {
    for (const auto* makers : {&dataCases(), &layerCases(), &modelCases()})
        if (const auto found = makers->find(op.name); found != makers->end()) return found->second;
    if (op.name.starts_with("Reduce")) return reduction;
    if (op.role == OpRole::source) return source;
    if (op.inputs.size() == 1 && !op.isVariadic()) return unary;
    if (op.inputs.size() == 2 && op.elementwise) return binary;
    if (op.name == "Clip") return unaryWide;
    return nullptr;
}

DTypeSet caseTypesOf(const Op& op) {
    if (op.name == "OneHot") return op.inputs[2].types;
    if (op.name == "MelWeightMatrix") return op.outputs[0].types;
    if (op.inputs.size() > 2 && op.inputs[0].hostValue) return op.inputs[2].types;
    if (op.name == "Where") return op.inputs[1].types;
    if (op.inputs.empty() || op.name == "ConstantOfShape" || op.name.ends_with("Window"))
        return op.outputs[0].types;
    return op.inputs[0].types;
}

} // namespace twb::test
