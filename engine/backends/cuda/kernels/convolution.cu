#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/convolution_end.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/native_convolution.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/unfold.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/sliding_window.h"

#include <algorithm>
#include <type_traits>

namespace twb::cuda {
namespace {

/// A convolution's sizes: x is batch × groups·inChannels × the window's inputs, w is groups·outChannels ×
/// inChannels × taps, y is batch × groups·outChannels × the window's positions.
struct Sizes {
    Window window;
    std::int64_t batch, groups, inChannels, outChannels;

    Sizes(Window slid, const Attributes& attributes, const Shape& x, const Shape& w)
        : window(std::move(slid)), batch(x[0]), groups(attributes.integer("group")), inChannels(w[1]),
          outChannels(w[0] / groups) {}
    std::int64_t depth() const { return inChannels * window.tapCount(); }
};

/// A window of one element that visits every element once; its columns are the input itself.
bool unfoldsToItself(const Window& window) {
    return std::all_of(window.axes.begin(), window.axes.end(), [](const WindowAxis& axis) {
        return axis.kernel == 1 && axis.stride == 1 && axis.padBegin == 0 && axis.padEnd == 0;
    });
}

/// Computes each group's results directly if they come from a single channel, which is too little for a
/// matrix product.
template <class T, class Slide> struct ConvolveDepthwise {
    Slide window;
    const T *in, *weight, *bias;
    T* out;
    Divide outs, results, resultsOfGroup;
    std::int64_t batchStride, channelStride, biasStep;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        using W = Wide<T>;
        const std::int64_t plane = outs(i);
        const std::int64_t image = results(plane);
        const std::int64_t channel = plane - image * results.divisor();
        const T* const from = in + image * batchStride + resultsOfGroup(channel) * channelStride;
        const T* const factors = weight + channel * window.tapCount;
        W sum = 0;
        window.eachTap(window.outPlaceOf(i - plane * outs.divisor()),
                       [&](std::int64_t offset, std::int64_t, std::int64_t tap) {
                           sum += widened(from[offset]) * widened(factors[tap]);
                       });
        if (bias) sum += widened(bias[channel * biasStep]);
        out[i] = stored<T>(sum);
    }
};

/// Unfolds some images of x into columns; `from` is the first one's address.
void unfoldImages(Queue& queue, const Sizes& s, const TensorView& x, const void* from, std::int64_t images,
                  const Scratch& columns) {
    withBits(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t outs = s.window.outCount();
        const std::int64_t total = images * s.groups * s.depth() * outs;
        withWindow(s.window, x.strides.data() + 2, [&](const auto& slide) {
            forEach(queue, total,
                    Unfold<T, std::decay_t<decltype(slide)>>{
                        slide, static_cast<const T*>(from), columns.as<T>(), Divide(outs, total),
                        Divide(s.window.tapCount(), total), Divide(x.shape[1], total), x.strides[0],
                        x.strides[1]});
        });
    });
}

void convolveByUnfolding(const KernelCall& call, const Sizes& s, const TensorView& x, const DenseView& w) {
    const TensorView& y = call.outputs[0];
    const std::int64_t outs = s.window.outCount();
    const std::int64_t depth = s.depth();
    const bool isDirect = unfoldsToItself(s.window) && isDense(x);
    const std::int64_t images = isDirect ? s.batch : imagesAtATime(s.groups * depth * outs, s.batch, y.dtype);
    const std::int64_t ofImage = s.groups * depth * outs;
    const Scratch columns(call.queue,
                          isDirect ? 0 : static_cast<std::size_t>(images * ofImage) * sizeOf(y.dtype));
    Product product;
    product.dtype = product.result = y.dtype;
    product.m = s.outChannels;
    product.n = outs;
    product.k = depth;
    product.cStride = outs;
    product.beta = fillWithBias(call.queue, call.input(2), y) ? 1 : 0;
    for (std::int64_t first = 0; first < s.batch; first += images) {
        const std::int64_t count = std::min(images, s.batch - first);
        const void* const from = at(x.data, first * x.strides[0], x.dtype);
        if (!isDirect) unfoldImages(call.queue, s, x, from, count, columns);
        product.a = {w.view().data, depth, false, 0};
        product.b = {isDirect ? from : columns.data(), outs, false, 0};
        product.c = const_cast<void*>(at(y.data, first * s.groups * s.outChannels * outs, y.dtype));
        multiplyAll(call.queue, product, s.groups,
                    {s.outChannels * depth, depth * outs, s.outChannels * outs}, count,
                    {0, ofImage, s.groups * s.outChannels * outs});
    }
}

void convolveDepthwise(const KernelCall& call, const Sizes& s, const TensorView& x, const DenseView& w) {
    const TensorView& y = call.outputs[0];
    const TensorView bias = call.input(2);
    withStoredFloat(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t total = y.elementCount();
        withWindow(s.window, x.strides.data() + 2, [&](const auto& slide) {
            forEach(call.queue, total,
                    ConvolveDepthwise<T, std::decay_t<decltype(slide)>>{
                        slide, x.as<const T>(), w.as<T>(), bias.as<const T>(), y.as<T>(),
                        Divide(s.window.outCount(), total), Divide(s.groups * s.outChannels, total),
                        Divide(s.outChannels, total), x.strides[0], x.strides[1],
                        bias.data ? bias.strides[0] : 0});
        });
    });
}

void convKernel(const KernelCall& call) { convolveAndEnd(call, {}); }

void convTransposeKernel(const KernelCall& call) {
    const TensorView& y = call.outputs[0];
    if (y.elementCount() == 0) return;
    const Sizes s(transposedWindow(call.attributes, call.inputs[0].shape, spatialSizes(call.inputs[1].shape)),
                  call.attributes, call.inputs[0].shape, call.inputs[1].shape);
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView w(call.queue, call.inputs[1]);
    const TensorView bias = call.input(2);
    if (convolveNatively(
            {call.queue, s.window, s.groups, x.view(), w.view(), y, ConvolutionKind::transposed}))
        return endConvolution(call.queue, bias, {}, y);
    const std::int64_t outs = s.window.outCount();
    const std::int64_t depth = s.depth();
    const std::int64_t ofImage = s.groups * depth * outs;
    // The columns are summed up, so f16 and bf16 use f32 for them.
    const DType between = isHalfWidth(y.dtype) ? DType::f32 : y.dtype;
    const std::int64_t images = imagesAtATime(ofImage, s.batch, between);
    const Scratch columns(call.queue, static_cast<std::size_t>(images * ofImage) * sizeOf(between));
    const Strides steps = denseStrides(y.shape);
    Product product;
    product.dtype = y.dtype;
    product.result = between;
    product.m = depth;
    product.n = outs;
    product.k = s.outChannels;
    product.cStride = outs;
    for (std::int64_t first = 0; first < s.batch; first += images) {
        const std::int64_t count = std::min(images, s.batch - first);
        const std::int64_t xOfImage = s.groups * s.outChannels * outs;
        product.a = {w.view().data, depth, true, 0};
        product.b = {at(x.view().data, first * xOfImage, y.dtype), outs, false, 0};
        product.c = columns.data();
        if (outs > 0)
            multiplyAll(call.queue, product, s.groups,
                        {s.outChannels * depth, s.outChannels * outs, depth * outs}, count,
                        {0, xOfImage, ofImage});
        withStoredFloat(y.dtype, [&](auto zero) {
            using T = decltype(zero);
            const std::int64_t channels = s.groups * s.inChannels;
            const std::int64_t total = count * channels * s.window.inCount();
            withWindow(s.window, steps.data() + 2, [&](const auto& slide) {
                forEach(call.queue, total,
                        Fold<T, Wide<T>, std::decay_t<decltype(slide)>>{
                            slide, columns.as<Wide<T>>(), bias.as<const T>(), bias.data ? bias.strides[0] : 0,
                            y.as<T>() + first * channels * s.window.inCount(), Divide(channels, total),
                            Divide(s.window.inCount(), total)});
            });
        });
    }
}

void convWeightGradKernel(const KernelCall& call) {
    const TensorView& dw = call.outputs[0];
    if (dw.elementCount() == 0) return;
    const TensorView& x = call.inputs[1];
    const DenseView dy(call.queue, call.inputs[0]);
    const Sizes s(slidingWindow(call.attributes, x.shape), call.attributes, x.shape, dw.shape);
    const std::int64_t outs = s.window.outCount();
    if (s.batch * outs == 0) return withBits(dw.dtype, [&](auto zero) { fillView(call.queue, dw, &zero); });
    if (convolveNatively({call.queue, s.window, s.groups, x, dw, dy.view(), ConvolutionKind::weightGradient}))
        return;
    const std::int64_t depth = s.depth();
    const std::int64_t ofImage = s.groups * depth * outs;
    const std::int64_t images = imagesAtATime(ofImage, s.batch, x.dtype);
    const Scratch columns(call.queue, static_cast<std::size_t>(images * ofImage) * sizeOf(x.dtype));
    // The images are summed up, so f16 and bf16 use f32 for the sums.
    const bool isHalf = isHalfWidth(dw.dtype);
    const Scratch sums(call.queue,
                       isHalf ? static_cast<std::size_t>(dw.elementCount()) * sizeOf(DType::f32) : 0);
    TensorView result = dw;
    if (isHalf) {
        result.data = sums.data();
        result.dtype = DType::f32;
    }
    Product product;
    product.dtype = dw.dtype;
    product.result = result.dtype;
    product.m = s.outChannels;
    product.n = depth;
    product.k = outs;
    product.c = result.data;
    product.cStride = depth;
    product.cBatchStride = s.outChannels * depth;
    product.batches = s.groups;
    for (std::int64_t image = 0; image < s.batch; ++image) {
        if (image % images == 0)
            unfoldImages(call.queue, s, x, at(x.data, image * x.strides[0], x.dtype),
                         std::min(images, s.batch - image), columns);
        product.a = {at(dy.view().data, image * s.groups * s.outChannels * outs, x.dtype), outs, false,
                     s.outChannels * outs};
        product.b = {at(columns.data(), image % images * ofImage, x.dtype), outs, true, depth * outs};
        product.beta = image == 0 ? 0 : 1;
        multiply(call.queue, product);
    }
    if (isHalf) convertView(call.queue, result, dw);
}

} // namespace

std::int64_t imagesAtATime(std::int64_t columns, std::int64_t batch, DType dtype) {
    constexpr std::int64_t most = std::int64_t{256} << 20;
    const std::int64_t room = most / static_cast<std::int64_t>(sizeOf(dtype));
    return std::clamp<std::int64_t>(room / std::max<std::int64_t>(columns, 1), 1, batch);
}

void convolveAndEnd(const KernelCall& call, const ConvolutionEnd& end) {
    const TensorView& x = call.inputs[0];
    const TensorView& y = call.outputs[0];
    if (y.elementCount() == 0) return;
    const Sizes s(slidingWindow(call.attributes, x.shape, spatialSizes(call.inputs[1].shape)),
                  call.attributes, x.shape, call.inputs[1].shape);
    const DenseView w(call.queue, call.inputs[1]);
    if (s.groups > 1 && s.inChannels == 1) {
        convolveDepthwise(call, s, x, w);
    } else if (convolveNatively({call.queue, s.window, s.groups, x, w.view(), y})) {
        return endConvolution(call.queue, call.input(2), end, y);
    } else {
        convolveByUnfolding(call, s, x, w);
    }
    endConvolution(call.queue, {}, end, y);
}

bool fillWithBias(Queue& queue, const TensorView& bias, const TensorView& out) {
    if (!bias.data) return false;
    TensorView along = bias;
    std::vector<std::int64_t> dims(static_cast<std::size_t>(out.shape.rank()) - 1, 1);
    dims[0] = out.shape[1];
    along.shape = Shape(std::move(dims));
    along.strides.assign(static_cast<std::size_t>(out.shape.rank()) - 1, 0);
    along.strides[0] = bias.strides[0];
    copyView(queue, along, out);
    return true;
}

void multiplyAll(Queue& queue, Product product, std::int64_t groups, Steps ofGroup, std::int64_t images,
                 Steps ofImage) {
    const bool alongImages = images >= groups;
    const Steps inner = alongImages ? ofImage : ofGroup;
    const Steps outer = alongImages ? ofGroup : ofImage;
    product.batches = alongImages ? images : groups;
    product.a.batchStride = inner.a;
    product.b.batchStride = inner.b;
    product.cBatchStride = inner.c;
    for (std::int64_t i = 0; i < (alongImages ? groups : images); ++i) {
        multiply(queue, product);
        product.a.data = at(product.a.data, outer.a, product.dtype);
        product.b.data = at(product.b.data, outer.b, product.dtype);
        product.c = const_cast<void*>(at(product.c, outer.c, product.result));
    }
}

void addConvolutionKernels(KernelMap& table) {
    add(table, "Conv", convKernel);
    add(table, "ConvTranspose", convTransposeKernel);
    add(table, "ConvWeightGrad", convWeightGradKernel);
}

} // namespace twb::cuda
