#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/rows.h"

#include <bit>

namespace twb::cuda {
namespace {

// TopK. Elements are turned into keys that compare as unsigned integers, larger ones first; with their place
// below they are all different, so what comes out does not depend on how it is found.

template <class T> using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// A number whose order among unsigned ones is the element's, NaN the largest, as in NumPy.
template <class T> TWB_HOST_DEVICE KeyOf<T> keyOf(T x) {
    using Key = KeyOf<T>;
    constexpr Key sign = Key{1} << (sizeof(Key) * 8 - 1);
    if constexpr (std::is_floating_point_v<T>) {
        if (x != x) return ~Key{0};
        const Key bits = std::bit_cast<Key>(x == 0 ? T{0} : x); // -0 and 0 are equal
        return (bits & sign) != 0 ? ~bits : bits | sign;
    } else if constexpr (std::is_signed_v<T>) {
        using Same = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
        return static_cast<Key>(static_cast<Same>(x)) ^ sign;
    } else {
        return x;
    }
}

template <class Key> struct Ranked {
    Key key;
    std::int64_t at;
    /// Of equal keys the first comes first.
    TWB_HOST_DEVICE bool isBefore(const Ranked& other) const {
        return key > other.key || (key == other.key && at < other.at);
    }
};

/// Sorts rows of `length` in memory of their own, padded to a power of two: one step of Batcher's bitonic
/// network (1968), in which a pair of places is `distance` apart inside of runs of `run`.
template <class Key> struct BitonicStep {
    Ranked<Key>* all;
    std::int64_t run, distance;
    TWB_HOST_DEVICE void operator()(std::int64_t pair) const {
        const std::int64_t low = pair / distance * 2 * distance + pair % distance;
        Ranked<Key>& a = all[low];
        Ranked<Key>& b = all[low + distance];
        const bool isDescending = (low & run) != 0;
        if (b.isBefore(a) == isDescending) return;
        const Ranked<Key> kept = a;
        a = b;
        b = kept;
    }
};

template <class T> struct RankElements {
    const T* in;
    Walk<1> rows;
    std::int64_t step, length, padded;
    bool largest;
    Ranked<KeyOf<Wide<T>>>* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        using Key = KeyOf<Wide<T>>;
        const std::int64_t row = i / padded;
        const std::int64_t at = i - row * padded;
        if (at >= length) {
            out[i] = {0, std::int64_t{1} << 62}; // behind everything
            return;
        }
        const Key key = keyOf(widened(in[rows.at(row)[0] + at * step]));
        out[i] = {largest ? key : static_cast<Key>(~key), at};
    }
};

template <class T> struct TakeFirst {
    const Ranked<KeyOf<Wide<T>>>* ranked;
    const T* in;
    Walk<1> inRows, outRows;
    std::int64_t step, padded, k, outStep;
    T* values;            ///< null: not asked for
    std::int64_t* places; ///< likewise
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / k;
        const std::int64_t rank = i - row * k;
        const std::int64_t at = ranked[row * padded + rank].at;
        const std::int64_t to = outRows.at(row)[0] + rank * outStep;
        if (values) values[to] = in[inRows.at(row)[0] + at * step];
        if (places) places[to] = at;
    }
};

void topKKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const auto along = onlyAxis(call.attributes.integer("axis"), in.shape.rank());
    const ReductionView from = splitAxes(in, along);
    const ReductionView to = splitAxes(out, along);
    const std::int64_t length = from.reduced.elementCount();
    const std::int64_t rows = from.kept.elementCount();
    const std::int64_t k = to.reduced.elementCount();
    const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
    withStoredNumber(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Key = KeyOf<Wide<T>>;
        const Scratch memory(call.queue, static_cast<std::size_t>(rows * padded) * sizeof(Ranked<Key>));
        auto* const ranked = memory.as<Ranked<Key>>();
        forEach(call.queue, rows * padded,
                RankElements<T>{in.as<const T>(), walkOf(from.kept), from.reduced.strides[0], length, padded,
                                call.attributes.flag("largest"), ranked});
        // Rows begin at multiples of their padded length, so the network sorts all of them at a time; in the
        // last round every row is to stand first to last, whichever it is.
        for (std::int64_t run = 2; run <= padded; run *= 2)
            for (std::int64_t distance = run / 2; distance > 0; distance /= 2)
                forEach(call.queue, rows * padded / 2,
                        BitonicStep<Key>{ranked, run == padded ? 0 : run, distance});
        forEach(call.queue, rows * k,
                TakeFirst<T>{ranked, in.as<const T>(), walkOf(from.kept), walkOf(to.kept),
                             from.reduced.strides[0], padded, k, to.reduced.strides[0], out.as<T>(),
                             call.isAsked(1) ? call.outputs[1].as<std::int64_t>() : nullptr});
    });
}

} // namespace

void addOrderingKernels(KernelMap& table) { add(table, "TopK", topKKernel); }

} // namespace twb::cuda
