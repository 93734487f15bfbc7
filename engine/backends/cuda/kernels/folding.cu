#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/unfold.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/image_between.h"
#include "ops/kernel_inputs.h"
#include "ops/sliding_window.h"

#include <algorithm>
#include <type_traits>

namespace twb::cuda {
namespace {

void col2ImKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const Window window =
        slidingWindow(call.attributes, out.shape, hostIntegers(call.context(), 2, "block_shape").value());
    const DenseView columns(call.queue, call.inputs[0]);
    const Strides steps = denseStrides(out.shape);
    withWrapping(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t total = out.elementCount();
        withWindow(window, steps.data() + 2, [&](const auto& slide) {
            forEach(call.queue, total,
                    Fold<T, T, std::decay_t<decltype(slide)>>{slide, columns.as<T>(), nullptr, 0, out.as<T>(),
                                                              Divide(out.shape[1], total),
                                                              Divide(window.inCount(), total)});
        });
    });
}

// DeformConv

/// The columns of Unfold, for windows whose taps are displaced.
template <class T> struct UnfoldDeformed {
    using W = Wide<T>;
    WindowAxis down, across;
    const T *x, *offset, *mask; ///< mask null: none
    W* columns;
    Divide places, taps, channels, ofOffsetGroup;
    std::int64_t firstImage;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = places(i);
        const std::int64_t p = i - row * places.divisor();
        const std::int64_t plane = taps(row); // among the images unfolded together
        const std::int64_t tap = row - plane * taps.divisor();
        const std::int64_t image = channels(plane);
        const std::int64_t channel = plane - image * channels.divisor();
        const std::int64_t groups = channels.divisor() / ofOffsetGroup.divisor();
        const std::int64_t which =
            ((firstImage + image) * groups + ofOffsetGroup(channel)) * taps.divisor() + tap;
        const T* const shift = offset + which * 2 * places.divisor() + p;
        const auto top =
            static_cast<double>(down.start(p / across.out) + tap / across.kernel * down.dilation);
        const auto left =
            static_cast<double>(across.start(p % across.out) + tap % across.kernel * across.dilation);
        const auto value =
            imageBetween<Wide<T>>(x + (firstImage * channels.divisor() + plane) * down.in * across.in,
                                  down.in, across.in, top + static_cast<double>(widened(shift[0])),
                                  left + static_cast<double>(widened(shift[places.divisor()])));
        columns[i] = mask ? widened(mask[which * places.divisor() + p]) * value : value;
    }
};

void deformConvKernel(const KernelCall& call) {
    const TensorView& y = call.outputs[0];
    if (y.elementCount() == 0) return;
    const DenseView x(call.queue, call.inputs[0]);
    // Interpolation keeps its precision: f16 and bf16 are computed in f32.
    const DType between = isHalfWidth(y.dtype) ? DType::f32 : y.dtype;
    const ConvertedView w(call.queue, between, call.inputs[1]);
    const ConvertedView bias(call.queue, between, call.input(3));
    const Scratch memory(call.queue,
                         between == y.dtype ? 0 : static_cast<std::size_t>(y.shape.byteCount(between)));
    const TensorView sums{memory.data() ? memory.data() : y.data, between, y.shape, denseStrides(y.shape)};
    const DenseView offset(call.queue, call.inputs[2]);
    const DenseView mask(call.queue, call.input(4));
    const Window window = slidingWindow(call.attributes, x.shape(), spatialSizes(w.view().shape));
    const std::int64_t groups = call.attributes.integer("group");
    const std::int64_t channels = x.shape()[1];
    const std::int64_t results = y.shape[1];
    const std::int64_t taps = window.tapCount();
    const std::int64_t places = window.outCount();
    const std::int64_t depth = channels / groups * taps;
    const std::int64_t ofImage = channels * taps * places;
    Product product;
    product.dtype = product.result = between;
    product.m = results / groups;
    product.n = places;
    product.k = depth;
    product.cStride = places;
    product.beta = fillWithBias(call.queue, bias.view(), sums) ? 1 : 0;
    const std::int64_t images = imagesAtATime(ofImage, y.shape[0], between);
    const Scratch columns(call.queue, static_cast<std::size_t>(images * ofImage) * sizeOf(between));
    for (std::int64_t first = 0; first < y.shape[0]; first += images) {
        const std::int64_t count = std::min(images, y.shape[0] - first);
        const std::int64_t total = count * ofImage;
        withStoredFloat(y.dtype, [&](auto zero) {
            using T = decltype(zero);
            forEach(call.queue, total,
                    UnfoldDeformed<T>{window.axes[0], window.axes[1], x.as<T>(), offset.as<T>(), mask.as<T>(),
                                      columns.as<Wide<T>>(), Divide(places, total), Divide(taps, total),
                                      Divide(channels, total),
                                      Divide(channels / call.attributes.integer("offset_group"), total),
                                      first});
        });
        product.a = {w.view().data, depth, false, 0};
        product.b = {columns.data(), places, false, 0};
        product.c = const_cast<void*>(at(sums.data, first * results * places, between));
        multiplyAll(call.queue, product, groups,
                    {results / groups * depth, depth * places, results / groups * places}, count,
                    {0, ofImage, results * places});
    }
    if (memory.data()) convertView(call.queue, sums, y);
}

} // namespace

void addFoldingKernels(KernelMap& table) {
    add(table, "Col2Im", col2ImKernel);
    add(table, "DeformConv", deformConvKernel);
}

} // namespace twb::cuda
