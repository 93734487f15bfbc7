#pragma once

#include "backends/cpu/reduction.h"
#include "backends/cpu/vector_math.h"
#include "backends/kernel.h"
#include "ops/element_functions.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace twb {

// The accumulators of the reductions in ops/reduce.cpp and ops/arg_reduce.cpp; see backends/cpu/reduction.h.
// The host and the GPU share this code.

/// The axes of a Reduce op at a launch: from the connected list or the attribute.
std::array<bool, kMaxRank> reducedAxes(const KernelContext& ctx);

/// The shape without the axes marked in `reduced`, or with size 1 along them.
inline Shape reducedShape(const Shape& shape, const std::array<bool, kMaxRank>& reduced, bool keepDims) {
    std::vector<std::int64_t> dims;
    dims.reserve(static_cast<std::size_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!reduced[static_cast<std::size_t>(axis)])
            dims.push_back(shape[axis]);
        else if (keepDims)
            dims.push_back(1);
    }
    return Shape(std::move(dims));
}

// The summand of an element, in the state's type S.
struct Plain {
    static constexpr Summand summand = Summand::value;
    template <class S, class T> TWB_HOST_DEVICE static S of(T x) { return static_cast<S>(x); }
};
struct Absolute {
    static constexpr Summand summand = Summand::size;
    template <class S, class T> TWB_HOST_DEVICE static S of(T x) {
        return x < 0 ? S{0} - static_cast<S>(x) : static_cast<S>(x);
    }
};
struct Square {
    static constexpr Summand summand = Summand::square;
    template <class S, class T> TWB_HOST_DEVICE static S of(T x) {
        return static_cast<S>(x) * static_cast<S>(x);
    }
};

/// Floats are summed in double, integers in wrapping 64 bits.
template <class T> using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

/// The final value of a wide sum or product.
template <class T> TWB_HOST_DEVICE double numberOf(Wide<T> state) {
    if constexpr (std::is_floating_point_v<T> || std::is_unsigned_v<T>)
        return static_cast<double>(state);
    else
        return static_cast<double>(static_cast<std::int64_t>(state));
}

template <class T, class Map = Plain> struct SumRule {
    using Value = T;
    using State = Wide<T>;
    static constexpr std::int64_t lanes = 8;
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        state += Map::template of<State>(value);
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const { state += later; }
    static void addRows(State* states, const T* in, std::int64_t rows, std::int64_t stride,
                        std::int64_t width) requires std::is_same_v<T, float> {
        vectorAddRows(Map::summand, in, rows, stride, width, states);
    }
};

/// Sums for means. Sums of integers may exceed 64 bits, although their mean does not.
template <class T> struct MeanRule {
    __extension__ using Exact = __int128;
    using Value = T;
    using State = std::conditional_t<std::is_floating_point_v<T>, double, Exact>;
    static constexpr std::int64_t lanes = 8;
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        state += static_cast<State>(value);
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const { state += later; }
    static void addRows(State* states, const T* in, std::int64_t rows, std::int64_t stride,
                        std::int64_t width) requires std::is_same_v<T, float> {
        vectorAddRows(Summand::value, in, rows, stride, width, states);
    }
    /// Truncated for integers.
    TWB_HOST_DEVICE static State finish(State sum, std::int64_t count) {
        return sum / static_cast<State>(count);
    }
};

template <class T> struct ProductRule {
    using Value = T;
    struct State {
        Wide<T> value{1};
    };
    static constexpr std::int64_t lanes = 8;
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        state.value *= static_cast<Wide<T>>(value);
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const { state.value *= later.value; }
};

/// ln Σ e ^ x relative to the largest x, which avoids overflow: `sum` is Σ e ^ (x − most).
template <class T> struct LogSumExpRule {
    using Value = T;
    struct State {
        double most = -std::numeric_limits<double>::infinity();
        double sum = 0;
    };
    static constexpr std::int64_t lanes = 1;
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        merge(state, {static_cast<double>(value), 1});
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const {
        if (later.sum == 0) return;
        // Handles equal values separately, since the difference of infinities is NaN.
        if (later.most == state.most) {
            state.sum += later.sum;
        } else if (later.most < state.most) {
            state.sum += later.sum * std::exp(later.most - state.most);
        } else {
            state.sum = later.sum + state.sum * std::exp(state.most - later.most);
            state.most = later.most;
        }
    }
    TWB_HOST_DEVICE static double finish(const State& state) { return state.most + std::log(state.sum); }
};

/// Whether x precedes y: larger or smaller, depending on the op.
template <bool Largest, class T> TWB_HOST_DEVICE bool precedes(T x, T y) {
    if constexpr (Largest)
        return x > y;
    else
        return x < y;
}

/// An empty maximum is the lowest value, an empty minimum the highest, as in ONNX. NaN wins, as in NumPy.
template <class T, bool Largest> struct ExtremeRule {
    using Value = T;
    struct State {
        T value = last();
    };
    static constexpr std::int64_t lanes = std::is_same_v<T, float> ? 32 : 8;
    TWB_HOST_DEVICE static constexpr T last() {
        using Limits = std::numeric_limits<T>;
        if constexpr (std::is_same_v<T, element::Bool>)
            return T(!Largest);
        else if constexpr (std::is_floating_point_v<T>)
            return Largest ? -Limits::infinity() : Limits::infinity();
        else
            return Largest ? Limits::min() : Limits::max();
    }
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        if constexpr (std::is_same_v<T, element::Bool>) {
            if (static_cast<bool>(value) == Largest) state.value = T(Largest);
        } else {
            state.value = precedes<Largest>(value, state.value) || value != value ? value : state.value;
        }
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const { add(state, later.value, 0); }
    static void addRows(State* states, const T* in, std::int64_t rows, std::int64_t stride,
                        std::int64_t width) requires std::is_same_v<T, float> {
        static_assert(sizeof(State) == sizeof(float));
        vectorMostOfRows(Largest, in, rows, stride, width, &states->value);
    }
};

/// The first (or last) index of the largest (or smallest) element. NaN precedes all numbers.
template <class T, bool Largest> struct ArgRule {
    using Value = T;
    struct State {
        T value{};
        std::int64_t at = -1;
    };
    static constexpr std::int64_t lanes = 1;
    bool last = false; ///< among equal elements
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t at) const {
        // Decides by index rather than by order, because a GPU merges in any order.
        const bool isNaN = value != value;
        const bool wasNaN = state.value != state.value;
        const bool wins = value == state.value || (isNaN && wasNaN)
                              ? (last ? at > state.at : at < state.at)
                              : isNaN || (!wasNaN && precedes<Largest>(value, state.value));
        if (wins || state.at < 0) state = {value, at};
    }
    TWB_HOST_DEVICE void merge(State& state, const State& later) const {
        if (later.at >= 0) add(state, later.value, later.at);
    }
};

} // namespace twb
