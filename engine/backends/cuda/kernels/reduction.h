#pragma once

#include "backends/cpu/reduction.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/walk.h"

#include <algorithm>
#include <cstdint>

#if defined(__CUDA_ARCH__)
#define TWB_ASSUME(that) __builtin_assume(that)
#else
#define TWB_ASSUME(that)
#endif

namespace twb::cuda {

// Reductions by the rules of ops/reduction_rules.h. If there are too few results to fill a GPU, the elements
// of each are split into pieces, and a second launch merges their states.

/// add(i, load(i)) for every step-th i in [begin, end), in order. Several loads are issued before the first
/// is awaited: single loads would not use the memory's bandwidth.
template <int Loads, class Load, class Add>
TWB_HOST_DEVICE void addLoaded(std::int64_t begin, std::int64_t end, std::int64_t step, const Load& load,
                               const Add& add) {
    std::int64_t i = begin;
    TWB_ROLLED
    for (; i + (Loads - 1) * step < end; i += Loads * step) {
        decltype(load(i)) loaded[Loads];
        TWB_UNROLLED
        for (int n = 0; n < Loads; ++n) loaded[n] = load(i + n * step);
        TWB_UNROLLED
        for (int n = 0; n < Loads; ++n) add(i + n * step, loaded[n]);
    }
    if constexpr (Loads > 1) addLoaded<Loads / 2>(i, end, step, load, add);
}

/// The number of elements that a thread loads at once. One for rules that do not split, whose code is long.
template <class Rule> inline constexpr int kLoads = Rule::lanes > 1 ? 8 : 4;

/// The location of the elements: `T` is the stored type; the rule gets widened values.
template <class T> struct ReductionSource {
    const T* in;
    Walk<1> kept, reduced;
    std::int64_t pieces, pieceLength;

    TWB_HOST_DEVICE std::int64_t begin(std::int64_t piece) const { return piece * pieceLength; }
    TWB_HOST_DEVICE std::int64_t end(std::int64_t piece) const {
        const std::int64_t end = (piece + 1) * pieceLength;
        return end < reduced.total ? end : reduced.total;
    }
    /// A thread's share of the elements [begin, end) behind `first`.
    template <class Rule, class Group>
    TWB_HOST_DEVICE void add(const Group& team, const Rule& rule, typename Rule::State& state, const T* first,
                             std::int64_t begin, std::int64_t end) const {
        const auto take = [&](std::int64_t k, T value) { rule.add(state, widened(value), k); };
        const std::int64_t own = begin + team.index();
        if (isPacked<Rule>()) {
            if constexpr (Rule::lanes > 1) addPacks<kLoads<Rule> / 2>(team, first, begin, end, take);
        } else if (reduced.rank <= 1) {
            const std::int64_t stride = reduced.innerStride(0);
            const auto load = [&](std::int64_t k) { return first[k * stride]; };
            addLoaded<kLoads<Rule>>(own, end, team.size(), load, take);
        } else if (reduced.isSmall) {
            const auto load = [&](std::int64_t k) {
                TWB_ASSUME(reduced.isSmall);
                return first[reduced.at(k)[0]];
            };
            addLoaded<kLoads<Rule> / 2>(own, end, team.size(), load, take);
        } else {
            TWB_ROLLED
            for (std::int64_t k = own; k < end; k += team.size()) take(k, first[reduced.at(k)[0]]);
        }
    }
    /// Whether contiguous elements are loaded as whole packs.
    template <class Rule> TWB_HOST_DEVICE bool isPacked() const {
        return Rule::lanes > 1 && reduced.rank <= 1 && reduced.innerStride(0) == 1;
    }

private:
    /// Whole packs, and single elements before the first and after the last pack.
    template <int Loads, class Group, class Take>
    TWB_HOST_DEVICE void addPacks(const Group& team, const T* first, std::int64_t begin, std::int64_t end,
                                  const Take& take) const {
        constexpr int V = kPackOf<T>;
        using P = Pack<T, V>;
        const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(first + begin) % sizeof(P));
        std::int64_t head =
            past == 0 ? 0 : (static_cast<int>(sizeof(P)) - past) / static_cast<int>(sizeof(T));
        if (head > end - begin) head = end - begin;
        const std::int64_t packs = (end - begin - head) / V;
        const auto* const whole = reinterpret_cast<const P*>(first + begin + head);
        const auto load = [&](std::int64_t p) { return whole[p]; };
        addLoaded<Loads>(team.index(), packs, team.size(), load, [&](std::int64_t p, const P& pack) {
            TWB_UNROLLED
            for (int v = 0; v < V; ++v) take(begin + head + p * V + v, pack.values[v]);
        });
        TWB_ROLLED
        for (std::int64_t i = team.index(); i < end - begin - packs * V; i += team.size()) {
            const std::int64_t k = begin + (i < head ? i : i + packs * V);
            take(k, first[k]);
        }
    }
};

/// One team per piece of each result.
template <class T, class Rule, class Finish> struct ReducePieces {
    ReductionSource<T> source;
    bool isColumns; ///< results are contiguous, so neighbouring threads take neighbouring results
    typename Rule::State* states; ///< null: one piece, finished at once
    Rule rule;
    Finish finish;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const std::int64_t results = source.kept.total;
        const std::int64_t result = isColumns ? row % results : row / source.pieces;
        const std::int64_t piece = isColumns ? row / results : row % source.pieces;
        typename Rule::State state{};
        source.add(team, rule, state, source.in + source.kept.at(result)[0], source.begin(piece),
                   source.end(piece));
        state = team.merged(rule, state);
        if (!team.isFirst()) return;
        if (states)
            states[result * source.pieces + piece] = state;
        else
            finish(result, state);
    }
};

template <class Rule, class Finish> struct MergePieces {
    const typename Rule::State* states;
    std::int64_t pieces;
    Rule rule;
    Finish finish;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t result) const {
        typename Rule::State state{};
        const auto load = [&](std::int64_t i) { return states[result * pieces + i]; };
        addLoaded<4>(team.index(), pieces, team.size(), load,
                     [&](std::int64_t, const typename Rule::State& piece) { rule.merge(state, piece); });
        state = team.merged(rule, state);
        if (team.isFirst()) finish(result, state);
    }
};

/// Reduces, and calls finish(i, state) once per result.
template <class T, class Rule, class Finish>
void reduce(Queue& queue, const ReductionView& view, const Rule& rule, const Finish& finish) {
    using State = typename Rule::State;
    ReductionSource<T> source{view.kept.as<const T>(), walkOf(view.kept), walkOf(view.reduced), 1, 0};
    const std::int64_t results = source.kept.total;
    const std::int64_t length = source.reduced.total;
    if (results == 0) return;
    const auto distance = [](const Walk<1>& walk) { return std::abs(walk.innerStride(0)); };
    const bool isColumns = results > 1 && source.kept.rank > 0 && distance(source.kept) != 0 &&
                           (distance(source.kept) < distance(source.reduced) || length <= 8);
    // Enough threads to hide the memory's latency, but no piece too short for a launch.
    const std::int64_t threads = std::int64_t{2048} * queue.multiprocessors();
    const std::int64_t each = isColumns ? 1 : 256;
    const std::int64_t wanted = threads / std::max<std::int64_t>(results * each, 1);
    const std::int64_t shortest = isColumns ? 64 : 4096;
    source.pieces = std::max<std::int64_t>(std::min(wanted, length / shortest), 1);
    // Each piece consists of whole packs.
    source.pieceLength = ((length + source.pieces - 1) / source.pieces + 15) / 16 * 16;
    source.pieces = std::max<std::int64_t>(
        (length + source.pieceLength - 1) / std::max<std::int64_t>(source.pieceLength, 1), 1);
    const std::size_t bytes =
        source.pieces == 1 ? 0 : static_cast<std::size_t>(results * source.pieces) * sizeof(State);
    const Scratch memory(queue, bytes);
    auto* const states = bytes == 0 ? nullptr : memory.as<State>();
    // Only as many threads as have elements to load.
    const std::int64_t share = source.template isPacked<Rule>() ? kLoads<Rule> / 2 * kPackOf<T> : 8;
    forEachRow(queue, results * source.pieces, source.pieceLength * 8 / share,
               ReducePieces<T, Rule, Finish>{source, isColumns, states, rule, finish},
               isColumns ? TeamOf::one : TeamOf::rowLength);
    if (states)
        forEachRow(queue, results, source.pieces,
                   MergePieces<Rule, Finish>{states, source.pieces, rule, finish});
}

} // namespace twb::cuda
