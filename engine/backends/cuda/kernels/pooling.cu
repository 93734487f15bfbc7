#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/reduction.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/window.h"
#include "ops/norm.h"
#include "ops/reduction_rules.h"
#include "ops/sliding_window.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace twb::cuda {
namespace {

/// Shared by all poolings: planes of any layout are pooled to dense ones.
template <class T, class Slide> struct Pooling {
    using Stored = T;
    Slide window;
    const T* in;
    T* out;
    Divide outs, channels;
    std::int64_t batchStride, channelStride;

    TWB_HOST_DEVICE const T* plane(std::int64_t number) const {
        const std::int64_t image = channels(number);
        return in + image * batchStride + (number - image * channels.divisor()) * channelStride;
    }
};

/// Calls run(a Pooling) for elements of the stored type T.
template <class T, class F> void withPooling(const KernelCall& call, const F& run) {
    const TensorView& x = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const Window window = slidingWindow(call.attributes, x.shape);
    const std::int64_t total = out.elementCount();
    withWindow(window, x.strides.data() + 2, [&](const auto& slide) {
        run(Pooling<T, std::decay_t<decltype(slide)>>{slide, x.as<const T>(), out.as<T>(),
                                                      Divide(window.outCount(), total),
                                                      Divide(x.shape[1], total), x.strides[0], x.strides[1]});
    });
}

template <class Pool> struct MaxPool {
    using T = typename Pool::Stored;
    Pool pool;
    std::int64_t* indices; ///< null: not requested
    std::int64_t inCount;
    bool byColumns;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        using W = Wide<T>;
        const std::int64_t plane = pool.outs(i);
        const T* const from = pool.plane(plane);
        W most = ExtremeRule<W, true>::last();
        std::int64_t where = -1;
        const auto place = pool.window.outPlaceOf(i - plane * pool.outs.divisor());
        pool.window.eachTap(place, [&](std::int64_t offset, std::int64_t number, std::int64_t) {
            const W value = widened(from[offset]);
            // NaN wins, as in PyTorch: after a NaN, no comparison is true.
            if (where < 0 || value > most || (value != value && most == most)) {
                most = value;
                where = number;
            }
        });
        pool.out[i] = stored<T>(most);
        if (!indices) return;
        if (where >= 0 && byColumns) where = pool.window.columnMajor(where);
        indices[i] = where < 0 ? -1 : plane * inCount + where;
    }
};

void maxPoolKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const auto run = [&](auto zero) {
        withPooling<decltype(zero)>(call, [&](const auto& pool) {
            auto* const indices = call.isAsked(1) ? call.outputs[1].as<std::int64_t>() : nullptr;
            forEach(call.queue, out.elementCount(),
                    MaxPool<std::decay_t<decltype(pool)>>{
                        pool, indices, slidingWindow(call.attributes, call.inputs[0].shape).inCount(),
                        call.attributes.integer("storage_order") != 0});
        });
    };
    if (out.dtype == DType::i8)
        run(std::int8_t{});
    else if (out.dtype == DType::u8)
        run(std::uint8_t{});
    else
        withStoredFloat(out.dtype, run);
}

template <class Pool> struct AveragePool {
    using T = typename Pool::Stored;
    Pool pool;
    bool countPadding;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t plane = pool.outs(i);
        const T* const from = pool.plane(plane);
        const auto place = pool.window.outPlaceOf(i - plane * pool.outs.divisor());
        double sum = 0;
        pool.window.eachTap(place, [&](std::int64_t offset, std::int64_t, std::int64_t) {
            sum += static_cast<double>(widened(from[offset]));
        });
        pool.out[i] = stored<T>(
            static_cast<Wide<T>>(sum / static_cast<double>(pool.window.counted(place, countPadding))));
    }
};

void averagePoolKernel(const KernelCall& call) {
    if (call.outputs[0].elementCount() == 0) return;
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        withPooling<decltype(zero)>(call, [&](const auto& pool) {
            forEach(
                call.queue, call.outputs[0].elementCount(),
                AveragePool<std::decay_t<decltype(pool)>>{pool, call.attributes.flag("count_include_pad")});
        });
    });
}

template <class Pool> struct LpPool {
    using T = typename Pool::Stored;
    Pool pool;
    Norm norm;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t plane = pool.outs(i);
        const T* const from = pool.plane(plane);
        double sum = 0;
        pool.window.eachTap(pool.window.outPlaceOf(i - plane * pool.outs.divisor()),
                            [&](std::int64_t offset, std::int64_t, std::int64_t) {
                                sum += norm.term(static_cast<double>(widened(from[offset])));
                            });
        pool.out[i] = stored<T>(static_cast<Wide<T>>(norm.root(sum)));
    }
};

void lpPoolKernel(const KernelCall& call) {
    if (call.outputs[0].elementCount() == 0) return;
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        withPooling<decltype(zero)>(call, [&](const auto& pool) {
            forEach(call.queue, call.outputs[0].elementCount(),
                    LpPool<std::decay_t<decltype(pool)>>{pool, Norm{call.attributes.integer("p")}});
        });
    });
}

// Global poolings, which are reductions

ReductionView planesOf(const TensorView& x) {
    std::array<bool, kMaxRank> spatial{};
    for (int axis = 2; axis < x.shape.rank(); ++axis) spatial[static_cast<std::size_t>(axis)] = true;
    return splitAxes(x, spatial);
}

template <class T> struct StoreShare {
    T* out;
    double count;
    TWB_HOST_DEVICE void operator()(std::int64_t i, double sum) const {
        out[i] = stored<T>(static_cast<Wide<T>>(sum / count));
    }
};

template <class T> struct StoreMost {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, const State& state) const {
        out[i] = stored<T>(state.value);
    }
};

template <class T> struct StoreRoot {
    T* out;
    Norm norm;
    TWB_HOST_DEVICE void operator()(std::int64_t i, double sum) const {
        out[i] = stored<T>(static_cast<Wide<T>>(norm.root(sum)));
    }
};

template <class T> struct NormRule {
    using Value = T;
    using State = double;
    static constexpr std::int64_t lanes = 1;
    Norm norm;
    TWB_HOST_DEVICE void add(State& state, T value, std::int64_t) const {
        state += norm.term(static_cast<double>(value));
    }
    TWB_HOST_DEVICE void merge(State& state, const State& other) const { state += other; }
};

void globalAverageKernel(const KernelCall& call) {
    const ReductionView view = planesOf(call.inputs[0]);
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto count = static_cast<double>(view.reduced.elementCount());
        reduce<T>(call.queue, view, SumRule<Wide<T>>{}, StoreShare<T>{call.outputs[0].as<T>(), count});
    });
}

void globalMaxKernel(const KernelCall& call) {
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, planesOf(call.inputs[0]), ExtremeRule<Wide<T>, true>{},
                  StoreMost<T>{call.outputs[0].as<T>()});
    });
}

void globalLpKernel(const KernelCall& call) {
    const Norm norm{call.attributes.integer("p")};
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, planesOf(call.inputs[0]), NormRule<Wide<T>>{norm},
                  StoreRoot<T>{call.outputs[0].as<T>(), norm});
    });
}

// MaxUnpool

template <class T> struct Unpool {
    const T* x;
    const std::int64_t* indices;
    T* out;
    SlidingWindow inner; ///< its inputs are the shape in which indices count; its strides are the result's
    std::int64_t channels, room, planeStride, batchStride;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t at = indices[i];
        if (at < 0 || at >= room) return raise(fault, Fault::badMaxIndex, at, 0, room);
        std::int64_t rest = at;
        std::int64_t place = 0;
        TWB_ROLLED
        for (int a = inner.rank - 1; a >= 0; --a) {
            const std::int64_t next = rest / inner.axes[a].in;
            place += (rest - next * inner.axes[a].in) * inner.strides[a];
            rest = next;
        }
        out[rest / channels * batchStride + rest % channels * planeStride + place] = x[i];
    }
};

void maxUnpoolKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView indices(call.queue, call.inputs[1]);
    const Window window =
        transposedWindow(call.attributes, x.shape(), call.attributes.integers("kernel_shape"));
    const Strides steps = denseStrides(out.shape);
    const std::int64_t count = x.view().elementCount();
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        fillView(call.queue, out, &zero);
        const Unpool<T> unpool{x.as<T>(),         indices.as<std::int64_t>(),
                               out.as<T>(),       SlidingWindow(window, steps.data() + 2),
                               x.shape()[1],      x.shape()[0] * x.shape()[1] * window.inCount(),
                               steps[1],          steps[0],
                               call.queue.fault()};
        forEach(call.queue, count, unpool);
    });
}

} // namespace

void addPoolingKernels(KernelMap& table) {
    add(table, "MaxPool", maxPoolKernel);
    add(table, "AveragePool", averagePoolKernel);
    add(table, "LpPool", lpPoolKernel);
    add(table, "GlobalAveragePool", globalAverageKernel);
    add(table, "GlobalMaxPool", globalMaxKernel);
    add(table, "GlobalLpPool", globalLpKernel);
    add(table, "MaxUnpool", maxUnpoolKernel);
}

} // namespace twb::cuda
