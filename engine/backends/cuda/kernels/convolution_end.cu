#include "backends/cuda/kernels/convolution_end.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/activation_functions.h"

#include <type_traits>

namespace twb::cuda {
namespace {

/// Handles V adjacent elements of y, all of one channel.
template <class T, int V, class F> struct EndChannels {
    T* y;
    const T *bias, *other; ///< null: none
    Divide spatial, channels;
    F f;

    TWB_HOST_DEVICE void operator()(std::int64_t pack) const {
        using W = Wide<T>;
        const std::int64_t first = pack * V;
        const std::int64_t plane = spatial(first);
        const W added = bias ? W(widened(bias[plane - channels(plane) * channels.divisor()])) : W(0);
        Pack<T, V> values = loadPack<T, V>(y + first, 1);
        Pack<T, V> others = values;
        if (other) others = loadPack<T, V>(other + first, 1);
        for (int v = 0; v < V; ++v) {
            W value = widened(values.values[v]);
            if (bias) value += added;
            if (other) value += widened(others.values[v]);
            values.values[v] = stored<T>(f(value));
        }
        storePack<T, V>(y + first, 1, values);
    }
};

template <class T, class F>
void endChannels(Queue& queue, const TensorView& bias, const TensorView& other, const F& f,
                 const TensorView& y) {
    const std::int64_t total = y.elementCount();
    const std::int64_t planes = y.shape[0] * y.shape[1];
    const std::int64_t spatial = total / planes;
    const Divide bySpatial(spatial, total);
    const Divide byChannels(y.shape[1], planes);
    const auto run = [&](auto width) {
        constexpr int V = width;
        forEach(queue, total / V,
                EndChannels<T, V, F>{y.as<T>(), bias.as<const T>(), other.as<const T>(), bySpatial,
                                     byChannels, f});
    };
    constexpr int pack = kPackOf<T>;
    if (spatial % pack == 0)
        run(std::integral_constant<int, pack>());
    else
        run(std::integral_constant<int, 1>());
}

} // namespace

void endConvolution(Queue& queue, const TensorView& bias, const ConvolutionEnd& end, const TensorView& y) {
    if (y.elementCount() == 0 || (!bias.data && !end.other.data && end.activation == Activation::none))
        return;
    const DenseView biases(queue, bias);
    const DenseView other(queue, end.other);
    withStoredFloat(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto run = [&](const auto& f) { endChannels<T>(queue, biases.view(), other.view(), f, y); };
        switch (end.activation) {
        case Activation::none:
            return run(element::Same{});
        case Activation::relu:
            return run(element::Relu{});
        case Activation::geluTanh:
            return run(element::GeluTanh{});
        }
    });
}

} // namespace twb::cuda
