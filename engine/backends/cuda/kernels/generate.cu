#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "ops/host_number.h"
#include "ops/mel_bands.h"
#include "ops/philox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace twb::cuda {
namespace {

/// Fills the output with a host value, converted to its dtype.
template <class Number> void fillWith(const KernelCall& call, Number value) {
    withAny(call.outputs[0].dtype, [&](auto zero) {
        const auto element = element::cast<decltype(zero)>(value);
        fillView(call.queue, call.outputs[0], &element);
    });
}

template <std::int32_t Value> void fillKernel(const KernelCall& call) { fillWith(call, Value); }

void valueKernel(const KernelCall& call) {
    // An integer literal keeps all its digits.
    if (const auto* integer = std::get_if<std::int64_t>(call.attributes.find("value")))
        return fillWith(call, *integer);
    fillWith(call, call.attributes.number("value"));
}

void constantKernel(const KernelCall& call) {
    const AttributeValue& value = *call.attributes.find("value");
    const TensorView& out = call.outputs[0];
    const auto store = [&](const auto& values) {
        if (values.size() == 1) return fillWith(call, values[0]);
        withAny(out.dtype, [&](auto zero) {
            using T = decltype(zero);
            std::vector<T> elements(values.size());
            for (std::size_t i = 0; i < values.size(); ++i) elements[i] = element::cast<T>(values[i]);
            call.queue.upload(out.data, elements.data(), elements.size() * sizeof(T));
        });
    };
    const bool isIntegers = std::holds_alternative<std::int64_t>(value) ||
                            std::holds_alternative<std::vector<std::int64_t>>(value);
    if (isIntegers)
        store(call.attributes.integers("value"));
    else
        store(call.attributes.numbers("value"));
}

// Progressions

template <class T> struct FloatProgression {
    T* out;
    double start, delta;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = stored<T>(static_cast<Wide<T>>(start + static_cast<double>(i) * delta));
    }
};

/// Computed in unsigned integers of the element's size, where signed ones wrap around in the same way.
template <class T> struct IntegerProgression {
    T* out;
    std::uint64_t start, delta;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = static_cast<T>(start + static_cast<std::uint64_t>(i) * delta);
    }
};

/// The value of the host input `port`, or else of the attribute.
template <class Number> Number boundOf(const KernelCall& call, std::size_t port, const char* name) {
    const TensorView given = call.input(port);
    if (!given.data) {
        if (const auto* integer = std::get_if<std::int64_t>(call.attributes.find(name)))
            return static_cast<Number>(*integer);
        return element::cast<Number>(call.attributes.number(name));
    }
    Number out{};
    withAny(given.dtype,
            [&](auto zero) { out = element::cast<Number>(widened(*given.as<const decltype(zero)>())); });
    return out;
}

void progressionKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (isInteger(out.dtype))
        return withBits(out.dtype, [&](auto zero) {
            using T = decltype(zero);
            forEach(call.queue, out.elementCount(),
                    IntegerProgression<T>{
                        out.as<T>(), static_cast<std::uint64_t>(boundOf<std::int64_t>(call, 0, "start")),
                        static_cast<std::uint64_t>(boundOf<std::int64_t>(call, 2, "delta"))});
        });
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                FloatProgression<T>{out.as<T>(), boundOf<double>(call, 0, "start"),
                                    boundOf<double>(call, 2, "delta")});
    });
}

/// 1 in a dtype, as the bits of an element.
std::uint64_t bitsOfOne(DType dtype) {
    std::uint64_t bits = 0;
    withAny(dtype, [&](auto zero) {
        const auto one = element::cast<decltype(zero)>(std::int32_t{1});
        std::memcpy(&bits, &one, sizeof(one));
    });
    return bits;
}

// EyeLike

template <class T> struct Diagonal {
    T* out;
    T one;
    std::int64_t columns, k;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / columns;
        out[i] = i - row * columns - row == k ? one : T{};
    }
};

void eyeLikeKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t rows = out.shape[0];
    const std::int64_t columns = out.shape[1];
    const std::int64_t k = std::clamp(call.attributes.integer("k"), -rows, columns);
    const std::uint64_t one = bitsOfOne(out.dtype);
    withBits(out.dtype, [&](auto bits) {
        using T = decltype(bits);
        forEach(call.queue, out.elementCount(), Diagonal<T>{out.as<T>(), static_cast<T>(one), columns, k});
    });
}

// Shape and Size

void shapeKernel(const KernelCall& call) {
    const Shape& shape = call.inputs[0].shape;
    const int rank = shape.rank();
    const auto clamped = [rank](std::int64_t axis) {
        return static_cast<int>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
    };
    const auto from = static_cast<std::size_t>(clamped(call.attributes.integer("start")));
    call.queue.upload(call.outputs[0].data, shape.dims().data() + from,
                      static_cast<std::size_t>(call.outputs[0].elementCount()) * sizeof(std::int64_t));
}

void sizeKernel(const KernelCall& call) {
    const std::int64_t size = call.inputs[0].elementCount();
    call.queue.upload(call.outputs[0].data, &size, sizeof(size));
}

// Windows of signals

/// a₀ − a₁ cos(2πn/N) + a₂ cos(4πn/N), where N is one less for a symmetric window.
template <class T> struct CosineWindow {
    T* out;
    double period, a0, a1, a2;
    TWB_HOST_DEVICE void operator()(std::int64_t n) const {
        constexpr double twoPi = 6.28318530717958647693;
        const double angle = twoPi * static_cast<double>(n) / period;
        out[n] = element::cast<T>(period == 0 ? 1.0 : a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
    }
};

void fillWindow(const KernelCall& call, double a0, double a1, double a2) {
    const TensorView& out = call.outputs[0];
    const std::int64_t size = out.elementCount();
    const auto period = static_cast<double>(call.attributes.flag("periodic") ? size : size - 1);
    withStoredNumber(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, size, CosineWindow<T>{out.as<T>(), period, a0, a1, a2});
    });
}

void hannKernel(const KernelCall& call) { fillWindow(call, 0.5, 0.5, 0); }
void hammingKernel(const KernelCall& call) { fillWindow(call, 25.0 / 46, 21.0 / 46, 0); }
void blackmanKernel(const KernelCall& call) { fillWindow(call, 0.42, 0.5, 0.08); }

template <class T> struct MelWeights {
    MelBands bands;
    std::int64_t bins;
    T* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / bins;
        out[i] = element::cast<T>(bands.cornersOf(i - row * bins).weightOf(row));
    }
};

void melKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    std::array<double, 5> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = hostNumberOf(call.context(), static_cast<int>(i), kMelNumbers[i]).value_or(0);
    withStoredNumber(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                MelWeights<T>{MelBands(numbers, out.shape[1]), out.shape[1], out.as<T>()});
    });
}

// Random numbers

template <class T> struct Normal {
    T* out;
    std::uint64_t seed;
    double mean, scale;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const double x = standardNormal(randomWords(seed, static_cast<std::uint64_t>(i)));
        out[i] = stored<T>(static_cast<Wide<T>>(mean + scale * x));
    }
};

template <class T> struct Uniform {
    T* out;
    std::uint64_t seed;
    double low, high;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const auto u = uniform01<Wide<T>>(randomWords(seed, static_cast<std::uint64_t>(i)));
        out[i] = stored<T>(static_cast<Wide<T>>(low + static_cast<double>(u) * (high - low)));
    }
};

std::uint64_t seedOf(const KernelCall& call) {
    return static_cast<std::uint64_t>(call.attributes.integer("seed"));
}

void normal(const KernelCall& call, double mean, double scale) {
    const TensorView& out = call.outputs[0];
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(), Normal<T>{out.as<T>(), seedOf(call), mean, scale});
    });
}

void normalKernel(const KernelCall& call) {
    normal(call, call.attributes.number("mean"), call.attributes.number("scale"));
}

void uniformKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                Uniform<T>{out.as<T>(), seedOf(call), call.attributes.number("low"),
                           call.attributes.number("high")});
    });
}

/// Stands in for data that is not given yet.
void inputKernel(const KernelCall& call) {
    if (isFloating(call.outputs[0].dtype))
        normal(call, 0, 1);
    else
        fillWith(call, std::int32_t{0});
}

template <class T> struct Draw {
    const double* chance;
    T* out;
    T one;
    std::uint64_t seed;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = uniform01<double>(randomWords(seed, static_cast<std::uint64_t>(i))) < chance[i] ? one : T{};
    }
};

void bernoulliKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    const ConvertedView chance(call.queue, DType::f64, call.inputs[0]);
    const std::uint64_t one = bitsOfOne(out.dtype);
    withBits(out.dtype, [&](auto bits) {
        using T = decltype(bits);
        forEach(call.queue, out.elementCount(),
                Draw<T>{chance.as<double>(), out.as<T>(), static_cast<T>(one), seedOf(call)});
    });
}

// Multinomial

/// The first of the largest elements; NaN only if it is the first element.
struct LargerChance {
    TWB_HOST_DEVICE void merge(double& state, double other) const { state = state < other ? other : state; }
};

/// The running sums of e ^ (x − max x) of each row, added in order, so that they equal the host's bit by bit.
/// One block or one thread per row.
struct SumChances {
    const double* x;
    double* sums;
    std::int64_t classes;
    Fault* fault;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const double* const from = x + row * classes;
        double* const to = sums + row * classes;
        const LargerChance larger;
        double most = from[0];
        for (std::int64_t c = team.index(); c < classes; c += team.size()) larger.merge(most, from[c]);
        most = team.merged(larger, most);
        for (std::int64_t c = team.index(); c < classes; c += team.size())
            to[c] = from[c] == most ? 1 : std::exp(from[c] - most);
        team.wait();
        if (!team.isFirst()) return;
        double sum = 0;
        std::int64_t c = 0;
        // Loads several terms before adding them, so that loads do not wait for sums.
        constexpr int atOnce = 8;
        for (; c + atOnce <= classes; c += atOnce) {
            double terms[atOnce];
            for (int k = 0; k < atOnce; ++k) terms[k] = to[c + k];
            for (int k = 0; k < atOnce; ++k) {
                sum += terms[k];
                to[c + k] = sum;
            }
        }
        for (; c < classes; ++c) {
            sum += to[c];
            to[c] = sum;
        }
        if (!(sum < std::numeric_limits<double>::infinity())) raise(fault, Fault::badProbability);
    }
};

/// The first class whose sum is above u · total.
template <class T> struct DrawClass {
    const double* sums;
    T* out;
    std::int64_t classes, samples;
    std::uint64_t seed;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const double* const row = sums + i / samples * classes;
        const double wanted =
            uniform01<double>(randomWords(seed, static_cast<std::uint64_t>(i))) * row[classes - 1];
        std::int64_t low = 0;
        std::int64_t high = classes;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (wanted < row[middle])
                high = middle;
            else
                low = middle + 1;
        }
        out[i] = static_cast<T>(low < classes ? low : classes - 1);
    }
};

void multinomialKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    const std::int64_t rows = call.inputs[0].shape[0];
    const std::int64_t classes = call.inputs[0].shape[1];
    if (rows * classes == 0) return;
    const ConvertedView x(call.queue, DType::f64, call.inputs[0]);
    const Scratch sums(call.queue, static_cast<std::size_t>(rows * classes) * sizeof(double));
    // With few classes, most of the work is the running sum, which is serial.
    forEachRow(call.queue, rows, classes,
               SumChances{x.as<double>(), sums.as<double>(), classes, call.queue.fault()},
               classes > 1024 ? TeamOf::rowLength : TeamOf::one);
    const auto draw = [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                DrawClass<T>{sums.as<double>(), out.as<T>(), classes, out.shape[1], seedOf(call)});
    };
    if (out.dtype == DType::i32)
        draw(std::int32_t{});
    else
        draw(std::int64_t{});
}

} // namespace

void addGeneratorKernels(KernelMap& table) {
    add(table, "Zeros", fillKernel<0>);
    add(table, "Ones", fillKernel<1>);
    add(table, "Full", valueKernel);
    add(table, "ConstantOfShape", valueKernel);
    add(table, "Constant", constantKernel);
    add(table, "Arange", progressionKernel);
    add(table, "Range", progressionKernel);
    add(table, "EyeLike", eyeLikeKernel);
    add(table, "Shape", shapeKernel, supportsAll);
    add(table, "Size", sizeKernel, supportsAll);
    add(table, "RandomNormal", normalKernel);
    add(table, "RandomNormalLike", normalKernel);
    add(table, "RandomUniform", uniformKernel);
    add(table, "RandomUniformLike", uniformKernel);
    add(table, "Input", inputKernel);
    add(table, "Bernoulli", bernoulliKernel);
    add(table, "HannWindow", hannKernel);
    add(table, "HammingWindow", hammingKernel);
    add(table, "BlackmanWindow", blackmanKernel);
    add(table, "MelWeightMatrix", melKernel);
    add(table, "Multinomial", multinomialKernel);
}

} // namespace twb::cuda
