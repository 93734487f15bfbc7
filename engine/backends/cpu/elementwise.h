#pragma once

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <cstdint>

namespace twb {

/// Loops prefetch the elements this far beyond the current one: the processor's own prefetching stops at the
/// end of a page.
inline constexpr std::int64_t kAhead = 512;

/// Elements that are prefetched together.
inline constexpr std::int64_t kFetched = 64;

/// Calls one(i) for i below `count`, and fetch(i) for each kFetched elements from i on, kAhead elements
/// before them.
template <class Fetch, class One> void fetchingAhead(std::int64_t count, const Fetch& fetch, const One& one) {
    std::int64_t i = 0;
    // Memory beyond the end may belong to another thread, which would lose it.
    for (; i + kFetched + kAhead <= count; i += kFetched) {
        fetch(i + kAhead);
        for (std::int64_t k = 0; k < kFetched; ++k) one(i + k);
    }
    for (; i < count; ++i) one(i);
}

/// Prefetches kFetched elements: `access` is 0 to read them and 1 to write them.
template <int Access, class T> void fetchBlock(const T* from) {
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < kFetched * sizeof(T); at += line)
        __builtin_prefetch(reinterpret_cast<const char*>(from) + at, Access);
}

/// out[i] = f(in[i]) for every element. `out` is dense and may be the same memory as `in`.
template <class In, class Out, class F>
void mapElements(const TensorView& in, const TensorView& out, const F& f) {
    const In* const source = in.as<const In>();
    Out* const target = out.as<Out>();
    if (isDense(in)) {
        const std::int64_t total = out.elementCount();
        parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            const F own = f; // a copy, since the compiler must assume that writes may alias f
            const In* const from = source + begin;
            Out* const to = target + begin;
            fetchingAhead(
                end - begin,
                [&](std::int64_t i) {
                    fetchBlock<0>(from + i);
                    fetchBlock<1>(to + i);
                },
                [&](std::int64_t i) { to[i] = own(from[i]); });
        });
        return;
    }
    const StridedLoop<1> loop(out.shape, {&in});
    const std::int64_t step = loop.innerStride(0);
    parallelRanges(loop.total(), loop.total(), 64, [&](std::int64_t begin, std::int64_t end) {
        Out* to = target + begin;
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            const In* from = source + offsets[0];
            for (std::int64_t i = 0; i < count; ++i) to[i] = f(from[i * step]);
            to += count;
        });
    });
}

/// out[i] = f(a[i], b[i]), where a and b broadcast to out. `out` is dense and may be the same memory as an
/// operand of its size.
template <class A, class B, class Out, class F>
void zipElements(const TensorView& a, const TensorView& b, const TensorView& out, const F& f) {
    const A* const left = a.as<const A>();
    const B* const right = b.as<const B>();
    Out* const target = out.as<Out>();
    const StridedLoop<2> loop(out.shape, {&a, &b});
    const std::int64_t leftStep = loop.innerStride(0);
    const std::int64_t rightStep = loop.innerStride(1);
    parallelRanges(loop.total(), loop.total(), 64, [&](std::int64_t begin, std::int64_t end) {
        Out* to = target + begin;
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            const A* x = left + offsets[0];
            const B* y = right + offsets[1];
            // Separate loops for dense and broadcast operands, so that the compiler vectorises them.
            if (leftStep == 1 && rightStep == 1) {
                fetchingAhead(
                    count,
                    [&](std::int64_t i) {
                        fetchBlock<0>(x + i);
                        fetchBlock<0>(y + i);
                        fetchBlock<1>(to + i);
                    },
                    [&](std::int64_t i) { to[i] = f(x[i], y[i]); });
            } else if (leftStep == 1 && rightStep == 0) {
                const B constant = *y;
                for (std::int64_t i = 0; i < count; ++i) to[i] = f(x[i], constant);
            } else if (leftStep == 0 && rightStep == 1) {
                const A constant = *x;
                for (std::int64_t i = 0; i < count; ++i) to[i] = f(constant, y[i]);
            } else {
                for (std::int64_t i = 0; i < count; ++i) to[i] = f(x[i * leftStep], y[i * rightStep]);
            }
            to += count;
        });
    });
}

} // namespace twb
