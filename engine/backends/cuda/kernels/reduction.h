#pragma once

#include "backends/cpu/reduction.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/walk.h"

#include <algorithm>
#include <cstdint>

namespace twb::cuda {

// Reductions by the rules of ops/reduction_rules.h. What is behind one result is cut into pieces where there
// are too few results to keep a GPU busy; the pieces' states are merged by a second launch.

/// Where the elements lie: `T` is what is stored, the rule sees it widened.
template <class T> struct ReductionSource {
    const T* in;
    Walk<1> kept, reduced;
    std::int64_t pieces, pieceLength;

    TWB_HOST_DEVICE std::int64_t begin(std::int64_t piece) const { return piece * pieceLength; }
    TWB_HOST_DEVICE std::int64_t end(std::int64_t piece) const {
        const std::int64_t end = (piece + 1) * pieceLength;
        return end < reduced.total ? end : reduced.total;
    }
    /// Every step-th of the elements [begin, end) behind `first`, one by one.
    template <class Rule>
    TWB_HOST_DEVICE void addStrided(const Rule& rule, typename Rule::State& state, const T* first,
                                    std::int64_t begin, std::int64_t end, std::int64_t step) const {
        if constexpr (Rule::splits) {
            // Several loads under way at a time, where it is plain where they go.
            if (reduced.rank <= 1) {
                const std::int64_t stride = reduced.innerStride(0);
                for (std::int64_t k = begin; k < end; k += step)
                    rule.add(state, widened(first[k * stride]), k);
                return;
            }
        }
        TWB_ROLLED
        for (std::int64_t k = begin; k < end; k += step) rule.add(state, widened(first[reduced.at(k)[0]]), k);
    }
};

/// A team for each piece of each result.
template <class T, class Rule, class Finish> struct ReducePieces {
    ReductionSource<T> source;
    bool isColumns;               ///< results lie side by side, so neighbours take neighbouring ones
    typename Rule::State* states; ///< null: one piece, finished at once
    Rule rule;
    Finish finish;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const std::int64_t results = source.kept.total;
        const std::int64_t result = isColumns ? row % results : row / source.pieces;
        const std::int64_t piece = isColumns ? row / results : row % source.pieces;
        typename Rule::State state{};
        const T* const first = source.in + source.kept.at(result)[0];
        const std::int64_t begin = source.begin(piece);
        const std::int64_t end = source.end(piece);
        std::int64_t rest = begin; // where the elements that are taken one by one begin
        if constexpr (Rule::splits) {
            constexpr int V = kPackOf<T>;
            if (source.reduced.rank <= 1 && source.reduced.innerStride(0) == 1 &&
                isPackAligned<T, V>(first + begin)) {
                const std::int64_t packs = (end - begin) / V;
                for (std::int64_t p = team.index(); p < packs; p += team.size()) {
                    const auto pack = loadPack<T, V>(first + begin + p * V, 1);
                    for (int v = 0; v < V; ++v) rule.add(state, widened(pack.values[v]), begin + p * V + v);
                }
                rest = begin + packs * V;
            }
        }
        source.addStrided(rule, state, first, rest + team.index(), end, team.size());
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
        for (std::int64_t i = team.index(); i < pieces; i += team.size())
            rule.merge(state, states[result * pieces + i]);
        state = team.merged(rule, state);
        if (team.isFirst()) finish(result, state);
    }
};

/// Reduces and calls finish(i, state) once for each result.
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
    // Enough threads to hide the memory's latency, and no piece shorter than what is worth a launch.
    const std::int64_t threads = std::int64_t{2048} * queue.multiprocessors();
    const std::int64_t each = isColumns ? 1 : 256;
    const std::int64_t wanted = threads / std::max<std::int64_t>(results * each, 1);
    const std::int64_t shortest = isColumns ? 64 : 4096;
    source.pieces = std::clamp<std::int64_t>(std::min(wanted, length / shortest), 1, 1024);
    // Whole packs in each piece.
    source.pieceLength = ((length + source.pieces - 1) / source.pieces + 15) / 16 * 16;
    source.pieces = std::max<std::int64_t>(
        (length + source.pieceLength - 1) / std::max<std::int64_t>(source.pieceLength, 1), 1);
    const std::size_t bytes =
        source.pieces == 1 ? 0 : static_cast<std::size_t>(results * source.pieces) * sizeof(State);
    const Scratch memory(queue, bytes);
    auto* const states = bytes == 0 ? nullptr : memory.as<State>();
    forEachRow(queue, results * source.pieces, source.pieceLength,
               ReducePieces<T, Rule, Finish>{source, isColumns, states, rule, finish},
               isColumns ? TeamOf::one : TeamOf::rowLength);
    if (states)
        forEachRow(queue, results, source.pieces,
                   MergePieces<Rule, Finish>{states, source.pieces, rule, finish});
}

} // namespace twb::cuda
