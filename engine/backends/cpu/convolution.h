#pragma once

#include "backends/cpu/packed_weights.h"
#include "backends/cpu/window.h"
#include "backends/kernel.h"

#include <memory>
#include <optional>
#include <string_view>

namespace twb {

/// The sizes of a convolution. x is batch × groups·inChannels × the window's input sizes, w is
/// groups·outChannels × inChannels × the window's kernel sizes, y is batch × groups·outChannels × the
/// window's output sizes. Tensors are dense and row-major unless stated otherwise. `inChannels` and
/// `outChannels` count the channels of one group.
struct Convolution {
    Window window;
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t inChannels = 1;
    std::int64_t outChannels = 1;
};

/// An activation at the end of a product.
enum class ProductActivation : std::uint8_t { none, gelu, geluTanh, swish, hardSwish, leakyRelu, relu, clip };

/// An activation with its parameters.
struct ProductEnding {
    ProductActivation activation = ProductActivation::none;
    float alpha = 0; ///< of swish and leakyRelu, the lower bound of clip
    float beta = 0;  ///< the upper bound of clip
};
/// The ending for an op; nothing if a product cannot end with it.
std::optional<ProductEnding> productEnding(std::string_view op, const Attributes& attributes);

/// y = ending(x · w + bias) for dense rows: x is rows × inner and y is rows × columns. w is inner × columns
/// with `stride` elements from row to row, or columns × inner if transposed.
struct WeightedProduct {
    std::int64_t rows = 1;
    std::int64_t inner = 1;
    std::int64_t columns = 1;
    std::int64_t stride = 1; ///< elements from one row of w in memory to the next
    bool transposed = false; ///< w is columns × inner
    ProductEnding ending{};
};

/// y = ending(w * x + bias + added), where * is the convolution, in f32, or in bf16 with f32 sums. An object
/// is made once for the sizes and layouts of a step's tensors. Calls of run() must not overlap.
class NativeConvolution : public KernelState {
public:
    /// The tensors of a step; bias and added may be without data.
    struct Tensors {
        TensorView x, bias, added, y;
        bool constantWeights = false; ///< w holds the same elements at every run, so its packed form is kept
    };
    /// x and y are row-major or channels-last, and y may be a part of the channels of a channels-last tensor,
    /// which some kernels write; w and bias are dense. `added` has y's shape; it and the
    /// ending are for f32. Null if there is no suitable kernel for this machine.
    static std::unique_ptr<NativeConvolution> make(const Convolution& sizes, const Tensors& tensors,
                                                   const ProductEnding& ending);
    /// A product in f32 with constant weights. Null as above.
    static std::unique_ptr<NativeConvolution> make(const WeightedProduct& sizes);

    /// The addresses of the elements; `added` is not y.
    struct Data {
        const void* x = nullptr;
        const void* w = nullptr;
        /// Gives w where its packed form does not suffice; null: w stays in memory.
        const PackedWeights* weights = nullptr;
        const void* bias = nullptr;
        const void* added = nullptr;
        void* y = nullptr;
    };
    /// Returns false if y is w * x + bias only: the kernel does not have the rest, or the tensors have a NaN
    /// or an infinity that it would lose or spread.
    virtual bool run(const Data& data) = 0;
    /// Whether later runs read w only through Data::weights.
    virtual bool hasPackedWeights() const = 0;
    /// The same as run(), also if w is not in memory any more: it is loaded for this call.
    bool runLoaded(Data data);
};

/// The state of a step with a product: its packed form and, in a chain, what follows the product.
struct ProductState final : KernelState {
    std::unique_ptr<NativeConvolution> product; ///< null until the first launch
    /// Set by the run of a plan if w need not stay in memory once it is packed; else null.
    std::shared_ptr<PackedWeights> weights;
    /// What the chain adds: a row to a matrix, a tensor of its shape to a convolution's result. Without data:
    /// nothing.
    TensorView added;
    ProductEnding ending;
    // Set by a launch: what its result has already.
    bool hasAdded = false;
    bool isEnded = false;

    /// Runs `product`, sets isEnded, and releases `weights` once they are packed.
    void run(NativeConvolution::Data data);

private:
    bool m_isReleased = false;
};

/// y = w * x + bias by unfolding x and multiplying; bias may be null.
void convolve(const Convolution& sizes, const float* x, const float* w, const float* bias, float* y);
void convolve(const Convolution& sizes, const double* x, const double* w, const double* bias, double* y);
/// With wrapping arithmetic.
void convolve(const Convolution& sizes, const std::int32_t* x, const std::int32_t* w, std::int32_t* y);

/// The transposed convolution: x has the sizes of y above, and the result has those of x. w is
/// groups·outChannels × inChannels × taps; the bias has one value per channel of the result. float uses
/// oneDNN if it has a primitive for the sizes.
void convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y);
void convolveTransposed(const Convolution& sizes, const double* x, const double* w, const double* bias,
                        double* y);

/// The gradient of w, from x and the gradient of y. float uses oneDNN if it has a primitive for the sizes.
void convolutionWeights(const Convolution& sizes, const float* x, const float* dy, float* dw);
void convolutionWeights(const Convolution& sizes, const double* x, const double* dy, double* dw);

} // namespace twb
