// Compiled once with AVX2 and once with AVX-512. It uses no inline function of other headers: the linker
// keeps one copy of such a function for the whole program, which might be the one with AVX-512.

#include "backends/cpu/winograd_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__)

#include <immintrin.h>

#if defined(__AVX512F__)
#define TWB_ISA avx512
#else
#define TWB_ISA avx2
#endif

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
using Pack = __m512;
Pack load(const float* from) { return _mm512_loadu_ps(from); }
void store(float* to, Pack x) { _mm512_storeu_ps(to, x); }
Pack all(float x) { return _mm512_set1_ps(x); }
Pack limited(Pack x, Pack least, Pack most) { return _mm512_min_ps(most, _mm512_max_ps(least, x)); }
bool isZero(Pack x) { return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0; }
#else
using Pack = __m256;
Pack load(const float* from) { return _mm256_loadu_ps(from); }
void store(float* to, Pack x) { _mm256_storeu_ps(to, x); }
Pack all(float x) { return _mm256_set1_ps(x); }
Pack limited(Pack x, Pack least, Pack most) { return _mm256_min_ps(most, _mm256_max_ps(least, x)); }
bool isZero(Pack x) { return _mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NEQ_UQ)) == 0; }
#endif

constexpr std::int64_t kWidth = sizeof(Pack) / sizeof(float);

/// The transforms of one dimension. In and out may be `step` packs apart.
template <int side> struct Lines;

/// The points of the interpolation are 0, ±3/4, ±3/2 and infinity: all factors are exact, and the largest
/// error is a fifth of that with 0, ±1, ±2.
template <> struct Lines<4> {
    static void transform(const Pack* in, Pack* out, std::int64_t step) {
        const Pack d0 = in[0];
        const Pack d1 = in[step];
        const Pack d2 = in[2 * step];
        const Pack d3 = in[3 * step];
        const Pack d4 = in[4 * step];
        const Pack d5 = in[5 * step];
        out[0] = d0 * all(1.265625F) - d2 * all(2.8125F) + d4;
        const Pack even = d4 - d2 * all(2.25F);
        const Pack odd = (d3 - d1 * all(2.25F)) * all(0.75F);
        out[step] = even + odd;
        out[2 * step] = even - odd;
        const Pack wideEven = d4 - d2 * all(0.5625F);
        const Pack wideOdd = (d3 - d1 * all(0.5625F)) * all(1.5F);
        out[3 * step] = wideEven + wideOdd;
        out[4 * step] = wideEven - wideOdd;
        out[5 * step] = d1 * all(1.265625F) - d3 * all(2.8125F) + d5;
    }
    static void finish(const Pack* in, std::int64_t step, Pack* out, std::int64_t outStep) {
        const Pack sum = in[step] + in[2 * step];
        const Pack difference = in[step] - in[2 * step];
        const Pack wideSum = in[3 * step] + in[4 * step];
        const Pack wideDifference = in[3 * step] - in[4 * step];
        out[0] = in[0] + sum + wideSum;
        out[outStep] = difference * all(0.75F) + wideDifference * all(1.5F);
        out[2 * outStep] = sum * all(0.5625F) + wideSum * all(2.25F);
        out[3 * outStep] = difference * all(0.421875F) + wideDifference * all(3.375F) + in[5 * step];
    }
};

/// The points are 0, ±1 and infinity.
template <> struct Lines<2> {
    static void transform(const Pack* in, Pack* out, std::int64_t step) {
        const Pack d0 = in[0];
        const Pack d1 = in[step];
        const Pack d2 = in[2 * step];
        const Pack d3 = in[3 * step];
        out[0] = d0 - d2;
        out[step] = d1 + d2;
        out[2 * step] = d2 - d1;
        out[3 * step] = d1 - d3;
    }
    static void finish(const Pack* in, std::int64_t step, Pack* out, std::int64_t outStep) {
        const Pack d1 = in[step];
        const Pack d2 = in[2 * step];
        out[0] = in[0] + d1 + d2;
        out[outStep] = d1 - d2 - in[3 * step];
    }
};

struct Place {
    std::int64_t image, top, left; ///< in y
};

Place placeOf(const WinogradTiles& s, std::int64_t tile) {
    const std::int64_t inImage = tile % (s.down * s.across);
    return {tile / (s.down * s.across), inImage / s.across * s.side, inImage % s.across * s.side};
}

template <int side>
void transformTiles(const WinogradTiles& s, const float* x, const float* zeros, std::int64_t begin,
                    std::int64_t end, float* out, std::int64_t plane) {
    constexpr int kSide = side + 2; ///< of a tile of x
    for (std::int64_t tile = begin; tile < end; ++tile) {
        const Place place = placeOf(s, tile);
        const float* elements[kSide * kSide];
        for (int row = 0; row < kSide; ++row)
            for (int column = 0; column < kSide; ++column) {
                const std::int64_t h = place.top - s.padTop + row;
                const std::int64_t w = place.left - s.padLeft + column;
                const bool isInside = h >= 0 && h < s.height && w >= 0 && w < s.width;
                elements[row * kSide + column] =
                    isInside ? x + ((place.image * s.height + h) * s.width + w) * s.inner : zeros;
            }
        float* const to = out + (tile - begin) * s.inner;
        for (std::int64_t c = 0; c < s.inner; c += kWidth) {
            Pack tileOfX[kSide * kSide];
            Pack half[kSide * kSide];
            for (int i = 0; i < kSide * kSide; ++i) tileOfX[i] = load(elements[i] + c);
            for (int column = 0; column < kSide; ++column)
                Lines<side>::transform(tileOfX + column, half + column, kSide);
            for (int row = 0; row < kSide; ++row) {
                Pack line[kSide];
                Lines<side>::transform(half + row * kSide, line, 1);
                for (int column = 0; column < kSide; ++column)
                    store(to + (row * kSide + column) * plane + c, line[column]);
            }
        }
    }
}

template <int side>
bool finishTiles(const WinogradTiles& s, const float* m, std::int64_t plane, std::int64_t begin,
                 std::int64_t end, const WinogradEnding& ending, float* y) {
    constexpr int kSide = side + 2; ///< of a tile of x
    const Pack least = all(ending.least);
    const Pack most = all(ending.most);
    Pack difference = all(0); // of each element from itself: NaN if one is infinite or NaN
    for (std::int64_t tile = begin; tile < end; ++tile) {
        const Place place = placeOf(s, tile);
        const std::int64_t rows = s.outHeight - place.top < side ? s.outHeight - place.top : side;
        const std::int64_t columns = s.outWidth - place.left < side ? s.outWidth - place.left : side;
        const std::int64_t first = (place.image * s.outHeight + place.top) * s.outWidth + place.left;
        const float* const from = m + (tile - begin) * s.columns;
        for (std::int64_t c = 0; c < s.columns; c += kWidth) {
            Pack half[side * kSide];
            for (int column = 0; column < kSide; ++column) {
                Pack line[kSide];
                for (int row = 0; row < kSide; ++row)
                    line[row] = load(from + (row * kSide + column) * plane + c);
                Lines<side>::finish(line, 1, half + column, kSide);
            }
            const Pack bias = ending.bias ? load(ending.bias + c) : all(0);
            for (std::int64_t row = 0; row < rows; ++row) {
                Pack line[side];
                Lines<side>::finish(half + row * kSide, 1, line, 1);
                const std::int64_t position = first + row * s.outWidth;
                for (std::int64_t column = 0; column < columns; ++column) {
                    const Pack sum = line[column] + bias;
                    difference += sum - sum;
                    Pack result = sum;
                    if (ending.added) result += load(ending.added + (position + column) * s.columns + c);
                    if (ending.isLimited) result = limited(result, least, most);
                    store(y + (position + column) * s.step + c, result);
                }
            }
        }
    }
    return isZero(difference);
}

void transform(const WinogradTiles& s, const float* x, const float* zeros, std::int64_t begin,
               std::int64_t end, float* out, std::int64_t plane) noexcept {
    (s.side == 4 ? transformTiles<4> : transformTiles<2>)(s, x, zeros, begin, end, out, plane);
}

bool finish(const WinogradTiles& s, const float* m, std::int64_t plane, std::int64_t begin, std::int64_t end,
            const WinogradEnding& ending, float* y) noexcept {
    return (s.side == 4 ? finishTiles<4> : finishTiles<2>)(s, m, plane, begin, end, ending, y);
}

} // namespace

const WinogradKernels winogradKernels{transform, finish};

} // namespace twb::TWB_ISA

#endif
