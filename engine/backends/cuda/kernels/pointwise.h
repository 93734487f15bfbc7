#pragma once

#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/kernel_table.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/walk.h"

#include <cstdint>

namespace twb::cuda {

/// The number of elements that a thread reads and writes at once.
template <class T, int V> struct alignas(sizeof(T) * V) Pack { T values[V]; };

/// As many elements of the widest type as fit into 16 bytes.
template <class... T> inline constexpr int kPackOf = static_cast<int>(16 / std::max({sizeof(T)...}));

template <class T, int V> TWB_HOST_DEVICE bool isPackAligned(const T* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Pack<T, V>) == 0;
}

/// V elements from `at` on, `stride` apart.
template <class T, int V> TWB_HOST_DEVICE Pack<T, V> loadPack(const T* at, std::int64_t stride) {
    if (stride == 1 && isPackAligned<T, V>(at)) return *reinterpret_cast<const Pack<T, V>*>(at);
    Pack<T, V> out;
    for (int v = 0; v < V; ++v) out.values[v] = at[v * stride];
    return out;
}

template <class T, int V> TWB_HOST_DEVICE void storePack(T* at, std::int64_t stride, const Pack<T, V>& pack) {
    if (stride == 1 && isPackAligned<T, V>(at)) {
        *reinterpret_cast<Pack<T, V>*>(at) = pack;
        return;
    }
    for (int v = 0; v < V; ++v) at[v * stride] = pack.values[v];
}

/// The V elements of a thread: whether they are neighbours in one row of every tensor, so that the first
/// offset determines all.
template <int V, int N> TWB_HOST_DEVICE bool isOneRow(const Walk<N>& walk, std::int64_t first) {
    return first + V <= walk.total && (walk.rank <= 1 || walk.innerSize() % V == 0);
}

/// Whether each thread takes a pack of V neighbours in one row of every tensor. Otherwise it takes one
/// element, so that neighbouring threads take neighbouring elements.
template <int V, int N> bool takesPacks(const Walk<N>& walk) {
    return walk.rank <= 1 || walk.innerSize() % V == 0;
}

template <int V, int N> std::int64_t threadsOf(const Walk<N>& walk) {
    return takesPacks<V>(walk) ? (walk.total + V - 1) / V : walk.total;
}

/// out = f(in), element by element.
template <class In, class Out, class F> struct Map {
    static constexpr int V = kPackOf<In, Out>;
    Walk<2> walk;
    bool byPacks;
    const In* in;
    Out* out;
    F f;

    TWB_HOST_DEVICE void operator()(std::int64_t thread) const {
        const std::int64_t first = byPacks ? thread * V : thread;
        if (byPacks && first + V <= walk.total) {
            const auto at = walk.at(first);
            const auto x = loadPack<In, V>(in + at[0], walk.innerStride(0));
            Pack<Out, V> y;
            for (int v = 0; v < V; ++v) y.values[v] = stored<Out>(f(widened(x.values[v])));
            storePack<Out, V>(out + at[1], walk.innerStride(1), y);
            return;
        }
        const std::int64_t end = byPacks ? walk.total : first + 1;
        TWB_ROLLED
        for (std::int64_t i = first; i < end; ++i) {
            const auto at = walk.at(i);
            out[at[1]] = stored<Out>(f(widened(in[at[0]])));
        }
    }
};

/// out = f(a, b), element by element.
template <class A, class B, class Out, class F> struct Zip {
    static constexpr int V = kPackOf<A, B, Out>;
    Walk<3> walk;
    bool byPacks;
    const A* a;
    const B* b;
    Out* out;
    F f;

    TWB_HOST_DEVICE void operator()(std::int64_t thread) const {
        const std::int64_t first = byPacks ? thread * V : thread;
        if (byPacks && first + V <= walk.total) {
            const auto at = walk.at(first);
            const A* const fromA = a + at[0];
            const B* const fromB = b + at[1];
            Pack<A, V> x;
            Pack<B, V> y;
            // Loads both at once, so that the second does not wait for the first.
            if (walk.innerStride(0) == 1 && walk.innerStride(1) == 1 && isPackAligned<A, V>(fromA) &&
                isPackAligned<B, V>(fromB)) {
                x = *reinterpret_cast<const Pack<A, V>*>(fromA);
                y = *reinterpret_cast<const Pack<B, V>*>(fromB);
            } else {
                x = loadPack<A, V>(fromA, walk.innerStride(0));
                y = loadPack<B, V>(fromB, walk.innerStride(1));
            }
            Pack<Out, V> z;
            for (int v = 0; v < V; ++v)
                z.values[v] = stored<Out>(f(widened(x.values[v]), widened(y.values[v])));
            storePack<Out, V>(out + at[2], walk.innerStride(2), z);
            return;
        }
        const std::int64_t end = byPacks ? walk.total : first + 1;
        TWB_ROLLED
        for (std::int64_t i = first; i < end; ++i) {
            const auto at = walk.at(i);
            out[at[2]] = stored<Out>(f(widened(a[at[0]]), widened(b[at[1]])));
        }
    }
};

/// out[i] = f(in[i]); `in` broadcasts to `out`, which may be the same memory as an input of its size.
template <class In, class Out, class F>
void mapElements(Queue& queue, const TensorView& in, const TensorView& out, const F& f) {
    using Each = Map<In, Out, F>;
    const Walk<2> walk = walkOf<2>(out.shape, {&in, &out});
    forEach(queue, threadsOf<Each::V>(walk),
            Each{walk, takesPacks<Each::V>(walk), in.as<const In>(), out.as<Out>(), f});
}

/// out[i] = f(a[i], b[i]); a and b broadcast to `out`, as above.
template <class A, class B, class Out, class F>
void zipElements(Queue& queue, const TensorView& a, const TensorView& b, const TensorView& out, const F& f) {
    using Each = Zip<A, B, Out, F>;
    const Walk<3> walk = walkOf<3>(out.shape, {&a, &b, &out});
    forEach(queue, threadsOf<Each::V>(walk),
            Each{walk, takesPacks<Each::V>(walk), a.as<const A>(), b.as<const B>(), out.as<Out>(), f});
}

/// A floating-point function of one element.
template <class F> void mapFloats(const KernelCall& call, const F& f) {
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], f);
    });
}

/// The same for all numbers.
template <class F> void mapNumbers(const KernelCall& call, const F& f) {
    withStoredNumber(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], f);
    });
}

template <class F> void floatKernel(const KernelCall& call) { mapFloats(call, F{}); }
template <class F> void numberKernel(const KernelCall& call) { mapNumbers(call, F{}); }

} // namespace twb::cuda
