// Compiled once with AVX2 and once with AVX-512. It uses no inline function of other headers: the linker
// keeps one copy of such a function for the whole program, which might be the one with AVX-512.

#include "backends/cpu/max_pool_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__)

#include "backends/cpu/vector_functions.h"

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
Condition isNaN(Pack x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
#else
Condition isNaN(Pack x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
#endif

/// The larger of two; NaN wins, and the first of two zeros.
Pack most(Pack before, Pack x) { return choose(isNaN(x), x, larger(x, before)); }

/// One window. `from` is its first element, at a channel.
struct Windowed {
    const float* from;
    std::int64_t rows, columns;
    std::int64_t down, across; ///< elements from tap to tap
};

template <int packs> void poolPacks(const Windowed& w, float* to) {
    Pack result[packs];
#pragma GCC unroll 4
    for (int p = 0; p < packs; ++p) result[p] = load(w.from + p * kWidth);
    for (std::int64_t row = 0; row < w.rows; ++row)
        for (std::int64_t column = 0; column < w.columns; ++column) {
            const float* const at = w.from + row * w.down + column * w.across;
#pragma GCC unroll 4
            for (int p = 0; p < packs; ++p) result[p] = most(result[p], load(at + p * kWidth));
        }
#pragma GCC unroll 4
    for (int p = 0; p < packs; ++p) store(to + p * kWidth, result[p]);
}

void poolSome(const Windowed& w, std::int64_t count, float* to) {
    Pack result = loadSome(w.from, count);
    for (std::int64_t row = 0; row < w.rows; ++row)
        for (std::int64_t column = 0; column < w.columns; ++column)
            result = most(result, loadSome(w.from + row * w.down + column * w.across, count));
    storeSome(to, result, count);
}

void poolRow(const float* x, std::int64_t channels, std::int64_t width, PoolTaps rows,
             const PoolTaps* columns, std::int64_t outWidth, std::int64_t down, std::int64_t across,
             float* y) noexcept {
    for (std::int64_t column = 0; column < outWidth; ++column, y += channels) {
        Windowed w{x + (rows.first * width + columns[column].first) * channels, rows.count,
                   columns[column].count, down, across};
        std::int64_t c = 0;
        for (; c + 4 * kWidth <= channels; c += 4 * kWidth, w.from += 4 * kWidth) poolPacks<4>(w, y + c);
        for (; c + kWidth <= channels; c += kWidth, w.from += kWidth) poolPacks<1>(w, y + c);
        if (c < channels) poolSome(w, channels - c, y + c);
    }
}

} // namespace

const MaxPoolKernels maxPoolKernels{poolRow};

} // namespace twb::TWB_ISA

#endif
