#include "backends/cpu/dense_input.h"
#include "backends/cpu/lane_sum.h"
#include "backends/cpu/max_pool.h"
#include "backends/cpu/onednn.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/max_pool_indices.h"
#include "ops/norm.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"
#include "ops/sliding_window.h"
#include "ops/window_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

constexpr DTypeSet kMaxPoolTypes = kFloats | DTypeSet{DType::i8, DType::u8};

Shape pooledShape(const InferContext& ctx) {
    requireSpatial(ctx, 0);
    const Shape& in = ctx.input(0)->shape;
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : slidingWindow(ctx.attributes(), in).axes) sizes.push_back(axis.out);
    return planesShape(in[0], in[1], sizes);
}

void inferPool(InferContext& ctx) {
    const Shape shape = pooledShape(ctx);
    ctx.output(0, {ctx.input(0)->dtype, shape});
    if (ctx.op().outputs.size() > 1) ctx.output(1, {DType::i64, shape});
}

/// One operation for each element under each window.
Cost poolCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
              const Attributes& attributes) {
    double taps = 1;
    for (std::int64_t size : attributes.integers("kernel_shape")) taps *= static_cast<double>(size);
    return streamingCost(inputs, outputs, taps);
}

/// The larger of two; NaN wins, as in PyTorch.
struct Larger {
    template <class T> T operator()(T a, T b) const { return b > a || b != b ? b : a; }
};

/// f32, bf16 and bytes, for which oneDNN has a primitive.
bool pooledNatively(const KernelContext& ctx, onednn::Pooling kind) {
    const DType dtype = ctx.outputs[0].dtype;
    if (dtype == DType::f64 || dtype == DType::f16) return false;
    const PooledInput x(ctx);
    return onednn::pool(kind, slidingWindow(ctx.attributes, ctx.inputs[0].shape), x.view(), ctx.outputs[0]);
}

template <class T> void maxPool(const KernelContext& ctx, const Window& window) {
    T* const y = ctx.outputs[0].as<T>();
    auto* const indices = ctx.outputs.size() > 1 ? ctx.outputs[1].as<std::int64_t>() : nullptr;
    if (!indices) {
        const PooledInput x(ctx);
        const std::int64_t length = window.axes.back().out * x.layout().lanes;
        return foldRows(window, x.layout(), x.as<T>(), leastOf<T>(), Larger{}, Larger{},
                        [&](std::int64_t first, const GridPlace&, const T* most) {
                            std::copy_n(most, length, y + first);
                        });
    }
    const DenseInput x(ctx.inputs[0]);
    maxPoolWithIndices(window, x.shape()[0] * x.shape()[1], x.as<T>(),
                       ctx.attributes.integer("storage_order") != 0, y, indices);
}

void maxPoolLoops(const KernelContext& ctx) {
    const Window window = slidingWindow(ctx.attributes, ctx.inputs[0].shape);
    switch (ctx.outputs[0].dtype) {
    case DType::i8:
        return maxPool<std::int8_t>(ctx, window);
    case DType::u8:
        return maxPool<std::uint8_t>(ctx, window);
    default:
        withFloat(ctx.outputs[0].dtype, [&](auto zero) { maxPool<decltype(zero)>(ctx, window); });
    }
}

void maxPoolKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const bool indices = ctx.outputs.size() > 1 && ctx.outputs[1].data;
    if (!indices && (maxPoolChannelsLast(slidingWindow(ctx.attributes, ctx.inputs[0].shape), ctx.inputs[0],
                                         ctx.outputs[0]) ||
                     pooledNatively(ctx, onednn::Pooling::max)))
        return;
    viaFloat<maxPoolLoops>(ctx);
}

/// The divisor of the mean at a position.
std::int64_t divisorOf(const Window& window, const GridPlace& position, bool countPadding) {
    std::int64_t count = 1;
    for (int a = 0; a < window.rank(); ++a)
        count *= window.axes[static_cast<std::size_t>(a)].counted(position[a], countPadding);
    return count;
}

/// Poolings that accumulate in double and apply a final function to each result.
template <class Term, class Last>
void sumPool(const KernelContext& ctx, const Window& window, const Term& term, const Last& last) {
    const PooledInput x(ctx);
    const std::int64_t lanes = x.layout().lanes;
    const int inner = window.rank() - 1;
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const y = ctx.outputs[0].as<T>();
        foldRows(
            window, x.layout(), x.as<T>(), 0.0,
            [&](double sum, T value) { return sum + term(static_cast<double>(value)); },
            [](double a, double b) { return a + b; },
            [&](std::int64_t first, GridPlace position, const double* sums) {
                for (std::int64_t o = 0; o < window.axes.back().out; ++o) {
                    position.index[static_cast<std::size_t>(inner)] = o;
                    for (std::int64_t i = o * lanes; i < (o + 1) * lanes; ++i)
                        y[first + i] = static_cast<T>(last(sums[i], position));
                }
            });
    });
}

void averagePoolLoops(const KernelContext& ctx) {
    const Window window = slidingWindow(ctx.attributes, ctx.inputs[0].shape);
    const bool countPadding = ctx.attributes.flag("count_include_pad");
    sumPool(
        ctx, window, [](double x) { return x; },
        [&](double sum, const GridPlace& position) {
            return sum / static_cast<double>(divisorOf(window, position, countPadding));
        });
}

void averagePoolKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const auto kind = ctx.attributes.flag("count_include_pad") ? onednn::Pooling::averageWithPadding
                                                               : onednn::Pooling::average;
    if (!pooledNatively(ctx, kind)) viaFloat<averagePoolLoops>(ctx);
}

void lpPoolKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    const Window window = slidingWindow(ctx.attributes, ctx.inputs[0].shape);
    const Norm norm{ctx.attributes.integer("p")};
    sumPool(
        ctx, window, [=](double x) { return norm.term(x); },
        [=](double sum, const GridPlace&) { return norm.root(sum); });
}

void inferGlobalPool(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() < 2)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("Expected an input with at least batch and channels to {}, but got input of size: {}",
                        ctx.op().name, x.shape.toTorchString()));
    Shape shape = x.shape;
    for (int axis = 2; axis < shape.rank(); ++axis) shape[axis] = 1;
    ctx.output(0, {x.dtype, std::move(shape)});
}

/// Stores result(elements of a plane, number of elements) for each plane.
template <class T, class Plane> void overPlanes(const KernelContext& ctx, const Plane& result) {
    const DenseInput x(ctx.inputs[0]);
    const std::int64_t planes = ctx.outputs[0].elementCount();
    if (planes == 0) return;
    const std::int64_t size = x.view().elementCount() / planes;
    T* const y = ctx.outputs[0].as<T>();
    parallelRanges(planes, planes * std::max<std::int64_t>(size, 1), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t p = begin; p < end; ++p) y[p] = result(x.as<T>() + p * size, size);
                   });
}

/// The sums of `count` adjacent columns of a matrix. They are kept in T for a few rows, which vectorises, and
/// in f64 beyond.
template <std::int64_t Count, class T>
void sumColumns(const T* from, std::int64_t rows, std::int64_t stride, double* sums) {
    constexpr std::int64_t together = 16;
    std::fill_n(sums, Count, 0.0);
    for (std::int64_t i = 0; i < rows; i += together) {
        T part[Count] = {};
        for (std::int64_t k = i; k < std::min(rows, i + together); ++k, from += stride)
            for (std::int64_t c = 0; c < Count; ++c) part[c] += from[c];
        for (std::int64_t c = 0; c < Count; ++c) sums[c] += static_cast<double>(part[c]);
    }
}

/// The mean of each channel of a channels-last tensor.
template <class T> void averageChannelsLast(const TensorView& x, T* y) {
    constexpr std::int64_t block = 16;
    const std::int64_t channels = x.shape[1];
    const std::int64_t size = x.elementCount() / (x.shape[0] * channels);
    const std::int64_t blocks = (channels + block - 1) / block;
    parallelRanges(x.shape[0] * blocks, x.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t first = at % blocks * block;
            const std::int64_t count = std::min(block, channels - first);
            const T* const from = x.as<const T>() + at / blocks * size * channels + first;
            std::array<double, block> sums{};
            if (count == block)
                sumColumns<block>(from, size, channels, sums.data());
            else
                for (std::int64_t c = 0; c < count; ++c)
                    sumColumns<1>(from + c, size, channels, sums.data() + c);
            T* const to = y + at / blocks * channels + first;
            for (std::int64_t c = 0; c < count; ++c)
                to[c] = static_cast<T>(sums[static_cast<std::size_t>(c)] / static_cast<double>(size));
        }
    });
}

void globalAverageKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if (const TensorView& x = ctx.inputs[0]; isChannelsLast(x) && !isDense(x) && x.elementCount() > 0)
            return averageChannelsLast(x, ctx.outputs[0].as<T>());
        overPlanes<T>(ctx, [](const T* plane, std::int64_t size) {
            return static_cast<T>(laneSum(plane, size, [](double x) { return x; }) /
                                  static_cast<double>(size));
        });
    });
}

void globalMaxKernel(const KernelContext& ctx) {
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        overPlanes<T>(ctx, [](const T* plane, std::int64_t size) {
            T most = leastOf<T>();
            for (std::int64_t i = 0; i < size; ++i)
                if (plane[i] > most || plane[i] != plane[i]) most = plane[i];
            return most;
        });
    });
}

void globalLpKernel(const KernelContext& ctx) {
    const Norm norm{ctx.attributes.integer("p")};
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        overPlanes<T>(ctx, [=](const T* plane, std::int64_t size) {
            return static_cast<T>(norm.root(laneSum(plane, size, [=](double x) { return norm.term(x); })));
        });
    });
}

/// The shape in which MaxUnpool's indices count: the input shape of the corresponding pooling.
Shape unpooledShape(const Attributes& attributes, const Shape& x) {
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : transposedWindow(attributes, x, attributes.integers("kernel_shape")).axes)
        sizes.push_back(axis.in);
    return planesShape(x[0], x[1], sizes);
}

void inferMaxUnpool(InferContext& ctx) {
    requireSpatial(ctx, 0);
    const TensorType& x = *ctx.input(0);
    const Shape& indices = ctx.input(1)->shape;
    bool same = indices.rank() == x.shape.rank();
    for (int axis = 0; same && axis < indices.rank(); ++axis)
        same = indices[axis] == x.shape[axis] || indices[axis] == kUnknownDim || x.shape[axis] == kUnknownDim;
    if (!same)
        ctx.fail("shape-mismatch", 1,
                 fmt::format("Expected shape of indices to be same as that of the input tensor ({}) but got "
                             "indices tensor with shape: {}",
                             x.shape.toTorchString(), indices.toTorchString()));
    const Shape inferred = unpooledShape(ctx.attributes(), x.shape);
    const auto wanted = ctx.integers(2);
    if (ctx.isDeferred(2)) {
        ctx.output(0, {x.dtype, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(hostLength(ctx, 2)),
                                                                kUnknownDim))});
        return;
    }
    if (!wanted || wanted->empty()) {
        ctx.output(0, {x.dtype, inferred});
        return;
    }
    const Shape shape(*wanted);
    bool fits = shape.rank() == inferred.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis)
        fits = shape[axis] >= 0 && (inferred[axis] == kUnknownDim || shape[axis] >= inferred[axis]);
    if (!fits)
        ctx.fail(ctx.input(2) ? "shape-mismatch" : "attribute", ctx.input(2) ? 2 : -1,
                 fmt::format("output_shape is {}, but must be at least {} along each axis",
                             shape.toTorchString(), inferred.toTorchString()));
    ctx.output(0, {x.dtype, shape});
}

/// The index of each element of a dense tensor of shape `inner` in a dense tensor of shape `outer`, which is
/// at least as large along each axis.
std::int64_t placeIn(const Shape& outer, const Shape& inner, std::int64_t at) {
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (int axis = inner.rank() - 1; axis >= 0; --axis) {
        place += at % inner[axis] * step;
        at /= inner[axis];
        step *= outer[axis];
    }
    return place;
}

void maxUnpoolKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const std::int64_t total = out.elementCount();
    if (total == 0) return;
    const Shape inferred = unpooledShape(ctx.attributes, ctx.inputs[0].shape);
    const std::int64_t room = inferred.elementCount();
    const DenseInput x(ctx.inputs[0]);
    const DenseInput indices(ctx.inputs[1]);
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const y = out.as<T>();
        std::fill_n(y, total, T{0});
        const std::int64_t count = x.view().elementCount();
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = indices.as<std::int64_t>()[i];
            if (at < 0 || at >= room)
                throw Error(
                    ErrorCode::invalidArgument,
                    fmt::format("Found an invalid max index: {} (output volumes are of size {}); the "
                                "indices must come from a MaxPool with this kernel, stride and padding",
                                at, inferred.toTorchString()));
            y[placeIn(out.shape, inferred, at)] = x.as<T>()[i];
        }
    });
}

Op makePool(std::string name, std::string doc, std::string formula, DTypeSet types, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Pooling", 22, std::move(doc), std::move(formula));
    op.inputs = {port("X", "input", types, "T")};
    op.outputs = {port("Y", "", types, "T")};
    op.attributes = {kernelAttribute(true, "Sizes of the window along each spatial axis")};
    for (AttributeSpec& spec : slidingAttributes()) op.attributes.push_back(std::move(spec));
    op.attributes.push_back(
        flagAttribute("ceil_mode", false, "Add a last window that the input fills only in part"));
    op.infer = inferPool;
    op.cost = poolCost;
    op.channelsLast = ChannelsLast::either;
    op.kernel = kernel;
    return op;
}

Op makeGlobalPool(std::string name, std::string doc, std::string formula, double flops, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Pooling", 22, std::move(doc), std::move(formula));
    op.inputs = {port("X", "input", kFloats, "T")};
    op.outputs = {port("Y", "", kFloats, "T")};
    op.infer = inferGlobalPool;
    op.cost = [flops](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                      const Attributes&) {
        Cost cost = streamingCost(inputs, outputs, 0);
        cost.flops = flops * countOf(inputs[0].shape);
        return cost;
    };
    op.kernel = kernel;
    return op;
}

AttributeSpec normAttribute() {
    AttributeSpec spec = integerAttribute("p", 2, "The norm's power");
    spec.minimum = 1;
    return spec;
}

GraphTensor flat(GraphTensor tensor) { return reshape(tensor, {tensor.shape().elementCount()}); }

/// Each result's gradient goes to the element that it was taken from.
void maxPoolGradient(GradientContext& g) {
    GraphTensor places = g.output(1);
    if (g.attributes().integer("storage_order") != 0) { // the gradient needs row-major indices
        Attributes attributes = g.attributes();
        attributes.set("storage_order", std::int64_t{0});
        places = outputOf(apply("MaxPool", {g.input()}, attributes), 1);
    }
    const GraphTensor zeros = full(g, {g.input().type().dtype, {g.input().shape().elementCount()}}, 0);
    const GraphTensor dx = apply("ScatterElements", {zeros, flat(places), flat(g.gradient())},
                                 {{"axis", std::int64_t{0}}, {"reduction", "add"}});
    g.give(0, reshape(dx, g.input().shape()));
}

void maxUnpoolGradient(GradientContext& g) {
    const GraphTensor dx =
        apply("GatherElements", {flat(g.gradient()), flat(g.input(1))}, {{"axis", std::int64_t{0}}});
    g.give(0, reshape(dx, g.input(0).shape()));
}

/// Adds the value of each window to the elements of the input that it covers: the gradient of a sum over
/// windows.
GraphTensor overWindows(GradientContext& g, GraphTensor values) {
    const Shape& shape = g.input().shape();
    const std::int64_t planes = shape[0] * shape[1];
    std::vector<std::int64_t> sizes{planes, 1};
    std::vector<std::int64_t> kernel{1, 1};
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    const Window window = slidingWindow(g.attributes(), shape);
    for (const WindowAxis& axis : window.axes) {
        sizes.push_back(axis.out);
        kernel.push_back(axis.kernel);
        strides.push_back(axis.stride);
        dilations.push_back(axis.dilation);
    }
    GraphTensor out =
        apply("ConvTranspose",
              {reshape(values, Shape(std::move(sizes))), full(g, {g.input().type().dtype, Shape(kernel)}, 1)},
              {{"strides", strides}, {"dilations", dilations}});
    std::vector<std::int64_t> after(2 * static_cast<std::size_t>(shape.rank()), 0);
    bool isShort = false;
    for (std::size_t i = 0; i < window.axes.size(); ++i) {
        const WindowAxis& axis = window.axes[i];
        const auto at = static_cast<std::int64_t>(i) + 2;
        const std::int64_t size = out.shape()[static_cast<int>(at)];
        const std::int64_t begin = std::min(axis.padBegin, size);
        const std::int64_t end = std::min(axis.padBegin + axis.in, size);
        if (begin > 0 || end < size) out = slice(out, at, begin, end);
        after[static_cast<std::size_t>(shape.rank()) + i + 2] = axis.in - (end - begin);
        isShort = isShort || end - begin < axis.in;
    }
    if (isShort) out = apply("Pad", {out}, {{"pads", after}}); // elements behind the last window
    return reshape(out, shape);
}

void averagePoolGradient(GradientContext& g) {
    const bool withPadding = g.attributes().flag("count_include_pad");
    const DType dtype = g.input().type().dtype;
    const int rank = g.input().shape().rank();
    GraphTensor share = g.gradient();
    double all = 1; // the divisor of axes along which all windows have as many elements
    int at = 2;
    for (const WindowAxis& axis : slidingWindow(g.attributes(), g.input().shape()).axes) {
        std::vector<double> counts;
        for (std::int64_t position = 0; position < axis.out; ++position)
            counts.push_back(
                static_cast<double>(std::max<std::int64_t>(axis.counted(position, withPadding), 1)));
        std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
        shape[static_cast<std::size_t>(at++)] = axis.out;
        if (std::ranges::all_of(counts, [&](double count) { return count == counts.front(); }))
            all *= counts.empty() ? 1 : counts.front();
        else
            share = share / g.add("Constant", {},
                                  {{"value", counts}, {"shape", shape}, {"dtype", std::string(name(dtype))}});
    }
    g.give(0, overWindows(g, share * (1 / all)));
}

/// The derivative of the p-th powers' sum by each element is p · |x| ^ (p − 1) · sign x; the root of the sum
/// is y.
GraphTensor ofPower(GraphTensor x, std::int64_t p) {
    if (p == 1) return apply("Sign", {x});
    if (p == 2) return x;
    const GraphTensor size = apply("Abs", {x});
    return apply("Sign", {x}) *
           apply("Pow", {size, full(x.context(), {x.type().dtype, {}}, static_cast<double>(p - 1))});
}

/// The gradient of a norm by the sum of powers, without the factor of ofPower(); 0 where the norm is 0.
GraphTensor ofNorm(GradientContext& g, std::int64_t p) {
    if (p == 1) return g.gradient();
    const GraphTensor y = g.output();
    const GraphTensor power =
        p == 2 ? y : apply("Pow", {y, full(g, {y.type().dtype, {}}, static_cast<double>(p - 1))});
    return where(isEqual(y, 0), 0, g.gradient() / power);
}

void lpPoolGradient(GradientContext& g) {
    const std::int64_t p = g.attributes().integer("p");
    g.give(0, ofPower(g.input(), p) * overWindows(g, ofNorm(g, p)));
}

void globalLpGradient(GradientContext& g) {
    const std::int64_t p = g.attributes().integer("p");
    g.give(0, ofPower(g.input(), p) * ofNorm(g, p));
}

void globalAverageGradient(GradientContext& g) {
    const double count = countOf(g.input().shape()) / std::max(countOf(g.output().shape()), 1.0);
    g.give(0, expand(g.gradient() / count, g.input().shape()));
}

/// Elements that tie share the gradient equally.
void globalMaxGradient(GradientContext& g) {
    std::vector<std::int64_t> axes;
    for (int axis = 2; axis < g.input().shape().rank(); ++axis) axes.push_back(axis);
    const GraphTensor isChosen = isEqual(g.input(), g.output());
    const GraphTensor count = sumOver(cast(isChosen, g.input().type().dtype), axes);
    g.give(0, where(isChosen, g.gradient() / count));
}

} // namespace

void addPooling(std::vector<Op>& table) {
    Op max = makePool("MaxPool", "Maximum of each window; NaN counts as the largest", "Y = max X",
                      kMaxPoolTypes, maxPoolKernel);
    PortSpec indices = port("Indices", "", DTypeSet{DType::i64});
    indices.optional = true;
    max.outputs.push_back(std::move(indices));
    max.gradient = maxPoolGradient;
    AttributeSpec order =
        integerAttribute("storage_order", 0, "Order of Indices within an image: 0 row-major, 1 column-major");
    order.minimum = 0;
    order.maximum = 1;
    max.attributes.push_back(std::move(order));
    table.push_back(std::move(max));

    Op average = makePool("AveragePool", "Mean of each window", "Y = Σ X / n", kFloats, averagePoolKernel);
    average.attributes.push_back(
        flagAttribute("count_include_pad", false, "Count the padding's zeros in the mean"));
    average.tolerance = {1e-5, 1e-6}; // oneDNN adds in f32
    average.gradient = averagePoolGradient;
    table.push_back(std::move(average));

    Op lp =
        makePool("LpPool", "p-norm of each window", "Y = (Σ |X|^p)^(1/p)", kFloats, viaFloat<lpPoolKernel>);
    lp.attributes.push_back(normAttribute());
    lp.tolerance = {1e-6, 1e-6};
    lp.gradient = lpPoolGradient;
    table.push_back(std::move(lp));

    Op globalAverage =
        makeGlobalPool("GlobalAveragePool", "Mean of each channel, as PyTorch's adaptive_avg_pool to size 1",
                       "Y = Σ X / n", 1, viaFloat<globalAverageKernel>);
    globalAverage.tolerance = {1e-6, 1e-6};
    globalAverage.channelsLast = ChannelsLast::either;
    globalAverage.gradient = globalAverageGradient;
    table.push_back(std::move(globalAverage));
    table.push_back(makeGlobalPool("GlobalMaxPool", "Maximum of each channel; NaN counts as the largest",
                                   "Y = max X", 1, viaFloat<globalMaxKernel>));
    table.back().gradient = globalMaxGradient;
    Op globalLp = makeGlobalPool("GlobalLpPool", "The p-norm of each channel", "Y = (Σ |X|^p)^(1/p)", 2,
                                 viaFloat<globalLpKernel>);
    globalLp.gradient = globalLpGradient;
    globalLp.attributes.push_back(normAttribute());
    globalLp.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(globalLp));

    Op unpool = makeOp("MaxUnpool", "Pooling", 22,
                       "Puts the maxima of a MaxPool back at their positions; other elements are 0");
    unpool.inputs = {port("X", "input", kFloats, "T"), port("I", "indices", DTypeSet{DType::i64}),
                     hostPort("output_shape")};
    unpool.outputs = {port("output", "", kFloats, "T")};
    std::vector<AttributeSpec> sliding = slidingAttributes();
    unpool.attributes = {
        kernelAttribute(true, "Sizes of the pooling's window"), sliding[0], sliding[1],
        shapeAttribute(
            "output_shape", std::nullopt, 0,
            "Shape of the result if it is larger than the window implies; absent: implied by the window")};
    unpool.infer = inferMaxUnpool;
    unpool.gradient = maxUnpoolGradient;
    unpool.kernel = viaFloat<maxUnpoolKernel>;
    table.push_back(std::move(unpool));

    describe(table, "MaxPool", "X [n, c, d…] → Y [n, c, e…]", {operand({1, 2, 4, 4})},
             {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
    describe(table, "AveragePool", "X [n, c, d…] → Y [n, c, e…]", {operand({1, 2, 4, 4})},
             {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
    describe(table, "LpPool", "X [n, c, d…] → Y [n, c, e…]", {operand({1, 2, 4, 4})},
             {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
    describe(table, "GlobalAveragePool", "X [n, c, d…] → Y [n, c, 1, …]", {operand({1, 2, 4, 4})});
    describe(table, "GlobalMaxPool", "X [n, c, d…] → Y [n, c, 1, …]", {operand({1, 2, 4, 4})});
    describe(table, "GlobalLpPool", "X [n, c, d…] → Y [n, c, 1, …]", {operand({1, 2, 4, 4})});
    describe(table, "MaxUnpool", "X and I [n, c, e…] → output [n, c, d…]",
             {operand({1, 1, 2, 2}), operand({1, 1, 2, 2}, {5, 7, 13, 15}, DType::i64)},
             {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}})
        .formula = "output at index I = X, else 0";
}

} // namespace twb
