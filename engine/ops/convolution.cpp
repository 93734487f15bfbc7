#include "backends/cpu/convolution.h"

#include "backends/cpu/dense_input.h"
#include "backends/cpu/low_precision.h"
#include "ops/convolution_gradient.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"
#include "ops/sliding_window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

namespace twb {
namespace {

bool known(std::int64_t size) { return size != kUnknownDim; }

bool meets(std::int64_t a, std::int64_t b) { return a == b || !known(a) || !known(b); }

std::int64_t groupsOf(const Attributes& attributes) { return attributes.integer("group"); }

/// kernel_shape, if given, must agree with the weight.
std::vector<std::int64_t> kernelOf(const Attributes& attributes, const Shape& weight) {
    std::vector<std::int64_t> kernel = spatialSizes(weight);
    if (!attributes.has("kernel_shape")) return kernel;
    const std::vector<std::int64_t> given = attributes.integers("kernel_shape");
    if (given.empty()) return kernel;
    if (given.size() == kernel.size()) {
        bool same = true;
        for (std::size_t i = 0; i < given.size(); ++i) {
            same = same && meets(given[i], kernel[i]);
            if (!known(kernel[i])) kernel[i] = given[i];
        }
        if (same) return kernel;
    }
    throw InferError("attribute", -1,
                     fmt::format("attribute \"kernel_shape\" is [{}], but the weight has size {}",
                                 fmt::join(given, ", "), weight.toTorchString()));
}

void requireWeight(const InferContext& ctx, int x, int w) {
    requireSpatial(ctx, x);
    const Shape& input = ctx.input(x)->shape;
    const Shape& weight = ctx.input(w)->shape;
    if (weight.rank() != input.rank())
        ctx.fail("shape-mismatch", w,
                 fmt::format("Expected a weight of {} dimensions for an input of size {}, but got weight of "
                             "size {}",
                             input.rank(), input.toTorchString(), weight.toTorchString()));
}

void requireVector(const InferContext& ctx, int port, std::int64_t size) {
    const TensorType* type = ctx.input(port);
    if (!type) return;
    const Shape& shape = type->shape;
    if (shape.rank() != 1 || !meets(shape[0], size))
        ctx.fail(
            "shape-mismatch", port,
            fmt::format("expected {} to be 1-dimensional with {} elements, but got {} of size {} instead",
                        ctx.op().inputAt(port).argument, size, ctx.op().inputAt(port).argument,
                        shape.toTorchString()));
}

/// The shape of the result for an input on port `x` and a weight on port `w`.
Shape convolvedShape(const InferContext& ctx, int x, int w) {
    requireWeight(ctx, x, w);
    const Shape& input = ctx.input(x)->shape;
    const Shape& weight = ctx.input(w)->shape;
    const std::int64_t groups = groupsOf(ctx.attributes());
    const std::int64_t outChannels = weight[0];
    if (known(outChannels) && outChannels % groups != 0)
        ctx.fail(
            "shape-mismatch", w,
            fmt::format("Given groups={}, expected weight to be at least {} at dimension 0 and divisible by "
                        "{}, but got weight of size {} instead",
                        groups, groups, groups, weight.toTorchString()));
    // Divides rather than multiplies, since a product could overflow.
    const bool fits =
        !known(input[1]) || !known(weight[1]) || (input[1] % groups == 0 && input[1] / groups == weight[1]);
    if (!fits)
        ctx.fail(
            "shape-mismatch", x,
            fmt::format("Given groups={}, weight of size {}, expected input{} to have {} channels, but got "
                        "{} channels instead",
                        groups, weight.toTorchString(), input.toTorchString(),
                        static_cast<double>(weight[1]) * static_cast<double>(groups), input[1]));
    const Window window = slidingWindow(ctx.attributes(), input, kernelOf(ctx.attributes(), weight));
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : window.axes) sizes.push_back(axis.out);
    return planesShape(input[0], outChannels, sizes);
}

void inferConv(InferContext& ctx) {
    Shape shape = convolvedShape(ctx, 0, 1);
    requireVector(ctx, 2, shape[1]);
    ctx.output(0, {ctx.input(0)->dtype, std::move(shape)});
}

void inferConvTranspose(InferContext& ctx) {
    requireWeight(ctx, 0, 1);
    const Shape& input = ctx.input(0)->shape;
    const Shape& weight = ctx.input(1)->shape;
    const std::int64_t groups = groupsOf(ctx.attributes());
    if (!meets(input[1], weight[0]) || (known(weight[0]) && weight[0] % groups != 0))
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Given transposed=1, weight of size {}, expected input{} to have {} channels in {} "
                        "groups, but got {} channels instead",
                        weight.toTorchString(), input.toTorchString(), weight[0], groups, input[1]));
    std::int64_t channels = kUnknownDim;
    if (known(weight[1]) && __builtin_mul_overflow(weight[1], groups, &channels))
        ctx.fail("too-large", 1, "the result has more channels than 64 bits can count");
    requireVector(ctx, 2, channels);
    const Window window = transposedWindow(ctx.attributes(), input, kernelOf(ctx.attributes(), weight));
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : window.axes) sizes.push_back(axis.in);
    ctx.output(0, {ctx.input(0)->dtype, planesShape(input[0], channels, sizes)});
}

/// Two flops for each pair of a weight element and an element of `through` that it is multiplied with.
Cost weighted(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Shape& weight,
              const Shape& through) {
    Cost cost = streamingCost(inputs, outputs, 0);
    double taps = 2;
    for (int axis = 1; axis < weight.rank(); ++axis) taps *= static_cast<double>(weight[axis]);
    cost.flops = taps * countOf(through);
    return cost;
}

Cost convCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    return weighted(inputs, outputs, inputs[1].shape, outputs[0].shape);
}

Convolution convolutionOf(const KernelContext& ctx, int x, int w) {
    const Shape& input = ctx.inputs[static_cast<std::size_t>(x)].shape;
    const Shape& weight = ctx.inputs[static_cast<std::size_t>(w)].shape;
    Convolution sizes;
    sizes.window = slidingWindow(ctx.attributes, input, spatialSizes(weight));
    sizes.batch = input[0];
    sizes.groups = groupsOf(ctx.attributes);
    sizes.inChannels = weight[1];
    sizes.outChannels = weight[0] / sizes.groups;
    return sizes;
}

/// f32 and bf16, for which oneDNN has a primitive; it reads and writes channels-last and row-major tensors.
bool convolvedNatively(const KernelContext& ctx) {
    const TensorView& given = ctx.inputs[0];
    const DenseInput dense(isChannelsLast(given) ? TensorView{} : given);
    const DenseInput w(ctx.inputs[1]);
    const DenseInput bias = denseInput(ctx.inputs, 2);
    const TensorView& x = dense ? dense.view() : given;
    const TensorView& y = ctx.outputs[0];
    std::unique_ptr<KernelState> ofThisLaunch;
    std::unique_ptr<KernelState>& kept = ctx.memory ? ctx.memory->state : ofThisLaunch;
    if (!kept) kept = std::make_unique<ProductState>();
    auto& state = static_cast<ProductState&>(*kept);
    if (!state.product)
        state.product = NativeConvolution::make(
            convolutionOf(ctx, 0, 1),
            {x, bias.view(), state.added, y, ctx.memory && ctx.memory->isConstant(1)}, state.ending);
    if (!state.product) return false;
    state.run(
        {.x = x.data, .w = w.view().data, .bias = bias.view().data, .added = state.added.data, .y = y.data});
    return true;
}

void convFloats(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.dtype == DType::f32 && convolvedNatively(ctx)) return;
    const Convolution sizes = convolutionOf(ctx, 0, 1);
    const DenseInput x(ctx.inputs[0]);
    const DenseInput w(ctx.inputs[1]);
    const DenseInput bias = denseInput(ctx.inputs, 2);
    const Tensor rowMajor = isDense(y) ? Tensor() : Tensor::onHost({y.dtype, y.shape});
    const TensorView result = rowMajor ? rowMajor.view() : y;
    withFloat(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        convolve(sizes, x.as<T>(), w.as<T>(), bias.as<T>(), result.as<T>());
    });
    if (rowMajor) copyElements(result, y);
}

void convKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    if (ctx.outputs[0].dtype == DType::bf16 && convolvedNatively(ctx)) return;
    viaFloat<convFloats>(ctx);
}

void convTransposeKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const Shape& weight = ctx.inputs[1].shape;
    Convolution sizes;
    sizes.window = transposedWindow(ctx.attributes, ctx.inputs[0].shape, spatialSizes(weight));
    sizes.batch = ctx.inputs[0].shape[0];
    sizes.groups = groupsOf(ctx.attributes);
    sizes.inChannels = weight[1];
    sizes.outChannels = weight[0] / sizes.groups;
    const DenseInput x(ctx.inputs[0]);
    const DenseInput w(ctx.inputs[1]);
    const DenseInput bias = denseInput(ctx.inputs, 2);
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        convolveTransposed(sizes, x.as<T>(), w.as<T>(), bias.as<T>(), ctx.outputs[0].as<T>());
    });
}

std::vector<AttributeSpec> convolutionAttributes() {
    std::vector<AttributeSpec> attributes{
        kernelAttribute(false, "Sizes of the kernel; absent: the sizes of the weight")};
    for (AttributeSpec& spec : slidingAttributes()) attributes.push_back(std::move(spec));
    attributes.push_back(groupAttribute());
    return attributes;
}

// Integer products are summed in 32 bits, with wraparound.

constexpr DTypeSet kBytes{DType::i8, DType::u8};

/// A scale or a zero point: one number, or one per index of the first axis.
void requireNumber(const InferContext& ctx, int port, std::int64_t channels) {
    const TensorType* type = ctx.input(port);
    if (!type) return;
    const Shape& shape = type->shape;
    const bool single = shape.rank() == 0 || (shape.rank() == 1 && meets(shape[0], 1));
    if (!single && !(shape.rank() == 1 && channels > 1 && meets(shape[0], channels)) &&
        !(shape.rank() == 1 && !known(channels)))
        ctx.fail("shape-mismatch", port,
                 fmt::format("{} must be one number{}, but has size {}", ctx.op().inputAt(port).name,
                             channels > 1 ? fmt::format(" or one for each of {} channels", channels) : "",
                             shape.toTorchString()));
}

/// A scalar or list of any dtype as numbers; `standard` if it is not connected.
std::vector<double> numbersOf(const KernelContext& ctx, std::size_t port, double standard) {
    const DenseInput in = denseInput(ctx.inputs, port);
    if (!in) return {standard};
    std::vector<double> values(static_cast<std::size_t>(in.view().elementCount()));
    withAny(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(widened(in.as<T>()[i]));
    });
    if (values.empty())
        throw Error(ErrorCode::invalidArgument, "a scale or zero point has no elements; it needs one");
    return values;
}

double channelOf(const std::vector<double>& values, std::int64_t channel) {
    return values.size() == 1 ? values[0] : values.at(static_cast<std::size_t>(channel));
}

/// The elements of a u8 or i8 tensor minus their zero point, by index of the first axis.
std::vector<std::int32_t> centred(const TensorView& given, const std::vector<double>& zeroPoints) {
    const DenseInput in(given);
    const std::int64_t count = given.elementCount();
    std::vector<std::int32_t> out(static_cast<std::size_t>(count));
    const std::int64_t length = given.shape[0] == 0 ? 1 : std::max<std::int64_t>(count / given.shape[0], 1);
    const auto convert = [&](const auto* values) {
        for (std::int64_t i = 0; i < count; ++i)
            out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(values[i]) -
                                               static_cast<std::int32_t>(channelOf(zeroPoints, i / length));
    };
    if (given.dtype == DType::i8)
        convert(in.as<std::int8_t>());
    else
        convert(in.as<std::uint8_t>());
    return out;
}

void inferConvInteger(InferContext& ctx) {
    Shape shape = convolvedShape(ctx, 0, 1);
    requireNumber(ctx, 2, 1);
    requireNumber(ctx, 3, shape[1]);
    ctx.output(0, {DType::i32, std::move(shape)});
}

void convIntegerKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const auto x = centred(ctx.inputs[0], {numbersOf(ctx, 2, 0)[0]});
    const auto w = centred(ctx.inputs[1], numbersOf(ctx, 3, 0));
    convolve(convolutionOf(ctx, 0, 1), x.data(), w.data(), ctx.outputs[0].as<std::int32_t>());
}

void inferQLinearConv(InferContext& ctx) {
    Shape shape = convolvedShape(ctx, 0, 3);
    requireNumber(ctx, 1, 1);
    requireNumber(ctx, 2, 1);
    requireNumber(ctx, 4, shape[1]);
    requireNumber(ctx, 5, shape[1]);
    requireNumber(ctx, 6, 1);
    requireNumber(ctx, 7, 1);
    requireVector(ctx, 8, shape[1]);
    ctx.output(0, {ctx.input(7)->dtype, std::move(shape)});
}

/// The convolution in bytes; null if the CPU has no instructions for it, if the weights have zero points, or
/// if an input other than x may change.
std::unique_ptr<LowPrecisionKernel> byteKernel(const KernelContext& ctx) {
    for (std::size_t port = 1; port < ctx.inputs.size(); ++port)
        if (ctx.inputs[port].data && !ctx.memory->isConstant(port)) return nullptr;
    const auto wZero = numbersOf(ctx, 5, 0);
    const bool isCentred = std::all_of(wZero.begin(), wZero.end(), [](double zero) { return zero == 0; });
    if (ctx.inputs[3].dtype != DType::i8 || !isCentred) return nullptr;
    const TensorView& x = ctx.inputs[0];
    const TensorView& y = ctx.outputs[0];
    ByteConvolution convolution{.sizes = convolutionOf(ctx, 0, 3), .x = x.dtype, .y = y.dtype};
    convolution.xChannelsLast = !isDense(x) && isChannelsLast(x);
    convolution.yChannelsLast = !isDense(y);
    convolution.xZero = static_cast<std::int32_t>(numbersOf(ctx, 2, 0)[0]);
    convolution.yZero = static_cast<std::int32_t>(numbersOf(ctx, 7, 0)[0]);
    const auto xScale = static_cast<float>(numbersOf(ctx, 1, 1)[0]);
    const auto yScale = static_cast<float>(numbersOf(ctx, 6, 1)[0]);
    for (const double wScale : numbersOf(ctx, 4, 1))
        convolution.scales.push_back(xScale * static_cast<float>(wScale) / yScale);
    const DenseInput w(ctx.inputs[3]);
    const DenseInput bias = denseInput(ctx.inputs, 8);
    return makeKernel(convolution, w.as<std::int8_t>(), bias ? bias.as<std::int32_t>() : nullptr);
}

bool convolvedInBytes(const KernelContext& ctx) {
    if (!ctx.memory) return false;
    if (!ctx.memory->state) {
        auto fresh = std::make_unique<LowPrecisionState>();
        fresh->kernel = byteKernel(ctx);
        ctx.memory->state = std::move(fresh);
    }
    const auto& kernel = static_cast<LowPrecisionState&>(*ctx.memory->state).kernel;
    if (!kernel) return false;
    const TensorView& given = ctx.inputs[0];
    const DenseInput dense(isChannelsLast(given) ? TensorView{} : given);
    kernel->run(dense ? dense.view().data : given.data, ctx.outputs[0].data);
    return true;
}

void qLinearConvKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0 || convolvedInBytes(ctx)) return;
    const Tensor rowMajor =
        isDense(ctx.outputs[0]) ? Tensor() : Tensor::onHost({ctx.outputs[0].dtype, ctx.outputs[0].shape});
    const TensorView y = rowMajor ? rowMajor.view() : ctx.outputs[0];
    const auto x = centred(ctx.inputs[0], {numbersOf(ctx, 2, 0)[0]});
    const auto w = centred(ctx.inputs[3], numbersOf(ctx, 5, 0));
    std::vector<std::int32_t> sums(static_cast<std::size_t>(y.elementCount()));
    convolve(convolutionOf(ctx, 0, 3), x.data(), w.data(), sums.data());
    const double xScale = numbersOf(ctx, 1, 1)[0];
    const auto wScale = numbersOf(ctx, 4, 1);
    const double yScale = numbersOf(ctx, 6, 1)[0];
    const double yZero = numbersOf(ctx, 7, 0)[0];
    const DenseInput bias = denseInput(ctx.inputs, 8);
    const std::int64_t channels = y.shape[1];
    const std::int64_t planes = y.shape[0] * channels;
    const std::int64_t plane = y.elementCount() / planes;
    const auto store = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        parallelRanges(planes, planes * plane, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p) {
                const std::int64_t channel = p % channels;
                // In f32 like ONNX's reference: the precision decides how a result halfway between two
                // integers is rounded.
                const auto factor = static_cast<float>(xScale) *
                                    static_cast<float>(channelOf(wScale, channel)) /
                                    static_cast<float>(yScale);
                const std::int64_t added = bias ? bias.as<std::int32_t>()[channel] : 0;
                for (std::int64_t i = p * plane; i < (p + 1) * plane; ++i) {
                    const auto sum = static_cast<float>(sums[static_cast<std::size_t>(i)] + added);
                    const double value = static_cast<double>(std::nearbyint(sum * factor)) + yZero;
                    out[i] = static_cast<T>(std::clamp(value, double{std::numeric_limits<T>::min()},
                                                       double{std::numeric_limits<T>::max()}));
                }
            }
        });
    };
    if (y.dtype == DType::i8)
        store(y.as<std::int8_t>());
    else
        store(y.as<std::uint8_t>());
    if (rowMajor) copyElements(y, ctx.outputs[0]);
}

Op makeConvolution(std::string name, int opset, std::string doc, std::string formula) {
    Op op = makeOp(std::move(name), "Convolution", opset, std::move(doc), std::move(formula));
    op.attributes = convolutionAttributes();
    return op;
}

} // namespace

void addConvolutions(std::vector<Op>& table) {
    Op conv = makeConvolution(
        "Conv", 22, "Convolution over one or more spatial axes, as PyTorch's conv1d, conv2d, conv3d",
        "Y = W ∗ X + B");
    conv.inputs = {port("X", "input", kFloats, "T"), port("W", "weight", kFloats, "T"),
                   optionalPort("B", "bias", kFloats, "T")};
    conv.outputs = {port("Y", "", kFloats, "T")};
    conv.tolerance = {1e-5, 1e-5};
    conv.infer = inferConv;
    conv.cost = convCost;
    conv.channelsLast = ChannelsLast::wanted;
    conv.kernel = convKernel;
    conv.gradient = convGradient;
    table.push_back(std::move(conv));

    Op transpose = makeConvolution(
        "ConvTranspose", 22, "Transposed convolution: adds each element, weighted, to a window of the result",
        "Y = Wᵀ ∗ X + B");
    transpose.inputs = {port("X", "input", kFloats, "T"), port("W", "weight", kFloats, "T"),
                        optionalPort("B", "bias", kFloats, "T")};
    transpose.outputs = {port("Y", "", kFloats, "T")};
    transpose.attributes.push_back(
        shapeAttribute("output_padding", std::nullopt, 0,
                       "Elements added to one side of each spatial axis of the result; absent: 0"));
    transpose.attributes.push_back(shapeAttribute(
        "output_shape", std::nullopt, 0,
        "Spatial sizes of the result, from which the padding is computed; absent: pads decides"));
    transpose.tolerance = {1e-5, 1e-5};
    transpose.infer = inferConvTranspose;
    transpose.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                        const Attributes&) {
        return weighted(inputs, outputs, inputs[1].shape, inputs[0].shape);
    };
    transpose.kernel = viaFloat<convTransposeKernel>;
    transpose.gradient = convTransposeGradient;
    table.push_back(std::move(transpose));

    table.push_back(convWeightGrad());

    Op integer = makeConvolution("ConvInteger", 10, "Convolution of 8-bit integers, summed in 32 bits",
                                 "y = (w − w_zero_point) ∗ (x − x_zero_point)");
    integer.inputs = {port("x", "input", kBytes, "T1"), port("w", "weight", kBytes, "T2"),
                      optionalPort("x_zero_point", "", kBytes, "T1"),
                      optionalPort("w_zero_point", "", kBytes, "T2")};
    integer.outputs = {port("y", "", DTypeSet{DType::i32})};
    integer.infer = inferConvInteger;
    integer.cost = convCost;
    integer.kernel = convIntegerKernel;
    integer.noGradient = "gives integers";
    table.push_back(std::move(integer));

    Op quantized = makeConvolution("QLinearConv", 10, "Convolution of tensors quantized to 8 bits",
                                   "y = quantize(dequantize(w) ∗ dequantize(x) + B)");
    const DTypeSet f32{DType::f32};
    quantized.inputs = {port("x", "input", kBytes, "T1"),
                        port("x_scale", "", f32),
                        port("x_zero_point", "", kBytes, "T1"),
                        port("w", "weight", kBytes, "T2"),
                        port("w_scale", "", f32),
                        port("w_zero_point", "", kBytes, "T2"),
                        port("y_scale", "", f32),
                        port("y_zero_point", "", kBytes, "T3"),
                        optionalPort("B", "bias", DTypeSet{DType::i32})};
    quantized.outputs = {port("y", "", kBytes, "T3")};
    quantized.infer = inferQLinearConv;
    quantized.channelsLast = ChannelsLast::wanted;
    quantized.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                        const Attributes&) {
        return weighted(inputs, outputs, inputs[3].shape, outputs[0].shape);
    };
    quantized.kernel = qLinearConvKernel;
    quantized.noGradient = "gives integers";
    table.push_back(std::move(quantized));

    describe(table, "Conv", "X [n, c, d…] · W [m, c / group, k…] · B [m] → Y [n, m, e…]",
             {operand({1, 3, 8, 8}), operand({4, 3, 3, 3}), operand({4})}, {{"pads", Integers{1, 1, 1, 1}}});
    describe(table, "ConvTranspose", "X [n, c, d…] · W [c, m / group, k…] · B [m] → Y [n, m, e…]",
             {operand({1, 3, 4, 4}), operand({3, 2, 2, 2})}, {{"strides", Integers{2, 2}}});
    describe(table, "ConvWeightGrad", "dY [n, m, e…] · X [n, c, d…] → dW [m, c / group, kernel_shape…]",
             {operand({1, 4, 6, 6}), operand({1, 3, 8, 8})}, {{"kernel_shape", Integers{3, 3}}});
    describe(table, "ConvInteger", "x [n, c, d…] · w [m, c / group, k…] → y [n, m, e…]",
             {operand({1, 1, 4, 4}), operand({1, 1, 2, 2})});
    describe(table, "QLinearConv",
             "x [n, c, d…] · w [m, c / group, k…] → y [n, m, e…]; scales and zero points are scalars, those "
             "of w also [m]",
             {operand({1, 1, 4, 4}, {}, DType::u8), operand(Shape{}, {0.5}), operand(Shape{}, {0}, DType::u8),
              operand({1, 1, 2, 2}, {}, DType::u8), operand(Shape{}, {0.5}), operand(Shape{}, {1}, DType::u8),
              operand(Shape{}, {0.5}), operand(Shape{}, {0}, DType::u8)});
}

} // namespace twb
