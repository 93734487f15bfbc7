#pragma once

#include "backends/cpu/host_threads.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/tensor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace twb {

// Reductions in an order that depends on the input's layout but not on the number of threads. The elements
// behind one result are split into chunks of kReduceChunk; each chunk is reduced by itself, and the chunks
// are merged from first to last. Results are therefore the same on every run, and the error of a long sum
// grows with the number of chunks, not of elements.
//
// A Rule defines the reduction:
//   using Value;                                     type of the input's elements
//   using State;                                     accumulator; default-constructed: no element yet
//   static constexpr std::int64_t lanes;             as how many interleaved rows a row may be reduced
//   void add(State&, Value, std::int64_t at) const;  `at`: row-major position along the reduced axes
//   void merge(State&, const State& later) const;
//   static void addRows(State*, const Value*, std::int64_t rows, std::int64_t stride, std::int64_t width);
//       if there is a vectorised form: adds the neighbouring elements of each row to as many states

inline constexpr std::int64_t kReduceChunk = 4096;

/// An input with its axes separated into kept and reduced ones, both row-major.
struct ReductionView {
    TensorView kept;
    TensorView reduced;
};

/// `isReduced` by axis.
ReductionView splitAxes(const TensorView& in, const std::array<bool, kMaxRank>& isReduced);

namespace reduction {

/// Lanes of a long row if the rule has a vectorised form. With AVX-512, sums in f64 fill four registers,
/// which hides the latency of an addition. For shorter rows, merging so many lanes takes too long.
inline constexpr std::int64_t kManyLanes = 32;

template <class Rule>
concept hasVectorForm = requires(typename Rule::State* states, const typename Rule::Value* in) {
    Rule::addRows(states, in, std::int64_t{}, std::int64_t{}, std::int64_t{});
};

/// Adds a row in `lanes` independent sums, which allow as many additions at a time, up to its last multiple
/// of `lanes`. Returns how many elements these are.
template <std::int64_t lanes, class Rule>
std::int64_t addLanes(const Rule& rule, typename Rule::State& state, const typename Rule::Value* in,
                      std::int64_t step, std::int64_t count, std::int64_t at) {
    std::array<typename Rule::State, lanes> lane{};
    std::int64_t i = 0;
    if constexpr (hasVectorForm<Rule>) {
        if (step == 1) {
            Rule::addRows(lane.data(), in, count / lanes, lanes, lanes);
            i = count / lanes * lanes;
        }
    }
    for (; i + lanes <= count; i += lanes)
        for (std::int64_t k = 0; k < lanes; ++k)
            rule.add(lane[static_cast<std::size_t>(k)], in[(i + k) * step], at + i + k);
    for (const auto& part : lane) rule.merge(state, part);
    return i;
}

/// One row of `count` elements, `step` apart; the first is at position `at`.
template <class Rule>
void addRow(const Rule& rule, typename Rule::State& state, const typename Rule::Value* in, std::int64_t step,
            std::int64_t count, std::int64_t at) {
    constexpr std::int64_t lanes = Rule::lanes;
    std::int64_t i = 0;
    if constexpr (hasVectorForm<Rule> && lanes < kManyLanes)
        if (step == 1 && count >= 16 * kManyLanes) i = addLanes<kManyLanes>(rule, state, in, 1, count, at);
    if constexpr (lanes > 1)
        if (count - i >= 2 * lanes) i += addLanes<lanes>(rule, state, in + i * step, step, count - i, at + i);
    for (; i < count; ++i) rule.add(state, in[i * step], at + i);
}

template <class Rule>
typename Rule::State reduceChunk(const Rule& rule, const typename Rule::Value* in,
                                 const StridedLoop<1>& reduced, std::int64_t begin, std::int64_t end) {
    typename Rule::State state{};
    std::int64_t at = begin;
    reduced.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
        addRow(rule, state, in + offsets[0], reduced.innerStride(0), count, at);
        at += count;
    });
    return state;
}

/// The largest number of neighbouring results that are reduced together: their states stay in the fastest
/// cache.
inline constexpr std::int64_t kColumns = 512;

/// Adds the elements [begin, end) along the reduced axes to the states of `columns` neighbouring results,
/// `step` apart in memory.
template <class Rule>
void addColumns(const Rule& rule, const typename Rule::Value* in, const StridedLoop<1>& reduced,
                std::int64_t begin, std::int64_t end, std::int64_t columns, std::int64_t step,
                typename Rule::State* states) {
    std::int64_t at = begin;
    reduced.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
        const auto* const first = in + offsets[0];
        const std::int64_t stride = reduced.innerStride(0);
        if constexpr (hasVectorForm<Rule>) {
            if (step == 1) return Rule::addRows(states, first, count, stride, columns);
        }
        for (std::int64_t i = 0; i < count; ++i, ++at)
            for (std::int64_t c = 0; c < columns; ++c) rule.add(states[c], first[i * stride + c * step], at);
    });
}

/// Calls strip(offset, result, columns) for the neighbouring results [begin, end), at most kColumns at a
/// time, with the offset and the number of the first.
template <class Strip>
void strips(const StridedLoop<1>& kept, std::int64_t begin, std::int64_t end, const Strip& strip) {
    std::int64_t result = begin;
    kept.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
        for (std::int64_t c = 0; c < count; c += kColumns) {
            const std::int64_t columns = std::min(kColumns, count - c);
            strip(offsets[0] + c * kept.innerStride(0), result, columns);
            result += columns;
        }
    });
}

/// Reduces where neighbouring results are nearer in memory than the elements behind one result.
template <class Rule, class Store>
void reduceColumns(const Rule& rule, const typename Rule::Value* in, const StridedLoop<1>& kept,
                   const StridedLoop<1>& reduced, const Store& store) {
    using State = typename Rule::State;
    const std::int64_t results = kept.total();
    const std::int64_t length = reduced.total();
    const std::int64_t work = results * std::max<std::int64_t>(length, 1);
    const std::int64_t step = kept.innerStride(0);
    const std::int64_t chunks = (length + kReduceChunk - 1) / kReduceChunk;
    const auto addChunk = [&](std::int64_t chunk, std::int64_t offset, std::int64_t columns, State* states) {
        addColumns(rule, in + offset, reduced, chunk * kReduceChunk,
                   std::min((chunk + 1) * kReduceChunk, length), columns, step, states);
    };
    const std::int64_t threads = regionThreads();
    constexpr std::int64_t kFewest = 64; // columns of a thread: fewer would share cache lines
    if (results < kFewest * threads && chunks > 1) {
        // Few long results: the chunks are distributed among the threads.
        std::vector<State> states(static_cast<std::size_t>(chunks * results));
        parallelRanges(chunks, work, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t chunk = begin; chunk < end; ++chunk)
                strips(kept, 0, results, [&](std::int64_t offset, std::int64_t result, std::int64_t columns) {
                    addChunk(chunk, offset, columns, states.data() + chunk * results + result);
                });
        });
        for (std::int64_t i = 0; i < results; ++i) {
            State total{};
            for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
                rule.merge(total, states[static_cast<std::size_t>(chunk * results + i)]);
            store(i, total);
        }
        return;
    }
    const std::int64_t share = (results / threads + kFewest - 1) / kFewest * kFewest;
    parallelRanges(
        results, work, std::clamp(share, kFewest, kColumns), [&](std::int64_t from, std::int64_t to) {
            std::array<State, kColumns> total;
            std::array<State, kColumns> part;
            strips(kept, from, to, [&](std::int64_t offset, std::int64_t result, std::int64_t columns) {
                std::fill_n(total.begin(), columns, State{});
                for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
                    std::fill_n(part.begin(), columns, State{});
                    addChunk(chunk, offset, columns, part.data());
                    for (std::int64_t c = 0; c < columns; ++c)
                        rule.merge(total[static_cast<std::size_t>(c)], part[static_cast<std::size_t>(c)]);
                }
                for (std::int64_t c = 0; c < columns; ++c)
                    store(result + c, total[static_cast<std::size_t>(c)]);
            });
        });
}

} // namespace reduction

/// Reduces, and calls store(i, state) once per result, in any order and from any thread.
template <class Rule, class Store>
void reduce(const ReductionView& view, const Rule& rule, const Store& store) {
    using State = typename Rule::State;
    const auto* const in = view.kept.as<const typename Rule::Value>();
    const StridedLoop<1> kept(view.kept.shape, {&view.kept});
    const StridedLoop<1> reduced(view.reduced.shape, {&view.reduced});
    const std::int64_t results = kept.total();
    const std::int64_t length = reduced.total();
    if (results == 0) return;
    const std::int64_t work = results * std::max<std::int64_t>(length, 1);
    const auto nearer = [](std::int64_t a, std::int64_t b) { return a != 0 && std::abs(a) < std::abs(b); };

    if (results > 1 && nearer(kept.innerStride(0), reduced.innerStride(0)))
        return reduction::reduceColumns(rule, in, kept, reduced, store);
    const std::int64_t chunks = (length + kReduceChunk - 1) / kReduceChunk;
    const auto chunkOf = [&](const auto* first, std::int64_t chunk) {
        return reduction::reduceChunk(rule, first, reduced, chunk * kReduceChunk,
                                      std::min((chunk + 1) * kReduceChunk, length));
    };
    if (results < 8 && chunks > 1) {
        // Few long results: the chunks are distributed among the threads.
        std::vector<State> states(static_cast<std::size_t>(chunks));
        std::int64_t result = 0;
        kept.rows(0, results, [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i, ++result) {
                const auto* const first = in + offsets[0] + i * kept.innerStride(0);
                parallelRanges(chunks, length, 1, [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t c = begin; c < end; ++c)
                        states[static_cast<std::size_t>(c)] = chunkOf(first, c);
                });
                State total{};
                for (const State& state : states) rule.merge(total, state);
                store(result, total);
            }
        });
        return;
    }
    parallelRanges(results, work, 1, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t result = begin;
        kept.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i, ++result) {
                const auto* const first = in + offsets[0] + i * kept.innerStride(0);
                State total{};
                for (std::int64_t c = 0; c < chunks; ++c) rule.merge(total, chunkOf(first, c));
                store(result, total);
            }
        });
    });
}

} // namespace twb
