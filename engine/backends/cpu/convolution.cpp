#include "backends/cpu/convolution.h"

#include "backends/cpu/channels_last_convolution.h"
#include "backends/cpu/direct_convolution.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/packed_product.h"
#include "backends/cpu/winograd.h"

#include <limits>
#include <type_traits>

namespace twb {
namespace {

/// A window of one element with stride 1 unfolds into the input itself.
bool unfoldsToItself(const Window& window) {
    return std::all_of(window.axes.begin(), window.axes.end(), [](const WindowAxis& axis) {
        return axis.kernel == 1 && axis.stride == 1 && axis.padBegin == 0 && axis.padEnd == 0;
    });
}

template <class T> DType dtypeOf() { return DTypeOf<T>::value; }

template <class T> void addBias(const Convolution& s, const T* bias, std::int64_t channels, T* y) {
    const std::int64_t plane = s.window.outCount();
    parallelRanges(channels, channels * plane, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c)
            for (std::int64_t i = 0; i < plane; ++i) y[c * plane + i] += bias[c];
    });
}

template <class T>
void convolveByUnfolding(const Convolution& s, const T* x, const T* w, const T* bias, T* y) {
    const std::int64_t in = s.window.inCount();
    const std::int64_t out = s.window.outCount();
    const std::int64_t depth = s.inChannels * s.window.tapCount();
    const bool direct = unfoldsToItself(s.window);
    const Tensor columns = Tensor::onHost({dtypeOf<T>(), Shape{direct ? 0 : depth * out}});
    T* const unfolded = static_cast<T*>(columns.data());
    for (std::int64_t n = 0; n < s.batch; ++n) {
        for (std::int64_t g = 0; g < s.groups; ++g) {
            const T* const planes = x + (n * s.groups + g) * s.inChannels * in;
            if (!direct) unfold(s.window, s.inChannels, planes, unfolded);
            gemm<T>(s.outChannels, out, depth, T{1}, {w + g * s.outChannels * depth, depth, false},
                    {direct ? planes : unfolded, out, false}, T{0},
                    y + (n * s.groups + g) * s.outChannels * out, out);
        }
        if (bias) addBias(s, bias, s.groups * s.outChannels, y + n * s.groups * s.outChannels * out);
    }
}

template <class T>
void transposedByFolding(const Convolution& s, const T* x, const T* w, const T* bias, T* y) {
    const std::int64_t in = s.window.inCount();
    const std::int64_t out = s.window.outCount();
    const std::int64_t depth = s.inChannels * s.window.tapCount();
    const Tensor columns = Tensor::onHost({dtypeOf<T>(), Shape{depth * out}});
    T* const unfolded = static_cast<T*>(columns.data());
    for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t g = 0; g < s.groups; ++g) {
            T* const planes = y + (n * s.groups + g) * s.inChannels * in;
            for (std::int64_t c = 0; c < s.inChannels; ++c)
                std::fill_n(planes + c * in, in, bias ? bias[g * s.inChannels + c] : T{0});
            if (out == 0 || s.outChannels == 0) continue;
            gemm<T>(depth, out, s.outChannels, T{1}, {w + g * s.outChannels * depth, depth, true},
                    {x + (n * s.groups + g) * s.outChannels * out, out, false}, T{0}, unfolded, out);
            foldOnto(s.window, s.inChannels, unfolded, planes);
        }
}

template <class T> void weightsByUnfolding(const Convolution& s, const T* x, const T* dy, T* dw) {
    const std::int64_t in = s.window.inCount();
    const std::int64_t out = s.window.outCount();
    const std::int64_t depth = s.inChannels * s.window.tapCount();
    std::fill_n(dw, s.groups * s.outChannels * depth, T{0});
    if (out == 0) return;
    const bool direct = unfoldsToItself(s.window);
    const Tensor columns = Tensor::onHost({dtypeOf<T>(), Shape{direct ? 0 : depth * out}});
    T* const unfolded = static_cast<T*>(columns.data());
    for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t g = 0; g < s.groups; ++g) {
            const T* const planes = x + (n * s.groups + g) * s.inChannels * in;
            if (!direct) unfold(s.window, s.inChannels, planes, unfolded);
            gemm<T>(s.outChannels, depth, out, T{1},
                    {dy + (n * s.groups + g) * s.outChannels * out, out, false},
                    {direct ? planes : unfolded, out, true}, T{1}, dw + g * s.outChannels * depth, depth);
        }
}

/// Empty products do not need a library.
bool isEmpty(const Convolution& s) {
    return s.batch * s.groups * s.inChannels * s.outChannels == 0 || s.window.inCount() == 0 ||
           s.window.outCount() == 0;
}

} // namespace

std::unique_ptr<NativeConvolution> NativeConvolution::make(const Convolution& s, const Tensors& tensors,
                                                           const ProductEnding& ending) {
    if (isEmpty(s)) return nullptr;
    if (auto made = makeWinograd(s, tensors, ending)) return made;
    if (auto made = makeDirect(s, tensors, ending)) return made;
    if (!isDense(tensors.y) && !isChannelsLast(tensors.y)) return nullptr;
    if (auto made = makeChannelsLast(s, tensors, ending)) return made;
    return onednn::makeConvolution(s, tensors, ending);
}

std::optional<ProductEnding> productEnding(std::string_view op, const Attributes& attributes) {
    using enum ProductActivation;
    if (op == "Gelu") return ProductEnding{attributes.text("approximate") == "tanh" ? geluTanh : gelu};
    if (op == "Swish") return ProductEnding{swish, static_cast<float>(attributes.number("alpha"))};
    if (op == "HardSwish") return ProductEnding{hardSwish};
    if (op == "Relu") return ProductEnding{relu};
    if (op == "Clip") {
        constexpr double infinite = std::numeric_limits<double>::infinity();
        const double least = attributes.has("min") ? attributes.number("min") : -infinite;
        const double most = attributes.has("max") ? attributes.number("max") : infinite;
        if (!(least <= most)) return std::nullopt;
        return ProductEnding{clip, static_cast<float>(least), static_cast<float>(most)};
    }
    // With 0, oneDNN uses its Relu.
    const bool leaks = op == "LeakyRelu" && static_cast<float>(attributes.number("alpha")) != 0;
    if (leaks) return ProductEnding{leakyRelu, static_cast<float>(attributes.number("alpha"))};
    return std::nullopt;
}

std::unique_ptr<NativeConvolution> NativeConvolution::make(const WeightedProduct& s) {
    const bool isEmpty = s.rows < 1 || s.inner < 1 || s.columns < 1;
    return isEmpty || !panelKernels() ? nullptr : makePackedProduct(s, *panelKernels());
}

bool NativeConvolution::runLoaded(Data data) {
    Tensor loaded;
    if (data.weights && !hasPackedWeights()) {
        loaded = data.weights->tensor();
        data.w = loaded.data();
    }
    return run(data);
}

void ProductState::run(NativeConvolution::Data data) {
    data.weights = weights.get();
    isEnded = product->run(data);
    if (!weights || m_isReleased || !product->hasPackedWeights()) return;
    m_isReleased = true;
    weights->packed();
}

void convolve(const Convolution& s, const float* x, const float* w, const float* bias, float* y) {
    convolveByUnfolding(s, x, w, bias, y);
}

void convolve(const Convolution& s, const double* x, const double* w, const double* bias, double* y) {
    convolveByUnfolding(s, x, w, bias, y);
}

void convolve(const Convolution& s, const std::int32_t* x, const std::int32_t* w, std::int32_t* y) {
    convolveByUnfolding<std::int32_t>(s, x, w, nullptr, y);
}

void convolveTransposed(const Convolution& s, const float* x, const float* w, const float* bias, float* y) {
    if (!isEmpty(s) && onednn::convolveTransposed(s, x, w, bias, y)) return;
    transposedByFolding(s, x, w, bias, y);
}

void convolveTransposed(const Convolution& s, const double* x, const double* w, const double* bias,
                        double* y) {
    transposedByFolding(s, x, w, bias, y);
}

void convolutionWeights(const Convolution& s, const float* x, const float* dy, float* dw) {
    if (!isEmpty(s) && onednn::convolutionWeights(s, x, dy, dw)) return;
    weightsByUnfolding(s, x, dy, dw);
}

void convolutionWeights(const Convolution& s, const double* x, const double* dy, double* dw) {
    weightsByUnfolding(s, x, dy, dw);
}

} // namespace twb
