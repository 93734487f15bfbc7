#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/window.h"
#include "ops/sliding_window.h"

#include <cmath>

namespace twb::cuda {
namespace {

/// A scale or a zero point: one number, or one per channel.
template <class T> struct PerChannel {
    const T* values; ///< null: `otherwise`
    bool isOne;
    T otherwise;

    PerChannel(const ConvertedView& given, T standard)
        : values(given ? given.as<T>() : nullptr), isOne(!given || given.view().elementCount() == 1),
          otherwise(standard) {}
    TWB_HOST_DEVICE T operator[](std::int64_t channel) const {
        return values ? values[isOne ? 0 : channel] : otherwise;
    }
};

/// A convolution of bytes minus their zero points; sums have 32 bits and wrap around.
struct SumBytes {
    SlidingWindow window; ///< over dense planes
    const std::int32_t *x, *w;
    PerChannel<std::int32_t> zeroX, zeroW;
    std::int64_t channels, channelsOfGroup, results, resultsOfGroup;

    TWB_HOST_DEVICE std::int32_t at(std::int64_t i) const {
        const std::int64_t plane = i / window.outCount;
        const std::int64_t result = plane % results;
        const std::int64_t first = plane / results * channels + result / resultsOfGroup * channelsOfGroup;
        const auto place = window.placeOf(i - plane * window.outCount, &WindowAxis::out);
        const std::int32_t ofX = zeroX[0];
        const std::int32_t ofW = zeroW[result];
        std::uint32_t sum = 0;
        for (std::int64_t t = 0; t < window.tapCount; ++t) {
            const auto tap = window.placeOf(t, &WindowAxis::kernel);
            std::int64_t offset = 0;
            std::int64_t planeSize = 1;
            bool isInside = true;
            for (int a = 0; a < window.rank; ++a) {
                const WindowAxis& axis = window.axes[a];
                const std::int64_t index = axis.start(place[a]) + tap[a] * axis.dilation;
                isInside = isInside && index >= 0 && index < axis.in;
                offset += index * window.strides[a];
                planeSize *= axis.in;
            }
            if (!isInside) continue;
            for (std::int64_t c = 0; c < channelsOfGroup; ++c) {
                const std::int32_t factor = w[(result * channelsOfGroup + c) * window.tapCount + t] - ofW;
                const std::int32_t value = x[(first + c) * planeSize + offset] - ofX;
                sum += static_cast<std::uint32_t>(factor) * static_cast<std::uint32_t>(value);
            }
        }
        return static_cast<std::int32_t>(sum);
    }
};

/// The operands of one launch.
class Operands {
public:
    Operands(const KernelCall& call, std::size_t x, std::size_t zeroX, std::size_t w, std::size_t zeroW)
        : m_x(call.queue, DType::i32, call.inputs[x]), m_w(call.queue, DType::i32, call.inputs[w]),
          m_zeroX(call.queue, DType::i32, call.input(zeroX)),
          m_zeroW(call.queue, DType::i32, call.input(zeroW)), m_sums(sumsOf(call.attributes)) {}
    const SumBytes& sums() const { return m_sums; }

private:
    SumBytes sumsOf(const Attributes& attributes) const {
        const Shape& in = m_x.view().shape;
        const Shape& weight = m_w.view().shape;
        const Window window = slidingWindow(attributes, in, spatialSizes(weight));
        const Strides steps = denseStrides(in);
        return {SlidingWindow(window, steps.data() + 2),
                m_x.as<std::int32_t>(),
                m_w.as<std::int32_t>(),
                {m_zeroX, 0},
                {m_zeroW, 0},
                in[1],
                weight[1],
                weight[0],
                weight[0] / attributes.integer("group")};
    }

    const ConvertedView m_x, m_w, m_zeroX, m_zeroW;
    const SumBytes m_sums;
};

struct StoreSums {
    SumBytes sums;
    std::int32_t* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = sums.at(i); }
};

void convIntegerKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const Operands operands(call, 0, 2, 1, 3);
    forEach(call.queue, out.elementCount(), StoreSums{operands.sums(), out.as<std::int32_t>()});
}

template <class T> struct StoreQuantized {
    SumBytes sums;
    PerChannel<float> scaleX, scaleW, scaleY;
    PerChannel<std::int32_t> zeroY, bias;
    T* out;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t channel = i / sums.window.outCount % sums.results;
        // In f32 like ONNX's reference: the precision decides how a result halfway between two integers is
        // rounded.
        const float factor = scaleX[0] * scaleW[channel] / scaleY[0];
        const auto sum = static_cast<float>(std::int64_t{sums.at(i)} + bias[channel]);
        const double value = static_cast<double>(std::nearbyint(sum * factor)) + zeroY[0];
        out[i] = element::cast<T>(value);
    }
};

void qLinearConvKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const Operands operands(call, 0, 2, 3, 5);
    Queue& queue = call.queue;
    const ConvertedView scaleX(queue, DType::f32, call.inputs[1]);
    const ConvertedView scaleW(queue, DType::f32, call.inputs[4]);
    const ConvertedView scaleY(queue, DType::f32, call.inputs[6]);
    const ConvertedView zeroY(queue, DType::i32, call.inputs[7]);
    const ConvertedView bias(queue, DType::i32, call.input(8));
    const auto store = [&](auto none) {
        using T = decltype(none);
        forEach(
            queue, out.elementCount(),
            StoreQuantized<T>{
                operands.sums(), {scaleX, 1}, {scaleW, 1}, {scaleY, 1}, {zeroY, 0}, {bias, 0}, out.as<T>()});
    };
    if (out.dtype == DType::i8)
        store(std::int8_t{});
    else
        store(std::uint8_t{});
}

} // namespace

void addIntegerConvolutionKernels(KernelMap& table) {
    add(table, "ConvInteger", convIntegerKernel);
    add(table, "QLinearConv", qLinearConvKernel);
}

} // namespace twb::cuda
