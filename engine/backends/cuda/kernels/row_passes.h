#pragma once

#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/reduction.h"
#include "backends/cuda/kernels/rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace twb::cuda {

// Kernels that measure each row and then rewrite its elements with the result. A Work defines both:
//   using State;                                      default-constructed: the state of no elements
//   void merge(State&, const State& other) const;     called in any order
//   State measure(team, elements, place) const;       returns the same state to all threads of the team
//   void rewrite(team, elements, place, const State&) const;
// `elements` are those of a row or of a piece of it:
//   each(f)                 calls f(x, i) for this thread's elements: x[v] is element i + v, widened
//   rewrite(f, factors...)  replaces each by f(x, i, the factors' elements i, widened)
//   begin(), count()        the range of all threads' elements
//   isHeld                  whether elements stay in registers, together with changes that each(f) makes to x

/// How a row's elements are read: once, with `packs` packs per thread kept in registers (Held), or again for
/// each pass.
struct Strided {};
struct Streamed {};
template <int P> struct Held { static constexpr int packs = P; };

/// One row of a tensor that broadcasts to the rows. A null pointer stands for zeros.
template <class T, int N> struct RowFactor {
    const Walk<N>* row;
    int k; ///< its index among the tensors of the walk
    const T* first;
    bool isPlain;
    std::int64_t stride;

    TWB_HOST_DEVICE RowFactor(const Walk<N>& along, int tensor, const T* from)
        : row(&along), k(tensor), first(from), isPlain(along.rank <= 1), stride(along.innerStride(tensor)) {}

    /// V elements starting at i; a single one if the row has several axes.
    template <int V> TWB_HOST_DEVICE Pack<T, V> at(std::int64_t i) const {
        if (!first) return {};
        if constexpr (V == 1) return {{first[isPlain ? i * stride : row->at(i)[k]]}};
        return loadPack<T, V>(first + i * stride, stride);
    }
};

template <int N> struct RowPlace {
    std::int64_t index;
    std::array<std::int64_t, N> first; ///< the offset of the row's first element in each tensor
    const Walk<N>& row;

    /// The k-th tensor of the walk.
    template <class T> TWB_HOST_DEVICE RowFactor<T, N> factor(const T* data, int k) const {
        return {row, k, data ? data + first[k] : nullptr};
    }
};

/// Elements [from, to) of a row of any layout. `in` and `out` point to the row's element 0.
template <class Group, class T, class Out, int N> class StridedElements {
public:
    static constexpr bool isHeld = false;

    TWB_HOST_DEVICE StridedElements(const Group& team, const Walk<N>& row, const T* in, Out* out,
                                    std::int64_t from, std::int64_t to)
        : m_team(team), m_row(row), m_in(in), m_out(out), m_begin(from), m_end(to), m_isPlain(row.rank <= 1),
          m_inStride(row.innerStride(0)), m_outStride(row.innerStride(N - 1)) {}

    TWB_HOST_DEVICE std::int64_t begin() const { return m_begin; }
    TWB_HOST_DEVICE std::int64_t count() const { return m_end - m_begin; }

    template <class F> TWB_HOST_DEVICE void each(const F& f) const {
        const std::int64_t step = m_team.size();
        std::int64_t i = m_begin + m_team.index();
        // Issues several loads at once if addresses are simple.
        for (; m_isPlain && i + (kAtOnce - 1) * step < m_end; i += kAtOnce * step) {
            Wide<T> x[kAtOnce][1];
            TWB_UNROLLED
            for (int k = 0; k < kAtOnce; ++k) x[k][0] = widened(m_in[(i + k * step) * m_inStride]);
            TWB_UNROLLED
            for (int k = 0; k < kAtOnce; ++k) f(x[k], i + k * step);
        }
        TWB_ROLLED
        for (; i < m_end; i += step) {
            Wide<T> x[1] = {widened(m_in[m_isPlain ? i * m_inStride : m_row.at(i)[0]])};
            f(x, i);
        }
    }
    template <class F, class... Factors>
    TWB_HOST_DEVICE void rewrite(const F& f, const Factors&... factors) const {
        each([&](const Wide<T>(&x)[1], std::int64_t i) {
            m_out[m_isPlain ? i * m_outStride : m_row.at(i)[N - 1]] =
                stored<Out>(f(x[0], i, widened(factors.template at<1>(i).values[0])...));
        });
    }

private:
    static constexpr int kAtOnce = 4;
    const Group& m_team;
    const Walk<N>& m_row;
    const T* m_in;
    Out* m_out;
    std::int64_t m_begin, m_end;
    bool m_isPlain;
    std::int64_t m_inStride, m_outStride;
};

/// A single store; for the struct, the compiler would emit several.
template <class T, int V> TWB_HOST_DEVICE void storeAtOnce(T* at, const Pack<T, V>& pack) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(pack) == sizeof(uint4)) {
        const auto words = std::bit_cast<std::array<unsigned, 4>>(pack);
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
                     "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
    } else
#endif
        *reinterpret_cast<Pack<T, V>*>(at) = pack;
}

/// Contiguous elements: aligned packs, and single elements before and after them.
template <class T, class Out> struct DensePiece {
    static constexpr int V = kPackOf<T, Out>;
    using W = Wide<T>;
    /// One thread's packs, `step` packs apart.
    template <int P> using Batch = W[P][V];

    const T* in; ///< points to element `begin` of the row
    Out* out;
    std::int64_t begin, count, head, packs;

    TWB_HOST_DEVICE DensePiece(const T* from, Out* to, std::int64_t first, std::int64_t size)
        : in(from), out(to), begin(first), count(size),
          head(toBoundary(from) < size ? toBoundary(from) : size), packs((size - head) / V) {}

    /// The number of elements before the next aligned address.
    template <class E> TWB_HOST_DEVICE static std::int64_t toBoundary(const E* at) {
        return static_cast<std::int64_t>((V - reinterpret_cast<std::uintptr_t>(at) / sizeof(E) % V) % V);
    }
    TWB_HOST_DEVICE std::int64_t singles() const { return count - packs * V; }
    TWB_HOST_DEVICE std::int64_t single(std::int64_t k) const { return k < head ? k : packs * V + k; }

    /// Loads packs starting at `first`.
    template <int P> TWB_HOST_DEVICE void load(std::int64_t first, std::int64_t step, Batch<P>& x) const {
        const T* const from = in + head + first * V;
        eachPack<P>(first, step, [&](int p, std::int64_t offset) {
            const auto pack = *reinterpret_cast<const Pack<T, V>*>(from + offset);
            TWB_UNROLLED
            for (int v = 0; v < V; ++v) x[p][v] = widened(pack.values[v]);
        });
    }
    template <int P, class F>
    TWB_HOST_DEVICE void each(std::int64_t first, std::int64_t step, Batch<P>& x, const F& f) const {
        const std::int64_t from = begin + head + first * V;
        eachPack<P>(first, step, [&](int p, std::int64_t offset) { f(x[p], from + offset); });
    }
    template <int P, class F, class... Factors>
    TWB_HOST_DEVICE void rewrite(std::int64_t first, std::int64_t step, const Batch<P>& x, const F& f,
                                 const Factors&... factors) const {
        const std::int64_t from = head + first * V;
        eachPack<P>(first, step, [&](int p, std::int64_t offset) {
            store(from + offset, x[p], f, factors.template at<V>(begin + from + offset)...);
        });
    }
    template <class F, class... Factors>
    TWB_HOST_DEVICE void rewriteSingle(std::int64_t i, W x, const F& f, const Factors&... factors) const {
        out[i] = stored<Out>(f(x, begin + i, widened(factors.template at<1>(begin + i).values[0])...));
    }

private:
    template <int P, class F>
    TWB_HOST_DEVICE void eachPack(std::int64_t first, std::int64_t step, const F& f) const {
        const std::int64_t left = packs - first;
        TWB_UNROLLED
        for (int p = 0; p < P; ++p)
            if (p * step < left) f(p, p * step * V);
    }
    template <class F, class... Packs>
    TWB_HOST_DEVICE void store(std::int64_t at, const W (&x)[V], const F& f, const Packs&... factors) const {
        Pack<Out, V> y;
        TWB_UNROLLED
        for (int v = 0; v < V; ++v)
            y.values[v] = stored<Out>(f(x[v], begin + at + v, widened(factors.values[v])...));
        storeAtOnce(out + at, y);
    }
};

template <int P, class Group, class T, class Out> class HeldElements {
public:
    static constexpr bool isHeld = true;

    TWB_HOST_DEVICE HeldElements(const Group& team, const DensePiece<T, Out>& piece)
        : m_team(team), m_piece(piece) {
        if (hasSingle()) m_single[0] = widened(piece.in[single()]);
        piece.template load<P>(team.index(), team.size(), m_packs);
    }

    TWB_HOST_DEVICE std::int64_t begin() const { return m_piece.begin; }
    TWB_HOST_DEVICE std::int64_t count() const { return m_piece.count; }

    template <class F> TWB_HOST_DEVICE void each(const F& f) {
        m_piece.template each<P>(m_team.index(), m_team.size(), m_packs, f);
        if (hasSingle()) f(m_single, m_piece.begin + single());
    }
    template <class F, class... Factors>
    TWB_HOST_DEVICE void rewrite(const F& f, const Factors&... factors) const {
        m_piece.template rewrite<P>(m_team.index(), m_team.size(), m_packs, f, factors...);
        if (hasSingle()) m_piece.rewriteSingle(single(), m_single[0], f, factors...);
    }

private:
    TWB_HOST_DEVICE bool hasSingle() const { return m_team.index() < m_piece.singles(); }
    TWB_HOST_DEVICE std::int64_t single() const { return m_piece.single(m_team.index()); }

    const Group& m_team;
    const DensePiece<T, Out>& m_piece;
    typename DensePiece<T, Out>::template Batch<P> m_packs;
    Wide<T> m_single[1] = {};
};

template <class Group, class T, class Out> class StreamedElements {
public:
    static constexpr bool isHeld = false;

    TWB_HOST_DEVICE StreamedElements(const Group& team, const DensePiece<T, Out>& piece)
        : m_team(team), m_piece(piece) {}

    TWB_HOST_DEVICE std::int64_t begin() const { return m_piece.begin; }
    TWB_HOST_DEVICE std::int64_t count() const { return m_piece.count; }

    template <class F> TWB_HOST_DEVICE void each(const F& f) const {
        eachBatch(
            [&](std::int64_t first, auto& x) { m_piece.template each<kAtOnce>(first, m_team.size(), x, f); });
        eachSingle([&](std::int64_t i, Wide<T>(&x)[1]) { f(x, m_piece.begin + i); });
    }
    template <class F, class... Factors>
    TWB_HOST_DEVICE void rewrite(const F& f, const Factors&... factors) const {
        eachBatch([&](std::int64_t first, const auto& x) {
            m_piece.template rewrite<kAtOnce>(first, m_team.size(), x, f, factors...);
        });
        eachSingle(
            [&](std::int64_t i, const Wide<T>(&x)[1]) { m_piece.rewriteSingle(i, x[0], f, factors...); });
    }

private:
    static constexpr int kAtOnce = 2;
    template <class F> TWB_HOST_DEVICE void eachBatch(const F& f) const {
        TWB_ROLLED
        for (std::int64_t first = m_team.index(); first < m_piece.packs; first += kAtOnce * m_team.size()) {
            typename DensePiece<T, Out>::template Batch<kAtOnce> x;
            m_piece.template load<kAtOnce>(first, m_team.size(), x);
            f(first, x);
        }
    }
    template <class F> TWB_HOST_DEVICE void eachSingle(const F& f) const {
        TWB_ROLLED
        for (std::int64_t k = m_team.index(); k < m_piece.singles(); k += m_team.size()) {
            Wide<T> x[1] = {widened(m_piece.in[m_piece.single(k)])};
            f(m_piece.single(k), x);
        }
    }

    const Group& m_team;
    const DensePiece<T, Out>& m_piece;
};

/// Calls f(elements, place) for elements [from, to) of a row.
template <class How, class Group, class T, class Out, int N, class F>
TWB_HOST_DEVICE void withElements(const Group& team, const Rows<T, Out, N>& rows, std::int64_t index,
                                  std::int64_t from, std::int64_t to, const F& f) {
    const RowPlace<N> place{index, rows.kept.at(index), rows.row};
    const T* const in = rows.in + place.first[0];
    Out* const out = rows.out + place.first[N - 1];
    if constexpr (std::is_same_v<How, Strided>) {
        StridedElements<Group, T, Out, N> elements(team, rows.row, in, out, from, to);
        f(elements, place);
    } else {
        const DensePiece<T, Out> piece(in + from, out + from, from, to - from);
        if constexpr (std::is_same_v<How, Streamed>) {
            StreamedElements<Group, T, Out> elements(team, piece);
            f(elements, place);
        } else {
#if !defined(__CUDACC__)
            // On the host, a team may be a single thread.
            if (piece.packs > How::packs * team.size() || piece.singles() > team.size())
                return withElements<Streamed>(team, rows, index, from, to, f);
#endif
            HeldElements<How::packs, Group, T, Out> elements(team, piece);
            f(elements, place);
        }
    }
}

/// Whether rows are contiguous and can be accessed by packs, with the same alignment in input and result.
template <class T, class Out, int N> bool isInPacks(const Rows<T, Out, N>& rows) {
    constexpr int V = kPackOf<T, Out>;
    if (rows.row.rank != 1 || rows.row.innerStride(0) != 1 || rows.row.innerStride(N - 1) != 1) return false;
    for (int axis = 0; axis < rows.kept.rank; ++axis) {
        const auto& strides = rows.kept.strides[static_cast<std::size_t>(axis)];
        if ((strides[0] - strides[N - 1]) % V != 0) return false;
    }
    using Piece = DensePiece<T, Out>;
    return Piece::toBoundary(rows.in) == Piece::toBoundary(rows.out);
}

/// The division of rows into pieces if there are too few rows to occupy a GPU.
struct RowCut {
    std::int64_t pieces = 1, pieceLength = 0;
    bool isColumns; ///< neighbouring rows are interleaved, so neighbouring threads take neighbouring rows

    template <class R> RowCut(const Queue& queue, const R& rows) : isColumns(teamOf(rows) == TeamOf::one) {
        const std::int64_t multiprocessors = queue.multiprocessors();
        // Enough threads to hide the memory's latency, but no piece too short for a launch.
        const std::int64_t few = multiprocessors * (isColumns ? 512 : 1);
        const std::int64_t shortest = isColumns ? 256 : std::int64_t{1} << 15;
        if (rows.kept.total > 0 && rows.kept.total < few)
            pieces = std::clamp<std::int64_t>(std::min(4 * few / rows.kept.total, rows.length() / shortest),
                                              1, 1024);
        // Each piece consists of whole packs.
        pieceLength = ((rows.length() + pieces - 1) / pieces + 15) / 16 * 16;
        if (pieceLength > 0) pieces = (rows.length() + pieceLength - 1) / pieceLength;
    }
};

/// The piece that a team handles, by the team's number.
template <class R> struct RowPieces {
    R rows;
    RowCut cut;

    struct Piece {
        std::int64_t row, begin, end;
        std::int64_t index; ///< row by row
    };
    TWB_HOST_DEVICE Piece operator[](std::int64_t team) const {
        const std::int64_t row = cut.isColumns ? team % rows.kept.total : team / cut.pieces;
        const std::int64_t piece = cut.isColumns ? team / rows.kept.total : team % cut.pieces;
        const std::int64_t begin = piece * cut.pieceLength;
        const std::int64_t end = begin + cut.pieceLength;
        return {row, begin, end < rows.length() ? end : rows.length(), row * cut.pieces + piece};
    }
};

template <class How, class R, class Work> struct MeasurePieces {
    RowPieces<R> pieces;
    Work work;
    typename Work::State* states;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto piece = pieces[index];
        withElements<How>(team, pieces.rows, piece.row, piece.begin, piece.end,
                          [&](auto& elements, const auto& place) {
                              const auto state = work.measure(team, elements, place);
                              if (team.isFirst()) states[piece.index] = state;
                          });
    }
};

template <class State> struct StoreState {
    State* states;
    TWB_HOST_DEVICE void operator()(std::int64_t row, const State& state) const { states[row] = state; }
};

template <class How, class R, class Work> struct RewritePieces {
    RowPieces<R> pieces;
    Work work;
    const typename Work::State* states;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto piece = pieces[index];
        withElements<How>(team, pieces.rows, piece.row, piece.begin, piece.end,
                          [&](auto& elements, const auto& place) {
                              work.rewrite(team, elements, place, states[piece.row]);
                          });
    }
};

/// Each team measures and rewrites a whole row.
template <class How, class R, class Work> struct RewriteRows {
    R rows;
    Work work;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        withElements<How>(team, rows, row, 0, rows.length(), [&](auto& elements, const auto& place) {
            work.rewrite(team, elements, place, work.measure(team, elements, place));
        });
    }
};

/// Calls f(Held, length) for rows that fit into the registers of a team; `length` is the argument for
/// forEachRow(). Returns false for other rows.
template <class T, class Out, int N, class F> bool withHeld(const Rows<T, Out, N>& rows, const F& f) {
    constexpr int V = kPackOf<T, Out>;
    constexpr int most = 16 / V < 4 ? 16 / V : 4;
    const std::int64_t length = rows.length();
    constexpr std::int64_t warp = 32;
    constexpr std::int64_t block = 512;
    const std::int64_t packs = length / V;
    if (packs <= warp)
        f(Held<1>{}, length);
    else if (packs <= warp * most && length <= 1024)
        f(Held<most>{}, length);
    else if (packs <= block * most)
        f(Held<most>{},
          std::max<std::int64_t>(length + 7, 1025)); // forces a block of at least length / 8 threads
    else
        return false;
    return true;
}

/// Calls run(Streamed or Strided), depending on the layout. Always Strided for different dtypes, since
/// kernels for all pairs would be too many.
template <class T, class Out, int N, class F> void withLayout(const Rows<T, Out, N>& rows, const F& run) {
    if constexpr (std::is_same_v<T, Out>)
        if (isInPacks(rows)) return run(Streamed{});
    run(Strided{});
}

/// Measures each row: states[i] is the state of row i.
template <class R, class Work>
void measureRows(Queue& queue, const R& rows, const RowCut& cut, const Work& work,
                 typename Work::State* states) {
    using State = typename Work::State;
    const std::int64_t teams = rows.kept.total * cut.pieces;
    const Scratch memory(queue, cut.pieces == 1 ? 0 : static_cast<std::size_t>(teams) * sizeof(State));
    auto* const ofPieces = cut.pieces == 1 ? states : memory.as<State>();
    withLayout(rows, [&](auto how) {
        forEachRow(queue, teams, cut.pieceLength,
                   MeasurePieces<decltype(how), R, Work>{{rows, cut}, work, ofPieces}, teamOf(rows));
    });
    if (cut.pieces > 1)
        forEachRow(queue, rows.kept.total, cut.pieces,
                   MergePieces<Work, StoreState<State>>{ofPieces, cut.pieces, work, {states}});
}

/// Measures and rewrites all rows.
template <class T, class Out, int N, class Work>
void rewriteRows(Queue& queue, const Rows<T, Out, N>& rows, const Work& work) {
    using R = Rows<T, Out, N>;
    using State = typename Work::State;
    if (rows.length() == 0 || rows.kept.total == 0) return;
    const auto runWhole = [&](auto how, std::int64_t length) {
        forEachRow(queue, rows.kept.total, length, RewriteRows<decltype(how), R, Work>{rows, work},
                   teamOf(rows));
    };
    if constexpr (std::is_same_v<T, Out>)
        if (isInPacks(rows) && withHeld(rows, runWhole)) return;
    const RowCut cut(queue, rows);
    if (cut.pieces == 1) return withLayout(rows, [&](auto how) { runWhole(how, rows.length()); });
    const Scratch states(queue, static_cast<std::size_t>(rows.kept.total) * sizeof(State));
    measureRows(queue, rows, cut, work, states.as<State>());
    withLayout(rows, [&](auto how) {
        forEachRow(queue, rows.kept.total * cut.pieces, cut.pieceLength,
                   RewritePieces<decltype(how), R, Work>{{rows, cut}, work, states.as<State>()},
                   teamOf(rows));
    });
}

} // namespace twb::cuda
