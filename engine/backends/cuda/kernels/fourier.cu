#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/walk.h"
#include "core/error.h"
#include "ops/host_number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace twb::cuda {
namespace {

// Transforms many signals at once, in double, by the methods of ops/fourier_plan.h, with one kernel per round
// of Cooley and Tukey's method.

struct Complex {
    double real, imaginary;
    TWB_HOST_DEVICE Complex conjugate() const { return {real, -imaginary}; }
    TWB_HOST_DEVICE Complex scaled(double by) const { return {real * by, imaginary * by}; }
};
TWB_HOST_DEVICE inline Complex operator+(Complex a, Complex b) {
    return {a.real + b.real, a.imaginary + b.imaginary};
}
TWB_HOST_DEVICE inline Complex operator-(Complex a, Complex b) {
    return {a.real - b.real, a.imaginary - b.imaginary};
}
TWB_HOST_DEVICE inline Complex operator*(Complex a, Complex b) {
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

TWB_HOST_DEVICE inline Complex rootOfUnity(double turns) {
    const double angle = -6.28318530717958647693 * turns;
    return {std::cos(angle), std::sin(angle)};
}

/// The bit-reversed index of element `i`: its position before the first round.
TWB_HOST_DEVICE inline std::int64_t reversed(std::int64_t i, int bits) {
    std::int64_t out = 0;
    TWB_ROLLED
    for (int bit = 0; bit < bits; ++bit, i >>= 1) out = out * 2 + (i & 1);
    return out;
}

/// e ^ (−2πi k / size).
struct MakeRoots {
    Complex* roots;
    std::int64_t size;
    TWB_HOST_DEVICE void operator()(std::int64_t k) const {
        roots[k] = rootOfUnity(static_cast<double>(k) / static_cast<double>(size));
    }
};

struct Clear {
    Complex* data;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { data[i] = {0, 0}; }
};

/// e ^ (−πi n² / length), and its conjugate at n and size − n of the filter.
struct MakeChirp {
    Complex *chirp, *filter;
    std::int64_t length, size;
    int bits;
    TWB_HOST_DEVICE void operator()(std::int64_t n) const {
        // n² mod 2N, which keeps the angle small and therefore precise.
        const auto square = static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n) %
                            static_cast<std::uint64_t>(2 * length);
        chirp[n] = rootOfUnity(static_cast<double>(square) / static_cast<double>(2 * length));
        filter[reversed(n, bits)] = chirp[n].conjugate();
        if (n > 0) filter[reversed(size - n, bits)] = chirp[n].conjugate();
    }
};

/// One round on all signals: pairs of blocks are combined.
struct Butterfly {
    Complex* data;
    const Complex* roots;
    std::int64_t size, half;
    bool conjugated;
    TWB_HOST_DEVICE void operator()(std::int64_t pair) const {
        const std::int64_t k = pair % half;
        const std::int64_t at = pair / half * 2 * half + k;
        const Complex root = roots[k * (size / (2 * half))];
        const Complex odd = (conjugated ? root.conjugate() : root) * data[at + half];
        const Complex even = data[at];
        data[at] = even + odd;
        data[at + half] = even - odd;
    }
};

/// Element k of signal n.
struct Signals {
    const double *data, *window; ///< window null: all 1
    std::int64_t parts;          ///< per number: 1 (real) or 2 (complex)
    std::int64_t inner, size;    ///< `inner` signals are interleaved, each with `size` elements
    std::int64_t frames, step;   ///< each signal is split into `frames` overlapping frames
    std::int64_t mirrored = 0;   ///< full length of a one-sided spectrum; 0: the input is complete

    TWB_HOST_DEVICE Complex operator()(std::int64_t n, std::int64_t k) const {
        return k > mirrored / 2 && mirrored > 0 ? given(n, mirrored - k).conjugate() : given(n, k);
    }
    TWB_HOST_DEVICE Complex given(std::int64_t n, std::int64_t k) const {
        const std::int64_t element = n % frames * step + k;
        if (element >= size) return {0, 0};
        const std::int64_t signal = n / frames;
        const std::int64_t i = (signal / inner * size + element) * inner + signal % inner;
        const Complex value{data[i * parts], parts == 2 ? data[i * parts + 1] : 0};
        return window ? value.scaled(window[k]) : value;
    }
};

struct Load {
    Signals signals;
    const Complex* chirp; ///< null: the length is a power of two
    Complex* data;
    std::int64_t first, length, size;
    int bits;
    bool inverse;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t n = i / size;
        const std::int64_t k = i - n * size;
        Complex value{0, 0};
        if (k < length) value = signals(first + n, k);
        // The inverse is the conjugate of the transform of the conjugate.
        if (inverse) value = value.conjugate();
        if (chirp && k < length) value = value * chirp[k];
        data[n * size + reversed(k, bits)] = value;
    }
};

struct Filter {
    const Complex *data, *filter;
    Complex* out;
    std::int64_t size;
    int bits;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t k = i % size;
        out[i - k + reversed(k, bits)] = data[i] * filter[k];
    }
};

template <class T> struct Store {
    const Complex *data, *chirp;
    T* out;
    std::int64_t first, length, size, bins, inner;
    bool inverse, isReal;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t n = i / bins;
        const std::int64_t k = i - n * bins;
        Complex value = data[n * size + k];
        if (chirp) value = (value * chirp[k]).scaled(1 / static_cast<double>(size));
        if (inverse) value = value.conjugate().scaled(1 / static_cast<double>(length));
        const std::int64_t signal = first + n;
        const std::int64_t at = ((signal / inner * bins + k) * inner + signal % inner) * (isReal ? 1 : 2);
        out[at] = stored<T>(static_cast<Wide<T>>(value.real));
        if (!isReal) out[at + 1] = stored<T>(static_cast<Wide<T>>(value.imaginary));
    }
};

class Transform {
public:
    Transform(Queue& queue, std::int64_t length, bool inverse)
        : m_queue(queue), m_length(length),
          m_size(static_cast<std::int64_t>(
              std::bit_ceil(static_cast<std::uint64_t>(isPower(length) ? length : 2 * length - 1)))),
          m_bits(std::bit_width(static_cast<std::uint64_t>(m_size)) - 1), m_inverse(inverse),
          m_roots(queue, bytes(m_size / 2)), m_chirp(queue, isPower(length) ? 0 : bytes(length)),
          m_filter(queue, isPower(length) ? 0 : bytes(m_size)) {
        forEach(queue, m_size / 2, MakeRoots{m_roots.as<Complex>(), m_size});
        if (isPower(length)) return;
        forEach(queue, m_size, Clear{m_filter.as<Complex>()});
        forEach(queue, length,
                MakeChirp{m_chirp.as<Complex>(), m_filter.as<Complex>(), length, m_size, m_bits});
        rounds(m_filter.as<Complex>(), 1, false);
    }

    /// Runs `count` transforms and stores the first `bins` numbers of each in `out`.
    void run(const Signals& signals, std::int64_t count, std::int64_t bins, const TensorView& out) {
        constexpr std::int64_t most = std::int64_t{256} << 20;
        const auto each = static_cast<std::int64_t>(bytes(m_size));
        const std::int64_t together = std::clamp<std::int64_t>(most / each, 1, count);
        const Scratch data(m_queue, bytes(together * m_size));
        const Scratch filtered(m_queue, m_chirp.data() ? bytes(together * m_size) : 0);
        for (std::int64_t first = 0; first < count; first += together) {
            const std::int64_t n = std::min(together, count - first);
            auto* numbers = data.as<Complex>();
            const auto* const chirp = m_chirp.as<Complex>();
            forEach(m_queue, n * m_size,
                    Load{signals, chirp, numbers, first, m_length, m_size, m_bits, m_inverse});
            rounds(numbers, n, false);
            if (chirp) {
                forEach(m_queue, n * m_size,
                        Filter{numbers, m_filter.as<Complex>(), filtered.as<Complex>(), m_size, m_bits});
                numbers = filtered.as<Complex>();
                rounds(numbers, n, true);
            }
            withStoredFloat(out.dtype, [&](auto zero) {
                using T = decltype(zero);
                forEach(m_queue, n * bins,
                        Store<T>{numbers, chirp, out.as<T>(), first, m_length, m_size, bins, signals.inner,
                                 m_inverse, signals.mirrored > 0});
            });
        }
    }

private:
    static bool isPower(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }
    static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(Complex); }

    void rounds(Complex* data, std::int64_t count, bool conjugated) {
        for (std::int64_t half = 1; half < m_size; half *= 2)
            forEach(m_queue, count * m_size / 2,
                    Butterfly{data, m_roots.as<Complex>(), m_size, half, conjugated});
    }

    Queue& m_queue;
    const std::int64_t m_length;
    const std::int64_t m_size; ///< the power of two used internally
    const int m_bits;
    const bool m_inverse;
    const Scratch m_roots, m_chirp, m_filter;
};

std::int64_t lengthOf(double value, const char* what) {
    constexpr double most = 0x1p30; // longer ones exceed a GPU's memory, and their squares exceed 64 bits
    if (!(value >= 1) || value > most || value != std::floor(value))
        throw Error(ErrorCode::invalidArgument,
                    std::string(what) +
                        " must be a whole number from 1 to 2^30; move the op to cpu for larger values");
    return static_cast<std::int64_t>(value);
}

[[noreturn]] void throwChanged(const char* what) {
    throw Error(ErrorCode::invalidArgument,
                std::string(what) + " has changed since the size of the result was computed");
}

void dftKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const ConvertedView in(call.queue, DType::f64, call.inputs[0]);
    const Shape& shape = in.view().shape;
    const int rank = shape.rank();
    const auto axis = normalizeAxis(
        element::cast<std::int64_t>(hostNumberOf(call.context(), 2, "axis").value_or(-2)), rank);
    if (!axis || *axis == rank - 1) throwChanged("DFT: axis");
    const std::int64_t size = shape[*axis];
    const bool inverse = call.attributes.flag("inverse");
    const bool toReal = inverse && call.attributes.flag("onesided");
    const auto usual = static_cast<double>(toReal ? 2 * (size - 1) : size);
    const std::int64_t length =
        lengthOf(hostNumberOf(call.context(), 1, "dft_length").value_or(usual), "dft_length");
    std::int64_t inner = 1;
    for (int i = *axis + 1; i < rank - 1; ++i) inner *= shape[i];
    const std::int64_t bins = out.shape[*axis];
    if (bins > length) throwChanged("DFT: dft_length");
    Transform(call.queue, length, inverse)
        .run({in.as<double>(), nullptr, shape[rank - 1], inner, size, 1, 0, toReal ? length : 0},
             out.elementCount() / (bins * out.shape[rank - 1]), bins, out);
}

void stftKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const ConvertedView signal(call.queue, DType::f64, call.inputs[0]);
    const ConvertedView window(call.queue, DType::f64, call.input(2));
    const std::int64_t frame =
        window ? window.view().elementCount()
               : lengthOf(hostNumberOf(call.context(), 3, "frame_length").value_or(0), "frame_length");
    const std::int64_t step =
        lengthOf(hostNumberOf(call.context(), 1, "frame_step").value_or(0), "frame_step");
    const std::int64_t samples = signal.view().shape[1];
    const std::int64_t frames = out.shape[1];
    const std::int64_t bins = out.shape[2];
    if (frame > samples || (frames - 1) > (samples - frame) / step || bins > frame)
        throwChanged("STFT: frame_step or frame_length");
    Transform(call.queue, frame, false)
        .run({signal.as<double>(), window.as<double>(), signal.view().shape[2], 1, samples, frames, step},
             out.shape[0] * frames, bins, out);
}

} // namespace

void addFourierKernels(KernelMap& table) {
    add(table, "DFT", dftKernel);
    add(table, "STFT", stftKernel);
}

} // namespace twb::cuda
