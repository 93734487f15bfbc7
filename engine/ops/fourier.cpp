#include "backends/cpu/parallel.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/fourier_plan.h"
#include "ops/host_number.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace twb {
namespace {

/// The longest supported transform; longer ones would overflow the size computations.
constexpr double kLongest = 0x1p40;

template <class Refuse> std::int64_t lengthFrom(double value, const char* what, const Refuse& refuse) {
    if (!(value >= 1) || value > kLongest || value != std::floor(value))
        refuse(fmt::format("{} must be an integer of at least 1, but is {}", what, value));
    return static_cast<std::int64_t>(value);
}

[[noreturn]] void throwSentence(const std::string& sentence) {
    throw Error(ErrorCode::invalidArgument, sentence);
}

/// The length of a transform of `size` numbers without dft_length.
std::int64_t usualLength(std::int64_t size, bool toReal) {
    if (!toReal || size == kUnknownDim) return size;
    return 2 * std::max<std::int64_t>(size - 1, 0);
}

std::int64_t binsOf(std::int64_t length, bool oneSided) {
    return length == kUnknownDim || !oneSided ? length : length / 2 + 1;
}

/// The inverse of the one-sided transform: from the first half of a spectrum, whose other half is its mirror
/// image, to real numbers.
bool isToReal(const Attributes& attributes) {
    return attributes.flag("onesided") && attributes.has("inverse") && attributes.flag("inverse");
}

/// The last axis has size 1 for real and 2 for complex numbers.
void checkNumbers(const InferContext& ctx, const Shape& shape) {
    const std::int64_t parts = shape[shape.rank() - 1];
    if (parts != 1 && parts != 2 && parts != kUnknownDim)
        ctx.fail("shape-mismatch", 0,
                 fmt::format(
                     "{} needs a last dimension of 1 (real) or 2 (complex), but the input has the shape {}",
                     ctx.op().name, shape.toTorchString()));
    const bool toReal = isToReal(ctx.attributes());
    if (parts == 2 && ctx.attributes().flag("onesided") && !toReal)
        ctx.fail(
            "attribute", -1,
            fmt::format("{} of complex numbers has no symmetric half: clear \"onesided\"", ctx.op().name));
    if (parts == 1 && toReal)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("the one-sided inverse {0} needs complex numbers, but the input has the shape "
                             "{1}; give it a last dimension of 2",
                             ctx.op().name, shape.toTorchString()));
}

void inferDft(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const int rank = x.shape.rank();
    if (rank < 2)
        ctx.fail("shape-mismatch", 0,
                 fmt::format(
                     "DFT needs a signal axis and a last axis of size 1 or 2, but the input has the shape {}",
                     x.shape.toTorchString()));
    checkNumbers(ctx, x.shape);
    const bool toReal = isToReal(ctx.attributes());
    const bool oneSided = ctx.attributes().flag("onesided") && !toReal;
    const auto refuse = [&](const std::string& sentence) {
        ctx.fail(ctx.input(1) ? "shape-mismatch" : "attribute", ctx.input(1) ? 1 : -1, sentence);
    };
    std::optional<std::int64_t> length;
    if (const auto known = knownNumber(ctx, 1)) length = lengthFrom(*known, "dft_length", refuse);
    std::vector<std::int64_t> dims = x.shape.dims();
    dims.back() = toReal ? 1 : 2;
    if (const auto given = knownNumber(ctx, 2)) {
        const int port = ctx.input(2) ? 2 : -1;
        const int axis = axisOrFail(ctx, element::cast<std::int64_t>(*given), rank, port);
        if (axis == rank - 1)
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     "the last dimension of DFT's input holds real and imaginary parts; choose another axis");
        auto& size = dims[static_cast<std::size_t>(axis)];
        if (ctx.isDeferred(1))
            size = kUnknownDim;
        else
            size = binsOf(length.value_or(usualLength(size, toReal)), oneSided);
        if (size == 0)
            ctx.fail("shape-mismatch", 0,
                     fmt::format("Invalid number of data points (0) along dimension {}", axis));
    } else {
        for (int i = 0; i < rank - 1; ++i) dims[static_cast<std::size_t>(i)] = kUnknownDim;
    }
    ctx.output(0, {x.dtype, Shape(std::move(dims))});
}

/// Transforms `count` signals: read(n, k) returns element k of signal n; write(n, k, value) stores bin k.
template <class Read, class Write>
void transformAll(const FourierPlan& plan, std::int64_t count, std::int64_t bins, const Read& read,
                  const Write& write) {
    parallelRanges(count, count * plan.work(), 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::complex<double>> data(static_cast<std::size_t>(plan.length()));
        std::vector<std::complex<double>> scratch;
        for (std::int64_t n = begin; n < end; ++n) {
            for (std::int64_t k = 0; k < plan.length(); ++k) data[static_cast<std::size_t>(k)] = read(n, k);
            plan.run(data.data(), scratch);
            for (std::int64_t k = 0; k < bins; ++k) write(n, k, data[static_cast<std::size_t>(k)]);
        }
    });
}

/// Element i of dense real or complex numbers.
struct Numbers {
    const double* data;
    std::int64_t parts;
    std::complex<double> operator()(std::int64_t i) const {
        return {data[i * parts], parts == 2 ? data[i * parts + 1] : 0};
    }
};

void dftKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    Tensor keep;
    const TensorView in = denseAs(DType::f64, ctx.inputs[0], keep);
    const int rank = in.shape.rank();
    const auto normal =
        normalizeAxis(element::cast<std::int64_t>(hostNumberOf(ctx, 2, "axis").value_or(-2)), rank);
    if (!normal || *normal == rank - 1) throwSentence("DFT: the axis is not a dimension of the signal");
    const int axis = *normal;
    const std::int64_t size = in.shape[axis];
    const bool toReal = isToReal(ctx.attributes);
    const std::int64_t length = lengthFrom(
        hostNumberOf(ctx, 1, "dft_length").value_or(static_cast<double>(usualLength(size, toReal))),
        "dft_length", throwSentence);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < rank - 1; ++i) inner *= in.shape[i];
    const std::int64_t bins = out.shape[axis];
    const std::int64_t count = out.elementCount() / (bins * out.shape[rank - 1]);
    if (bins > length) throwSentence("DFT: dft_length has changed since the size of the result was computed");
    const FourierPlan plan(length, ctx.attributes.flag("inverse"));
    const Numbers numbers{in.as<const double>(), in.shape[rank - 1]};
    const auto place = [inner](std::int64_t n, std::int64_t k, std::int64_t along) {
        return (n / inner * along + k) * inner + n % inner;
    };
    const auto given = [&](std::int64_t n, std::int64_t k) {
        return k < size ? numbers(place(n, k, size)) : std::complex<double>{};
    };
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const y = out.as<T>();
        if (toReal)
            return transformAll(
                plan, count, bins,
                [&](std::int64_t n, std::int64_t k) {
                    return k > length / 2 ? std::conj(given(n, length - k)) : given(n, k);
                },
                [&](std::int64_t n, std::int64_t k, std::complex<double> value) {
                    y[place(n, k, bins)] = static_cast<T>(value.real());
                });
        transformAll(plan, count, bins, given,
                     [&](std::int64_t n, std::int64_t k, std::complex<double> value) {
                         y[2 * place(n, k, bins)] = static_cast<T>(value.real());
                         y[2 * place(n, k, bins) + 1] = static_cast<T>(value.imag());
                     });
    });
}

/// The matrix of the DFT is symmetric, so the gradient is the transform of the output's gradient in the
/// opposite direction, rescaled. Bins that the result leaves out and elements that the transform cuts off are
/// 0.
void dftGradient(GradientContext& g) {
    const Shape& in = g.input().shape();
    const auto given = static_cast<std::int64_t>(g.number(2).value_or(-2));
    const auto axis = static_cast<int>(given < 0 ? given + in.rank() : given);
    const bool toReal = isToReal(g.attributes());
    const auto length =
        static_cast<std::int64_t>(g.number(1).value_or(static_cast<double>(usualLength(in[axis], toReal))));
    const bool inverse = g.attributes().flag("inverse");
    GraphTensor dx = apply(
        "DFT", {g.gradient()},
        {{"axis", std::int64_t{axis}}, {"dft_length", length}, {"inverse", !inverse}, {"onesided", toReal}});
    // A bin and its mirror image are one input. Bin 0 and, for an even length, the middle bin have no mirror
    // image.
    if (toReal) {
        const GraphTensor k = progression(g, DType::i64, length / 2 + 1, 0, 1, in.rank() - 1 - axis);
        GraphTensor isTwice = k > 0;
        const std::int64_t middle = length / 2;
        if (length % 2 == 0) isTwice = apply("And", {isTwice, k < static_cast<double>(middle)});
        dx = where(isTwice, dx * 2, dx);
    }
    const std::int64_t known = dx.shape()[axis];
    dx = slice(dx, axis, 0, std::min(known, in[axis]));
    if (known < in[axis])
        dx = apply("Pad", {dx},
                   {{"axes", std::vector<std::int64_t>{axis}},
                    {"pads", std::vector<std::int64_t>{0, in[axis] - known}}});
    dx = slice(dx, in.rank() - 1, 0, in[in.rank() - 1]); // real numbers have no imaginary part
    const auto n = static_cast<double>(length);
    g.give(0, dx * (inverse ? 1 / n : n));
}

/// STFT by simpler ops: the frames, times the window, and their transforms.
std::vector<GraphTensor> stftOf(GradientContext& g) {
    const std::int64_t frames = g.output().shape()[1];
    const GraphTensor window = g.input(2);
    const std::int64_t frame = window ? window.shape()[0] : static_cast<std::int64_t>(*g.number(3));
    const GraphTensor at =
        progression(g, DType::i64, frames, 0, *g.number(1), 1) + progression(g, DType::i64, frame);
    GraphTensor parts = gather(g.input(0), at, 1);
    if (window) parts = parts * reshape(window, {frame, 1});
    return {
        apply("DFT", {parts}, {{"axis", std::int64_t{2}}, {"onesided", g.attributes().flag("onesided")}})};
}

/// The length of STFT's frames: frame_length or the length of the window.
std::optional<std::int64_t> frameLength(const InferContext& ctx) {
    const auto refuse = [&](const std::string& sentence) { ctx.fail("attribute", -1, sentence); };
    const TensorType* window = ctx.input(2);
    if (window && window->shape.rank() != 1)
        ctx.fail("shape-mismatch", 2,
                 fmt::format("expected a 1D window tensor, but got one of shape {}",
                             window->shape.toTorchString()));
    std::optional<std::int64_t> length;
    if (const auto known = knownNumber(ctx, 3)) length = lengthFrom(*known, "frame_length", refuse);
    if (ctx.isDeferred(3)) return std::nullopt;
    if (!window) {
        if (!length)
            ctx.fail("attribute", -1,
                     "STFT needs the length of its frames: set frame_length or connect a window");
        return length;
    }
    const std::int64_t size = window->shape[0];
    if (size == kUnknownDim) return length;
    if (size == 0) ctx.fail("shape-mismatch", 2, "the window must have at least one element");
    if (length && *length != size)
        ctx.fail("shape-mismatch", 2,
                 fmt::format("the window has {} elements, but frame_length is {}", size, *length));
    return size;
}

void inferStft(InferContext& ctx) {
    const TensorType& signal = *ctx.input(0);
    if (signal.shape.rank() != 3)
        ctx.fail("shape-mismatch", 0,
                 fmt::format(
                     "STFT needs a signal of shape (batch, length, 1 or 2), but the input has the shape {}",
                     signal.shape.toTorchString()));
    checkNumbers(ctx, signal.shape);
    const auto refuse = [&](const std::string& sentence) { ctx.fail("attribute", -1, sentence); };
    const auto frame = frameLength(ctx);
    std::optional<std::int64_t> step;
    if (const auto known = knownNumber(ctx, 1)) step = lengthFrom(*known, "frame_step", refuse);
    const std::int64_t length = signal.shape[1];
    std::int64_t frames = kUnknownDim;
    if (frame && length != kUnknownDim) {
        if (*frame > length)
            ctx.fail("shape-mismatch", 0,
                     fmt::format("expected 0 < n_fft <= {}, but got n_fft={}", length, *frame));
        if (step) frames = 1 + (length - *frame) / *step;
    }
    ctx.output(
        0, {signal.dtype, Shape{signal.shape[0], frames,
                                binsOf(frame.value_or(kUnknownDim), ctx.attributes().flag("onesided")), 2}});
}

void stftKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    Tensor keepSignal;
    Tensor keepWindow;
    const TensorView signal = denseAs(DType::f64, ctx.inputs[0], keepSignal);
    const double* window = nullptr;
    double length = hostNumberOf(ctx, 3, "frame_length").value_or(0);
    if (ctx.inputs.size() > 2 && ctx.inputs[2].data) {
        window = denseAs(DType::f64, ctx.inputs[2], keepWindow).as<const double>();
        length = static_cast<double>(ctx.inputs[2].elementCount());
    }
    const std::int64_t frame = lengthFrom(length, "frame_length", throwSentence);
    const std::int64_t step =
        lengthFrom(hostNumberOf(ctx, 1, "frame_step").value_or(0), "frame_step", throwSentence);
    const std::int64_t samples = signal.shape[1];
    const std::int64_t frames = out.shape[1];
    const std::int64_t bins = out.shape[2];
    if (frame > samples || (frames - 1) > (samples - frame) / step || bins > frame)
        throwSentence(
            "STFT: frame_step or frame_length has changed since the size of the result was computed");
    const FourierPlan plan(frame, false);
    const Numbers numbers{signal.as<const double>(), signal.shape[2]};
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const y = out.as<T>();
        transformAll(
            plan, out.shape[0] * frames, bins,
            [&](std::int64_t n, std::int64_t k) {
                const auto x = numbers(n / frames * samples + n % frames * step + k);
                return window ? x * window[k] : x;
            },
            [&](std::int64_t n, std::int64_t k, std::complex<double> value) {
                y[2 * (n * bins + k)] = static_cast<T>(value.real());
                y[2 * (n * bins + k) + 1] = static_cast<T>(value.imag());
            });
    });
}

/// 5 · N · log₂ N operations per transform of length N.
Cost fourierCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, double length) {
    return streamingCost(inputs, outputs, 2.5 * std::log2(std::max(length, 2.0)));
}

} // namespace

void addFourier(std::vector<Op>& table) {
    Op dft = makeOp("DFT", "Signal", 20, "Discrete Fourier transform along an axis",
                    "Yₖ = Σ Xₙ · e ^ (−2πi nk / N)");
    dft.inputs = {port("input", "self", kFloats, "T1"), hostNumber("dft_length", "n", kIndices),
                  hostNumber("axis", "dim", DTypeSet{DType::i64})};
    dft.outputs = {port("output", "", kFloats, "T1")};
    AttributeSpec length = integerAttribute("dft_length", 0,
                                            "Length to which the signal is cut or zero-padded; absent: the "
                                            "signal's length; for a one-sided inverse, the length of the "
                                            "real signal");
    length.defaultValue.reset();
    dft.attributes = {
        std::move(length),
        integerAttribute("axis", -2, "Axis to transform; the last axis holds real and imaginary parts"),
        flagAttribute("inverse", false, "Compute the inverse transform, divided by the length"),
        flagAttribute("onesided", false,
                      "For real numbers, compute only the half that is not a mirror image; with inverse, "
                      "compute real numbers from that half")};
    dft.tolerance = {1e-5, 1e-5};
    dft.infer = inferDft;
    dft.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) { return fourierCost(inputs, outputs, countOf(outputs[0].shape) / 2); };
    dft.kernel = viaFloat<dftKernel>;
    dft.gradient = dftGradient;
    table.push_back(std::move(dft));

    Op stft = makeOp("STFT", "Signal", 17, "Spectra of overlapping frames of a signal",
                     "Y = DFT(window · X[frame_step · i …])");
    stft.inputs = {port("signal", "self", kFloats, "T1"), hostNumber("frame_step", "hop_length", kIndices),
                   optionalPort("window", "window", kFloats, "T1"),
                   hostNumber("frame_length", "n_fft", kIndices)};
    stft.outputs = {port("output", "", kFloats, "T1")};
    AttributeSpec frame =
        integerAttribute("frame_length", 0, "Elements per frame; absent: the window's length");
    frame.defaultValue.reset();
    stft.attributes = {
        integerAttribute("frame_step", 1, "Elements between the starts of neighbouring frames"),
        std::move(frame),
        flagAttribute("onesided", true,
                      "For real numbers, compute only the half that is not a mirror image")};
    stft.tolerance = {1e-5, 1e-5};
    stft.infer = inferStft;
    stft.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) {
        const Shape& shape = outputs[0].shape;
        return fourierCost(inputs, outputs, static_cast<double>(shape[2]) * 2);
    };
    stft.kernel = viaFloat<stftKernel>;
    stft.gradient = [](GradientContext& g) { differentiate(g, stftOf); };
    table.push_back(std::move(stft));

    describe(table, "DFT", "input [n, d…, 1], or 2 if complex → output [n, d…, 2]", {operand({1, 8, 1})});
    describe(table, "STFT", "signal [n, t, 1] · window [frame_length] → output [n, frames, bins, 2]",
             {operand({1, 16, 1})}, {{"frame_step", std::int64_t{4}}, {"frame_length", std::int64_t{8}}});
}

} // namespace twb
