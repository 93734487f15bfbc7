// Compiled once with AVX2 and once with AVX-512. It uses no inline function of other headers: the linker
// keeps one copy of such a function for the whole program, which might be the one with AVX-512.

#include "backends/cpu/direct_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__)

#include "backends/cpu/vector_functions.h"

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kMostPacks = 4; ///< of columns whose sums the registers hold
/// Positions whose sums the registers hold, beside the factors of that many packs of columns.
constexpr int mostRows(int packs) { return packs == 4 ? 7 : packs == 3 ? 9 : 14; }
#else
constexpr int kMostPacks = 2;
constexpr int mostRows(int packs) { return packs == 2 ? 6 : 12; }
#endif

std::int64_t smallerOf(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Neighbouring positions of a row of y.
struct Tile {
    std::int64_t image = 0; ///< where the image begins in x
    std::int64_t top = 0;   ///< the place of the first window in the image; may be in the padding
    std::int64_t left = 0;
    std::int64_t position = 0;
    int rows = 0;          ///< positions
    bool isInside = false; ///< no window reaches into the padding
};

/// Adds products of `count` elements of each position to sums. x, y and added are at the first position, y
/// and added at the first column.
struct Part {
    const float* x;
    std::int64_t xStep;
    const float* w;
    std::int64_t wStep;
    std::int64_t count;
    Ahead ahead;
    float* y;
    std::int64_t yStep;
    std::int64_t lastCount; ///< columns of the last pack
    bool begins, ends;      ///< else sums begin with y; the ending follows
};

/// What follows the sums of a tile, at its first column.
struct Ending {
    const float* bias;
    const float* added;
    std::int64_t step; ///< of added
    Pack least, most;
};

template <int packs> Pack loadPack(const float* from, int p, std::int64_t lastCount) {
    return p == packs - 1 && lastCount < kWidth ? loadSome(from + p * kWidth, lastCount)
                                                : load(from + p * kWidth);
}

template <int packs> void storePack(float* to, Pack x, int p, std::int64_t lastCount) {
    if (p == packs - 1 && lastCount < kWidth)
        storeSome(to + p * kWidth, x, lastCount);
    else
        store(to + p * kWidth, x);
}

template <int packs> Pack ended(Pack sum, Pack bias, const Ending& e, int r, int p, std::int64_t lastCount) {
    sum += bias;
    if (e.added) sum += loadPack<packs>(e.added + r * e.step, p, lastCount);
    return smaller(e.most, larger(e.least, sum));
}

/// Positions whose elements are addressed from one pointer.
constexpr int kTogether = 3;

template <int rows, int packs> void multiplyRows(const Part& part, const Ending& ending) {
    constexpr int kPointers = (rows + kTogether - 1) / kTogether;
    const std::int64_t xStep = part.xStep;
    const std::int64_t yStep = part.yStep;
    const std::int64_t lastCount = part.lastCount;
    const float* x[kPointers];
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kPointers; ++i) x[i] = part.x + kTogether * i * xStep;
    const float* w = part.w;
    Ahead ahead = part.ahead;
    Pack sums[rows][packs];
    if (part.begins) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) {
                fetchToWrite(part.y + r * yStep + p * kWidth, 0); // it is stored after the products
                sums[r][p] = all(0);
            }
    } else {
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) sums[r][p] = loadPack<packs>(part.y + r * yStep, p, lastCount);
    }
    if (part.ends && ending.added) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) fetch(ending.added + r * ending.step + p * kWidth, 0);
    }
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < part.count; ++k, w += part.wStep) {
        Pack factors[packs];
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p) factors[p] = load(w + p * kWidth);
        ahead.fetch();
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const Pack element = all(x[r / kTogether][r % kTogether * xStep]);
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) sums[r][p] += element * factors[p];
        }
#pragma GCC unroll 16
        for (int i = 0; i < kPointers; ++i) ++x[i];
    }
    if (!part.ends) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) storePack<packs>(part.y + r * yStep, sums[r][p], p, lastCount);
        return;
    }
#pragma GCC unroll 16
    for (int p = 0; p < packs; ++p) {
        const Pack bias = ending.bias ? loadPack<packs>(ending.bias, p, lastCount) : all(0);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) sums[r][p] += bias;
    }
    if (ending.added) {
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p)
                sums[r][p] += loadPack<packs>(ending.added + r * ending.step, p, lastCount);
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p)
            storePack<packs>(part.y + r * yStep, smaller(ending.most, larger(ending.least, sums[r][p])), p,
                             lastCount);
}

using Multiply = void (*)(const Part&, const Ending&);

/// multiplyRows() for 1, 2, … rows.
template <int packs> struct ByRows {
    Multiply of[mostRows(packs)]{};

    constexpr ByRows() { fill<mostRows(packs)>(); }

private:
    template <int rows> constexpr void fill() {
        of[rows - 1] = multiplyRows<rows, packs>;
        if constexpr (rows > 1) fill<rows - 1>();
    }
};
template <int packs> constexpr ByRows<packs> kByRows{};

const Multiply* multiplyBy(int packs) {
    switch (packs) {
    case 1:
        return kByRows<1>.of;
#if defined(__AVX512F__)
    case 3:
        return kByRows<3>.of;
    case 4:
        return kByRows<4>.of;
#endif
    default:
        return kByRows<2>.of;
    }
}

/// Sets `columns` columns of a tile to 0, or ends their sums.
void passOver(const Tile& tile, float* y, std::int64_t step, std::int64_t columns, const Ending& ending,
              bool ends) {
    for (int r = 0; r < tile.rows; ++r, y += step) {
        for (std::int64_t c = 0; c < columns; c += kWidth) {
            const std::int64_t count = smallerOf(kWidth, columns - c);
            Pack x = all(0);
            if (ends) {
                const Ending here{ending.bias, ending.added ? ending.added + c : nullptr, ending.step,
                                  ending.least, ending.most};
                const Pack bias = ending.bias ? loadPack<1>(ending.bias + c, 0, count) : all(0);
                x = ended<1>(loadPack<1>(y + c, 0, count), bias, here, r, 0, count);
            }
            storePack<1>(y + c, x, 0, count);
        }
    }
}

/// The tiles of a block of positions whose part of x stays in the cache for all panels.
struct Block {
    static constexpr int kMostTiles = 64;
    Tile tiles[kMostTiles];
    int count = 0;

    /// Takes tiles from `at` on. Returns the first position that it does not take.
    std::int64_t fill(const DirectSizes& s, int rows, std::int64_t mostBytes, std::int64_t at,
                      std::int64_t end) {
        std::int64_t bytes = 0;
        for (count = 0; at < end && count < kMostTiles && bytes < mostBytes; ++count) {
            const std::int64_t row = at / s.outWidth;
            const std::int64_t column = at % s.outWidth;
            const std::int64_t rest = smallerOf(end - at, s.outWidth - column);
            const std::int64_t parts = (rest + rows - 1) / rows;
            Tile& tile = tiles[count];
            tile.image = row / s.outHeight * s.height * s.width * s.inner;
            tile.top = row % s.outHeight * s.down - s.padTop;
            tile.left = column * s.across - s.padLeft;
            tile.position = at;
            tile.rows = static_cast<int>((rest + parts - 1) / parts);
            tile.isInside = tile.top >= 0 && tile.top + s.kernelHeight <= s.height && tile.left >= 0 &&
                            tile.left + (tile.rows - 1) * s.across + s.kernelWidth <= s.width;
            at += tile.rows;
            bytes += tile.rows * (s.inner * s.across * s.down + s.columns) *
                     static_cast<std::int64_t>(sizeof(float));
        }
        return at;
    }
};

/// One tap, and `part.count` channels from `channel` on, for one tile. `part` has what all tiles share.
void multiplyTap(const DirectSizes& s, const Tile& tile, const float* x, std::int64_t tapRow,
                 std::int64_t tapColumn, std::int64_t channel, const Multiply* multiply, Part& part,
                 const Ending& ending, float* y) {
    const std::int64_t h = tile.top + tapRow;
    if (h < 0 || h >= s.height) return;
    const std::int64_t left = tile.left + tapColumn;
    std::int64_t first = 0;
    std::int64_t last = tile.rows;
    if (!tile.isInside) {
        if (left < 0) first = smallerOf((-left + s.across - 1) / s.across, last);
        last = left >= s.width ? 0 : smallerOf((s.width - left + s.across - 1) / s.across, last);
        if (first >= last) return;
    }
    part.x = x + tile.image + (h * s.width + left + first * s.across) * s.inner + channel;
    part.y = y + first * part.yStep;
    multiply[last - first - 1](part, ending);
}

/// All tiles of a block times a panel, of which `columns` columns are in y. The panel `w` and y are at the
/// first of these. `isLast`: no panel follows this one.
void multiplyPanel(const DirectSizes& s, const Block& block, const float* x, const float* w,
                   std::int64_t columns, bool isLast, const ChannelsEnding& ending, float* y) {
    constexpr std::int64_t kMostChannels = 256; // factors of which stay in the cache for all tiles
    const std::int64_t width = (columns + kChannelLanes - 1) / kChannelLanes * kChannelLanes;
    const std::int64_t blocks = (s.inner + kMostChannels - 1) / kMostChannels;
    const std::int64_t steps = s.kernelHeight * s.kernelWidth * blocks;
    for (std::int64_t at = 0; at < steps; ++at) {
        const std::int64_t tap = at / blocks;
        const std::int64_t channel = s.inner * (at % blocks) / blocks;
        const std::int64_t count = s.inner * (at % blocks + 1) / blocks - channel;
        const float* const factors = w + (tap * s.inner + channel) * width;
        const bool hasNext = at + 1 < steps || !isLast;
        for (std::int64_t c = 0; c < columns; c += kMostPacks * kWidth) {
            const std::int64_t here = smallerOf(columns - c, kMostPacks * kWidth);
            const int packs = static_cast<int>((here + kWidth - 1) / kWidth);
            const Multiply* const multiply = multiplyBy(packs);
            for (int t = 0; t < block.count; ++t) {
                const Tile& tile = block.tiles[t];
                Part part{};
                part.xStep = s.across * s.inner;
                part.w = factors + c;
                part.wStep = width;
                part.count = count;
                if (hasNext && c == 0)
                    part.ahead = Ahead(factors + width * count, count, width, t, block.count);
                float* const to = y + tile.position * s.step + c;
                part.yStep = s.step;
                part.lastCount = here - (packs - 1) * kWidth;
                part.begins = tile.isInside && at == 0;
                part.ends = tile.isInside && at == steps - 1;
                const Ending end{ending.bias ? ending.bias + c : nullptr,
                                 ending.added ? ending.added + tile.position * s.columns + c : nullptr,
                                 s.columns, all(ending.least), all(ending.most)};
                if (!tile.isInside && at == 0) passOver(tile, to, s.step, here, end, false);
                multiplyTap(s, tile, x, tap / s.kernelWidth, tap % s.kernelWidth, channel, multiply, part,
                            end, to);
                if (!tile.isInside && at == steps - 1) passOver(tile, to, s.step, here, end, true);
            }
        }
    }
}

void convolve(const DirectSizes& s, const float* x, const float* w, std::int64_t begin, std::int64_t end,
              std::int64_t first, std::int64_t last, const ChannelsEnding& ending, float* y) noexcept {
    // Blocks are as large as the weights, so that the cache serves both.
    constexpr std::int64_t kLeast = 1 << 15;
    constexpr std::int64_t kMost = 1 << 19;
    const int packs = static_cast<int>(smallerOf((s.panel + kWidth - 1) / kWidth, kMostPacks));
    const std::int64_t taps = s.kernelHeight * s.kernelWidth;
    const std::int64_t weights =
        taps * s.inner * (last - first) * s.panel * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t bytes = weights < kLeast ? kLeast : smallerOf(weights, kMost);
    Block block;
    for (std::int64_t at = begin; at < end;) {
        at = block.fill(s, mostRows(packs), bytes, at, end);
        for (std::int64_t panel = first; panel < last; ++panel) {
            const std::int64_t column = panel * s.panel;
            ChannelsEnding here = ending;
            if (here.bias) here.bias += column;
            if (here.added) here.added += column;
            multiplyPanel(s, block, x, w + column * taps * s.inner, smallerOf(s.panel, s.columns - column),
                          panel + 1 == last && !s.goesOn, here, y + column);
        }
    }
}

} // namespace

const DirectKernels directKernels{convolve};

} // namespace twb::TWB_ISA

#endif
