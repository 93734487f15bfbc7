// Compiled once with AVX2 and once with AVX-512. It uses no inline function of other headers: the linker
// keeps one copy of such a function for the whole program, which might be the one with AVX-512.

#include "backends/cpu/packed_product_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__)

#include "backends/cpu/vector_functions.h"

namespace twb::TWB_ISA {
namespace {

// Of a product that the registers hold.
#if defined(__AVX512F__)
constexpr int kMostRows = 9;
constexpr int kMostPacks = 3;
#else
constexpr int kMostRows = 6;
constexpr int kMostPacks = 2;
#endif
constexpr std::int64_t kTileColumns = kMostPacks * kWidth; ///< the most of a panel

/// Elements of x that stay in the second cache while all panels are read.
constexpr std::int64_t kBlockElements = 262144;

std::int64_t smallerOf(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// x · (1 + erf(x / √2)) / 2. Its error for negative x is that of the sum of 1 and −1: as small as that of a
/// product's sums, but not relative to the result. It takes a third as long as gelu().
Pack geluOfSum(Pack given) {
    const Pack z = smaller(all(3.92F), larger(all(-3.92F), given * all(0.70710678118654752440F)));
    const Pack s = z * z;
    const Pack p = polynomial(
        s, {1.12837915F, 0.190407147F, 0.0527488188F, 0.00376564791F, 0.00028488373F, 2.05008595e-06F});
    const Pack q =
        polynomial(s, {1, 0.502076681F, 0.114109398F, 0.014969278F, 0.00116254361F, 3.80917541e-05F});
#if defined(__AVX512F__)
    const Pack guess = _mm512_rcp14_ps(q);
    const Pack erf = z * p * (guess * (all(2) - q * guess));
#else
    const Pack erf = z * p / q;
#endif
    const Pack share = larger(all(0), all(1) + erf);
    return all(0.5F) * given * choose(isLess(given, all(-5.54F)), all(0), share);
}

/// Applies the ending's function to rows of y, which are in the cache.
template <class F> void toRows(float* y, std::int64_t stride, int rows, std::int64_t count, const F& f) {
    for (int r = 0; r < rows; ++r) each(y + r * stride, y + r * stride, count, f);
}

void finish(const PanelEnding& ending, float* y, std::int64_t stride, int rows, std::int64_t count) {
    const Pack a = all(ending.alpha);
    switch (ending.function) {
    case PanelEnding::Function::none:
        return;
    case PanelEnding::Function::gelu:
        return toRows(y, stride, rows, count, geluOfSum);
    case PanelEnding::Function::geluTanh:
        return toRows(y, stride, rows, count, geluTanh);
    case PanelEnding::Function::swish:
        return toRows(y, stride, rows, count, [a](Pack x) { return swish(x, a); });
    case PanelEnding::Function::hardSwish:
        return toRows(y, stride, rows, count, hardSwish);
    case PanelEnding::Function::leakyRelu:
        return toRows(y, stride, rows, count, [a](Pack x) { return choose(isLess(x, all(0)), a * x, x); });
    }
}

/// The width of a panel that has `columns` columns of y.
constexpr std::int64_t wholeUnits(std::int64_t columns) {
    return (columns + kUnitColumns - 1) / kUnitColumns * kUnitColumns;
}

/// Some rows and columns of y, for one range of rows of w.
struct Tile {
    const float* x = nullptr;
    std::int64_t step = 0; ///< elements from one row of x to the next
    std::int64_t inner = 0;
    const float* w = nullptr;
    float* y = nullptr;
    std::int64_t columns = 0;     ///< of y
    std::int64_t lastCount = 0;   ///< columns of the last pack
    bool isFirst = false;         ///< range: y has no sums yet
    bool isLast = false;          ///< range: the ending follows
    const float* bias = nullptr;  ///< of the first column; may be null
    const float* added = nullptr; ///< of the first element; may be null
};

/// Stores ended(sum, row, pack) for each sum of a tile.
template <int rows, int packs, class Ended>
[[gnu::always_inline]] inline void storeTile(const Tile& t, const Pack (&sums)[rows][packs],
                                             const Ended& ended) {
    const bool isPartial = t.lastCount < kWidth;
#pragma GCC unroll 16
    for (int p = 0; p < packs; ++p)
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            float* const to = t.y + r * t.columns + p * kWidth;
            const Pack sum = ended(sums[r][p], r, p);
            if (p == packs - 1 && isPartial)
                storeSome(to, sum, t.lastCount);
            else
                store(to, sum);
        }
}

template <int rows, int packs> void multiplyTile(const Tile& t, Ahead ahead, const PanelEnding& ending) {
    Pack sums[rows][packs];
    const bool isPartial = t.lastCount < kWidth;
    const auto some = [&](const float* from, int p) {
        return p == packs - 1 && isPartial ? loadSome(from, t.lastCount) : load(from);
    };
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p)
            sums[r][p] = t.isFirst ? all(0) : some(t.y + r * t.columns + p * kWidth, p);
    constexpr std::int64_t width = wholeUnits(packs * kWidth); // of the panel
    const float* x = t.x;
    const float* w = t.w;
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < t.inner; ++k, ++x, w += width) {
        Pack factors[packs];
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p) factors[p] = load(w + p * kWidth);
        ahead.fetch();
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const Pack element = all(x[r * t.step]);
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) sums[r][p] += element * factors[p];
        }
    }
    if (!t.isLast) return storeTile(t, sums, [](Pack sum, int, int) { return sum; });
    Pack bias[packs];
#pragma GCC unroll 16
    for (int p = 0; p < packs; ++p) bias[p] = t.bias ? some(t.bias + p * kWidth, p) : all(0);
    const Pack least = all(ending.least);
    const Pack most = all(ending.most);
    if (t.added)
        storeTile(t, sums, [&](Pack sum, int r, int p) {
            return smaller(most,
                           larger(least, sum + bias[p] + some(t.added + r * t.columns + p * kWidth, p)));
        });
    else
        storeTile(t, sums, [&](Pack sum, int, int p) { return smaller(most, larger(least, sum + bias[p])); });
    finish(ending, t.y, t.columns, rows, (packs - 1) * kWidth + t.lastCount);
}

template <int rows> void multiplyPacks(int packs, const Tile& t, Ahead ahead, const PanelEnding& ending) {
    if constexpr (kMostPacks > 2)
        if (packs == 3) return multiplyTile<rows, kMostPacks>(t, ahead, ending);
    if (packs == 2) return multiplyTile<rows, 2>(t, ahead, ending);
    multiplyTile<rows, 1>(t, ahead, ending);
}

template <int most = kMostRows>
void multiplyRows(int rows, int packs, const Tile& t, Ahead ahead, const PanelEnding& ending) {
    if (rows == most) return multiplyPacks<most>(packs, t, ahead, ending);
    if constexpr (most > 1) multiplyRows<most - 1>(rows, packs, t, ahead, ending);
}

/// Computes rows of y from one panel. `next`: the panel that is read after it; may be null.
void multiplyPanel(const Tile& tile, std::int64_t rows, std::int64_t columns, const float* next,
                   const PanelEnding& ending) {
    const std::int64_t parts = (rows + kMostRows - 1) / kMostRows;
    const std::int64_t packs = (columns + kWidth - 1) / kWidth;
    for (std::int64_t i = 0; i < parts; ++i) {
        const IndexRange range = partOf(rows, i, parts);
        Tile part = tile;
        part.lastCount = columns - (packs - 1) * kWidth;
        part.x += range.begin * tile.step;
        part.y += range.begin * tile.columns;
        if (tile.added) part.added += range.begin * tile.columns;
        const Ahead ahead = next ? Ahead(next, tile.inner, wholeUnits(columns), i, parts) : Ahead();
        multiplyRows(static_cast<int>(range.end - range.begin), static_cast<int>(packs), part, ahead, ending);
    }
}

void multiply(const PanelSizes& s, const float* x, const float* w, IndexRange rows, IndexRange panels,
              const PanelEnding& ending, float* y) noexcept {
    const std::int64_t units = unitCount(s);
    const std::int64_t rowCount = rows.end - rows.begin;
    const auto panelAt = [&](std::int64_t block, std::int64_t panel) {
        const IndexRange inner = partOf(s.inner, block, s.blocks);
        return w + (inner.begin * units + partOf(units, panel, s.panels).begin * (inner.end - inner.begin)) *
                       kUnitColumns;
    };
    for (std::int64_t block = 0; block < s.blocks; ++block) {
        const IndexRange inner = partOf(s.inner, block, s.blocks);
        const std::int64_t length = inner.end - inner.begin;
        const std::int64_t groups = (rowCount * length + kBlockElements - 1) / kBlockElements;
        for (std::int64_t group = 0; group < groups; ++group) {
            const IndexRange some = partOf(rowCount, group, groups);
            const std::int64_t row = rows.begin + some.begin;
            for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
                const IndexRange unit = partOf(units, panel, s.panels);
                const std::int64_t column = unit.begin * kUnitColumns;
                Tile tile{.x = x + row * s.inner + inner.begin,
                          .step = s.inner,
                          .inner = length,
                          .w = panelAt(block, panel),
                          .y = y + row * s.columns + column,
                          .columns = s.columns,
                          .isFirst = block == 0,
                          .isLast = block + 1 == s.blocks};
                if (ending.bias) tile.bias = ending.bias + column;
                if (ending.added) tile.added = ending.added + row * s.columns + column;
                const float* next = nullptr;
                if (panel + 1 < panels.end)
                    next = panelAt(block, panel + 1);
                else if (group + 1 == groups && !tile.isLast)
                    next = panelAt(block + 1, panels.begin);
                const std::int64_t width = (unit.end - unit.begin) * kUnitColumns;
                multiplyPanel(tile, some.end - some.begin, smallerOf(width, s.columns - column), next,
                              ending);
            }
        }
    }
}

} // namespace

const PanelKernels panelKernels{multiply, kTileColumns / kUnitColumns};

} // namespace twb::TWB_ISA

#endif
