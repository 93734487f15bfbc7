#pragma once

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/tensor.h"

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
//   static constexpr bool splits;                    whether a row may be reduced as several interleaved ones
//   void add(State&, Value, std::int64_t at) const;  `at`: row-major position along the reduced axes
//   void merge(State&, const State& later) const;

inline constexpr std::int64_t kReduceChunk = 4096;

/// An input with its axes separated into kept and reduced ones, both row-major.
struct ReductionView {
    TensorView kept;
    TensorView reduced;
};

/// `isReduced` by axis.
ReductionView splitAxes(const TensorView& in, const std::array<bool, kMaxRank>& isReduced);

namespace reduction {

/// One row of `count` elements, `step` apart; the first is at position `at`.
template <class Rule>
void addRow(const Rule& rule, typename Rule::State& state, const typename Rule::Value* in, std::int64_t step,
            std::int64_t count, std::int64_t at) {
    constexpr std::int64_t lanes = 8;
    std::int64_t i = 0;
    if constexpr (Rule::splits) {
        if (count >= 2 * lanes) {
            // Independent lanes allow several additions at a time.
            std::array<typename Rule::State, lanes> lane{};
            for (; i + lanes <= count; i += lanes)
                for (std::int64_t k = 0; k < lanes; ++k)
                    rule.add(lane[static_cast<std::size_t>(k)], in[(i + k) * step], at + i + k);
            for (const auto& part : lane) rule.merge(state, part);
        }
    }
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

inline constexpr std::int64_t kColumns = 64; ///< the largest number of results that are reduced together

/// Reduces `columns` neighbouring results (≤ kColumns), `step` apart in memory; the first is number `result`.
template <class Rule, class Store>
void reduceColumns(const Rule& rule, const typename Rule::Value* in, const StridedLoop<1>& reduced,
                   std::int64_t columns, std::int64_t step, std::int64_t result, const Store& store) {
    using State = typename Rule::State;
    std::array<State, kColumns> total{};
    std::array<State, kColumns> chunk;
    for (std::int64_t begin = 0; begin < reduced.total(); begin += kReduceChunk) {
        const std::int64_t end = std::min(begin + kReduceChunk, reduced.total());
        std::fill_n(chunk.begin(), columns, State{});
        std::int64_t at = begin;
        reduced.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i, ++at) {
                const auto* const row = in + offsets[0] + i * reduced.innerStride(0);
                for (std::int64_t c = 0; c < columns; ++c)
                    rule.add(chunk[static_cast<std::size_t>(c)], row[c * step], at);
            }
        });
        for (std::int64_t c = 0; c < columns; ++c)
            rule.merge(total[static_cast<std::size_t>(c)], chunk[static_cast<std::size_t>(c)]);
    }
    for (std::int64_t c = 0; c < columns; ++c) store(result + c, total[static_cast<std::size_t>(c)]);
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

    if (results > 1 && nearer(kept.innerStride(0), reduced.innerStride(0))) {
        parallelRanges(results, work, reduction::kColumns, [&](std::int64_t begin, std::int64_t end) {
            std::int64_t result = begin;
            kept.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
                const std::int64_t step = kept.innerStride(0);
                for (std::int64_t c = 0; c < count; c += reduction::kColumns) {
                    const std::int64_t columns = std::min(reduction::kColumns, count - c);
                    reduction::reduceColumns(rule, in + offsets[0] + c * step, reduced, columns, step, result,
                                             store);
                    result += columns;
                }
            });
        });
        return;
    }
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
