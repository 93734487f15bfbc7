// Compiled once for every x86-64 CPU and once with AVX2. It uses no inline function of other headers: the
// linker keeps one copy of such a function for the whole program, which might be the one with AVX2.

#include "backends/cpu/quantize_loops.h"

#include <cstring>
#include <immintrin.h>

#ifdef __AVX2__
#define TWB_ISA avx2
#else
#define TWB_ISA baseline
#endif

namespace twb::TWB_ISA {
namespace {

#ifdef __AVX2__
using Pack = __m256;
using Whole = __m256i;
Pack load(const float* from) { return _mm256_loadu_ps(from); }
void store(float* to, Pack x) { _mm256_storeu_ps(to, x); }
Pack all(float x) { return _mm256_set1_ps(x); }
Pack smaller(Pack a, Pack b) { return _mm256_min_ps(a, b); }
Pack larger(Pack a, Pack b) { return _mm256_max_ps(a, b); }
/// a where x is NaN, else x.
Pack unlessNaN(Pack x, Pack a) { return _mm256_blendv_ps(x, a, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)); }
/// Halves to even.
Whole nearest(Pack x) { return _mm256_cvtps_epi32(x); }
Pack asFloats(Whole n) { return _mm256_cvtepi32_ps(n); }
Whole allWhole(std::int32_t n) { return _mm256_set1_epi32(n); }
Whole sum(Whole a, Whole b) { return _mm256_add_epi32(a, b); }
Whole difference(Whole a, Whole b) { return _mm256_sub_epi32(a, b); }
/// The low bytes of four times eight integers that fit a byte.
void storeBytes(std::uint8_t* to, const Whole (&n)[4], bool isSigned) {
    const Whole a = _mm256_packs_epi32(n[0], n[1]);
    const Whole b = _mm256_packs_epi32(n[2], n[3]);
    const Whole mixed = isSigned ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
    const Whole order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(mixed, order));
}
Whole loadBytes(const std::uint8_t* from, bool isSigned) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return isSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}
Whole loadWhole(const std::int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
#else
using Pack = __m128;
using Whole = __m128i;
Pack load(const float* from) { return _mm_loadu_ps(from); }
void store(float* to, Pack x) { _mm_storeu_ps(to, x); }
Pack all(float x) { return _mm_set1_ps(x); }
Pack smaller(Pack a, Pack b) { return _mm_min_ps(a, b); }
Pack larger(Pack a, Pack b) { return _mm_max_ps(a, b); }
/// a where x is NaN, else x.
Pack unlessNaN(Pack x, Pack a) {
    const Pack isNaN = _mm_cmpunord_ps(x, x);
    return _mm_or_ps(_mm_and_ps(isNaN, a), _mm_andnot_ps(isNaN, x));
}
/// Halves to even.
Whole nearest(Pack x) { return _mm_cvtps_epi32(x); }
Pack asFloats(Whole n) { return _mm_cvtepi32_ps(n); }
Whole allWhole(std::int32_t n) { return _mm_set1_epi32(n); }
Whole sum(Whole a, Whole b) { return _mm_add_epi32(a, b); }
Whole difference(Whole a, Whole b) { return _mm_sub_epi32(a, b); }
/// The low bytes of four times four integers that fit a byte.
void storeBytes(std::uint8_t* to, const Whole (&n)[4], bool isSigned) {
    const Whole a = _mm_packs_epi32(n[0], n[1]);
    const Whole b = _mm_packs_epi32(n[2], n[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     isSigned ? _mm_packs_epi16(a, b) : _mm_packus_epi16(a, b));
}
Whole loadBytes(const std::uint8_t* from, bool isSigned) {
    std::int32_t bytes = 0;
    std::memcpy(&bytes, from, sizeof(bytes));
    const Whole four = _mm_cvtsi32_si128(bytes);
    if (!isSigned) {
        const Whole zero = _mm_setzero_si128();
        return _mm_unpacklo_epi16(_mm_unpacklo_epi8(four, zero), zero);
    }
    const Whole high = _mm_unpacklo_epi8(four, four); // each byte twice: its sign comes from the upper one
    return _mm_srai_epi32(_mm_unpacklo_epi16(high, high), 24);
}
Whole loadWhole(const std::int32_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
#endif

constexpr std::int64_t kWidth = sizeof(Pack) / sizeof(float);
constexpr std::int64_t kBlock = 4 * kWidth;

struct Quantizer {
    Pack scale, least, most, ofNaN;
    Whole zero;

    Quantizer(float scale, std::int32_t zero, bool isSigned)
        : scale(all(scale)), least(all(static_cast<float>((isSigned ? -128 : 0) - zero))),
          most(all(static_cast<float>((isSigned ? 127 : 255) - zero))), ofNaN(all(static_cast<float>(-zero))),
          zero(allWhole(zero)) {}

    void block(const float* in, std::uint8_t* out, bool isSigned) const {
        Whole n[4];
        for (int i = 0; i < 4; ++i) {
            const Pack quotient = unlessNaN(load(in + i * kWidth) / scale, ofNaN);
            n[i] = sum(nearest(smaller(larger(quotient, least), most)), zero);
        }
        storeBytes(out, n, isSigned);
    }
};

template <class Load>
void dequantizeAll(const Load& load4, std::int32_t zero, const float* scale, std::int64_t step, float* out,
                   std::int64_t count) {
    const Whole offset = allWhole(zero);
    const Pack constant = all(*scale);
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        store(out + i,
              asFloats(difference(load4(i, kWidth), offset)) * (step == 0 ? constant : load(scale + i)));
    if (i == count) return;
    const auto rest = static_cast<std::size_t>(count - i);
    float factors[kWidth];
    store(factors, constant);
    if (step != 0) std::memcpy(factors, scale + i, rest * sizeof(float));
    float last[kWidth];
    store(last, asFloats(difference(load4(i, count - i), offset)) * load(factors));
    std::memcpy(out + i, last, rest * sizeof(float));
}

} // namespace

void quantize(const float* in, float scale, std::int32_t zero, bool isSigned, std::uint8_t* out,
              std::int64_t count) noexcept {
    const Quantizer quantizer(scale, zero, isSigned);
    std::int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) quantizer.block(in + i, out + i, isSigned);
    if (i == count) return;
    float padded[kBlock] = {};
    std::uint8_t last[kBlock];
    std::memcpy(padded, in + i, static_cast<std::size_t>(count - i) * sizeof(float));
    quantizer.block(padded, last, isSigned);
    std::memcpy(out + i, last, static_cast<std::size_t>(count - i));
}

void dequantize(const void* in, int bytes, bool isSigned, std::int32_t zero, const float* scale,
                std::int64_t step, float* out, std::int64_t count) noexcept {
    if (bytes == 4) {
        const auto* const from = static_cast<const std::int32_t*>(in);
        const auto some = [=](std::int64_t at, std::int64_t most) {
            if (most == kWidth) return loadWhole(from + at);
            std::int32_t padded[kWidth] = {};
            std::memcpy(padded, from + at, static_cast<std::size_t>(most) * sizeof(*from));
            return loadWhole(padded);
        };
        return dequantizeAll(some, zero, scale, step, out, count);
    }
    const auto* const from = static_cast<const std::uint8_t*>(in);
    const auto some = [=](std::int64_t at, std::int64_t most) {
        if (most == kWidth) return loadBytes(from + at, isSigned);
        std::uint8_t padded[kWidth] = {};
        std::memcpy(padded, from + at, static_cast<std::size_t>(most));
        return loadBytes(padded, isSigned);
    };
    dequantizeAll(some, zero, scale, step, out, count);
}

/// Elements that are fetched ahead of those in work. The processor's own prefetching stops at each page.
[[maybe_unused]] constexpr std::int64_t kAhead = 1024;

void toBFloat16(const float* in, std::uint16_t* out, std::int64_t count) noexcept {
    std::int64_t i = 0;
#ifdef __AVX2__
    const __m256i one = allWhole(1);
    for (; i + 2 * kWidth <= count; i += 2 * kWidth) {
        __builtin_prefetch(in + i + kAhead);
        __builtin_prefetch(out + i + kAhead, 1);
        __m256i halves[2];
        for (int k = 0; k < 2; ++k) {
            const Pack x = load(in + i + k * kWidth);
            const __m256i bits = _mm256_castps_si256(x);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
            const __m256i rounded = sum(sum(bits, allWhole(0x7fff)), odd);
            const __m256i quiet = _mm256_or_si256(bits, allWhole(0x400000));
            const __m256i isNaN = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
            halves[k] = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, isNaN), 16);
        }
        const __m256i mixed = _mm256_packus_epi32(halves[0], halves[1]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(mixed, 0xd8));
    }
#endif
    for (; i < count; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, in + i, sizeof(bits));
        const bool isNaN = in[i] != in[i];
        bits = isNaN ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
        out[i] = static_cast<std::uint16_t>(bits >> 16);
    }
}

void fromBFloat16(const std::uint16_t* in, float* out, std::int64_t count) noexcept {
    std::int64_t i = 0;
#ifdef __AVX2__
    for (; i + kWidth <= count; i += kWidth) {
        __builtin_prefetch(out + i + kAhead, 1);
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
        store(out + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
    }
#endif
    for (; i < count; ++i) {
        const std::uint32_t bits = std::uint32_t{in[i]} << 16;
        std::memcpy(out + i, &bits, sizeof(bits));
    }
}

} // namespace twb::TWB_ISA
