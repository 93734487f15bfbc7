// The vectors and functions of one instruction set, for files that are compiled once for each. All have
// internal linkage: the linker would keep one copy of a shared function for the whole program, which might be
// the one with AVX-512.

#pragma once

#include <cstdint>
#include <cstring>
#include <immintrin.h>

#if defined(__AVX512F__)
#define TWB_ISA avx512
#elif defined(__AVX2__)
#define TWB_ISA avx2
#else
#define TWB_ISA baseline
#endif

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
using Pack = __m512;
using Condition = __mmask16;
inline Pack load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Pack x) { _mm512_storeu_ps(to, x); }
inline Pack all(float x) { return _mm512_set1_ps(x); }
/// Per element: condition ? a : b.
inline Pack choose(Condition condition, Pack a, Pack b) { return _mm512_mask_blend_ps(condition, b, a); }
inline Condition isLess(Pack a, Pack b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline Condition both(Condition a, Condition b) { return _mm512_kand(a, b); }
inline bool isEverywhere(Condition a) { return a == 0xffff; }
/// NaN if x is NaN.
inline Pack larger(Pack a, Pack x) { return _mm512_max_ps(a, x); }
inline Pack smaller(Pack a, Pack x) { return _mm512_min_ps(a, x); } ///< as larger()
inline Pack withoutSign(Pack x) { return _mm512_abs_ps(x); }
using Whole = __m512i;
#elif defined(__AVX2__)
using Pack = __m256;
using Condition = Pack; ///< per element: all ones or all zeros
inline Pack load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Pack x) { _mm256_storeu_ps(to, x); }
inline Pack all(float x) { return _mm256_set1_ps(x); }
/// Per element: condition ? a : b.
inline Pack choose(Condition condition, Pack a, Pack b) { return _mm256_blendv_ps(b, a, condition); }
inline Condition isLess(Pack a, Pack b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline Condition both(Condition a, Condition b) { return _mm256_and_ps(a, b); }
inline bool isEverywhere(Condition a) { return _mm256_movemask_ps(a) == 0xff; }
/// NaN if x is NaN.
inline Pack larger(Pack a, Pack x) { return _mm256_max_ps(a, x); }
inline Pack smaller(Pack a, Pack x) { return _mm256_min_ps(a, x); } ///< as larger()
inline Pack withoutSign(Pack x) { return _mm256_andnot_ps(all(-0.0F), x); }
using Whole = __m256i;
inline Whole wholes(int x) { return _mm256_set1_epi32(x); }
inline Whole bitsOf(Pack x) { return _mm256_castps_si256(x); }
inline Pack fromBits(Whole x) { return _mm256_castsi256_ps(x); }
inline Pack asFloats(Whole x) { return _mm256_cvtepi32_ps(x); }
inline Whole sum(Whole a, Whole b) { return _mm256_add_epi32(a, b); }
inline Whole difference(Whole a, Whole b) { return _mm256_sub_epi32(a, b); }
template <int bits> Whole shiftedLeft(Whole x) { return _mm256_slli_epi32(x, bits); }
template <int bits> Whole shiftedRight(Whole x) { return _mm256_srai_epi32(x, bits); } ///< keeps the sign
#else
using Pack = __m128;
using Condition = Pack; ///< per element: all ones or all zeros
inline Pack load(const float* from) { return _mm_loadu_ps(from); }
inline void store(float* to, Pack x) { _mm_storeu_ps(to, x); }
inline Pack all(float x) { return _mm_set1_ps(x); }
/// Per element: condition ? a : b.
inline Pack choose(Condition condition, Pack a, Pack b) {
    return _mm_or_ps(_mm_and_ps(condition, a), _mm_andnot_ps(condition, b));
}
inline Condition isLess(Pack a, Pack b) { return _mm_cmplt_ps(a, b); }
inline Condition both(Condition a, Condition b) { return _mm_and_ps(a, b); }
inline bool isEverywhere(Condition a) { return _mm_movemask_ps(a) == 0xf; }
/// NaN if x is NaN.
inline Pack larger(Pack a, Pack x) { return _mm_max_ps(a, x); }
inline Pack smaller(Pack a, Pack x) { return _mm_min_ps(a, x); } ///< as larger()
inline Pack withoutSign(Pack x) { return _mm_andnot_ps(all(-0.0F), x); }
using Whole = __m128i;
inline Whole wholes(int x) { return _mm_set1_epi32(x); }
inline Whole bitsOf(Pack x) { return _mm_castps_si128(x); }
inline Pack fromBits(Whole x) { return _mm_castsi128_ps(x); }
inline Pack asFloats(Whole x) { return _mm_cvtepi32_ps(x); }
inline Whole sum(Whole a, Whole b) { return _mm_add_epi32(a, b); }
inline Whole difference(Whole a, Whole b) { return _mm_sub_epi32(a, b); }
template <int bits> Whole shiftedLeft(Whole x) { return _mm_slli_epi32(x, bits); }
template <int bits> Whole shiftedRight(Whole x) { return _mm_srai_epi32(x, bits); } ///< keeps the sign
#endif

/// The whole number nearest to t, as a float, for |t| up to 2 ^ 22. The last bits of `shifted` are those of
/// the number.
struct Rounded {
    static constexpr float kShift = 12582912; // 1.5 · 2 ^ 23
    Pack shifted;
    Pack n;
    explicit Rounded(Pack t) : shifted(t + all(kShift)), n(shifted - all(kShift)) {}
};

#ifdef __AVX512F__
/// x · 2 ^ n, rounded once.
inline Pack scaled(Pack x, Rounded e) { return _mm512_scalef_ps(x, e.n); }
/// x · 2 ^ n for n up to 63.
inline Pack scaledDown(Pack x, Rounded e) { return scaled(x, e); }
/// x · 2 ^ n for n from −126 to 127.
inline Pack scaledNormal(Pack x, Rounded e) { return scaled(x, e); }
#else
/// 2 ^ n for n from −126 to 127.
inline Pack powerOfTwo(Whole n) { return fromBits(shiftedLeft<23>(sum(n, wholes(127)))); }
/// x · 2 ^ n for n from −126 to 127.
inline Pack scaledNormal(Pack x, Rounded e) { return x * powerOfTwo(bitsOf(e.shifted)); }
/// x · 2 ^ n for n from −190 to 63, rounded once if x is a normal number near 1.
inline Pack scaledDown(Pack x, Rounded e) {
    return x * powerOfTwo(sum(bitsOf(e.shifted), wholes(64))) * all(0x1p-64F);
}
/// x · 2 ^ n for n from −252 to 254, rounded once if x is a normal number near 1. There are two
/// factors, since 2 ^ n itself may be subnormal or infinite.
inline Pack scaled(Pack x, Rounded e) {
    const Whole whole = difference(bitsOf(e.shifted), bitsOf(all(Rounded::kShift)));
    const Whole half = shiftedRight<1>(whole);
    return x * powerOfTwo(half) * powerOfTwo(difference(whole, half));
}
#endif

constexpr std::int64_t kWidth = sizeof(Pack) / sizeof(float);

#ifdef __AVX512F__
/// Up to kWidth elements; the others are 1, for which every function is defined.
inline Pack loadSome(const float* from, std::int64_t count) {
    return _mm512_mask_loadu_ps(all(1), static_cast<__mmask16>((1U << count) - 1), from);
}

inline void storeSome(float* to, Pack x, std::int64_t count) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), x);
}
#else
/// Up to kWidth elements; the others are 1, for which every function is defined.
inline Pack loadSome(const float* from, std::int64_t count) {
    float padded[kWidth];
    store(padded, all(1));
    std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(float));
    return load(padded);
}

inline void storeSome(float* to, Pack x, std::int64_t count) {
    float padded[kWidth];
    store(padded, x);
    std::memcpy(to, padded, static_cast<std::size_t>(count) * sizeof(float));
}
#endif

/// Fetches the memory `ahead` elements after those in work. The processor's own prefetching stops at each
/// page.
constexpr std::int64_t kAhead = 512;
inline void fetch(const float* from, std::int64_t ahead = kAhead) { __builtin_prefetch(from + ahead); }
constexpr std::int64_t kLine = 16; ///< elements of a cache line
/// Prefetches part `at` of `parts` equal parts of `count` elements into the L2 cache.
inline void fetchPart(const float* from, std::int64_t count, std::int64_t at, std::int64_t parts) {
    for (std::int64_t i = count * at / parts; i < count * (at + 1) / parts; i += kLine)
        __builtin_prefetch(from + i, 0, 2);
}
/// Prefetches a part of the next matrix of rows × width while a tile of a product is computed: with AVX-512
/// in fetch(), which the innermost loop over as many rows calls; with AVX2 before it. With prefetches in the
/// loop, products took longer on a shared Zen 3 core; without them, products with weights that were not in
/// the cache took up to 1.3 times as long on a Xeon.
class Ahead {
public:
    Ahead() = default;
    Ahead(const float* from, std::int64_t rows, std::int64_t width, std::int64_t at, std::int64_t parts) {
#ifdef __AVX512F__
        const std::int64_t step = (width + parts - 1) / parts;
        if (step <= kLine) {
            if (at * step >= width) return; // earlier parts are the whole matrix
            m_from = from + at * rows * step;
            m_step = step;
            return;
        }
#endif
        fetchPart(from, rows * width, at, parts);
    }
    void fetch() {
#ifdef __AVX512F__
        __builtin_prefetch(m_from, 0, 2);
        m_from += m_step;
#endif
    }

private:
#ifdef __AVX512F__
    static constexpr float kNothing = 0; ///< what fetch() reads if no part is left for it
    const float* m_from = &kNothing;
    std::int64_t m_step = 0;
#endif
};
inline void fetchToWrite(const float* to, std::int64_t ahead = kAhead) { __builtin_prefetch(to + ahead, 1); }

template <class F> void each(const float* in, float* out, std::int64_t count, const F& f) {
    std::int64_t i = 0;
    // Memory beyond the end may belong to another thread, which would lose it.
    for (; i + kAhead + kWidth <= count; i += kWidth) {
        fetch(in + i);
        fetchToWrite(out + i);
        store(out + i, f(load(in + i)));
    }
    for (; i + kWidth <= count; i += kWidth) store(out + i, f(load(in + i)));
    if (i < count) storeSome(out + i, f(loadSome(in + i, count - i)), count - i);
}

/// each() for a function that is known at compile time and becomes part of the loop.
template <auto function> void each(const float* in, float* out, std::int64_t count) {
    each(in, out, count, [](Pack x) { return function(x); });
}

/// The polynomial with these coefficients, from the constant up: those of the even and of the odd powers at
/// the same time, in half of the steps that wait for each other.
template <int N> Pack polynomial(Pack x, const float (&c)[N]) {
    const Pack square = x * x;
    Pack sums[2] = {all(c[(N - 1) / 2 * 2]), all(c[N / 2 * 2 - 1])};
    for (int i = (N - 1) / 2 * 2 - 2; i >= 0; i -= 2) sums[0] = sums[0] * square + all(c[i]);
    for (int i = N / 2 * 2 - 3; i >= 0; i -= 2) sums[1] = sums[1] * square + all(c[i]);
    return sums[0] + sums[1] * x;
}

inline Pack withSignOf(Pack sign, Pack x) {
    const Whole bit = reinterpret_cast<Whole>(all(-0.0F));
    return reinterpret_cast<Pack>((reinterpret_cast<Whole>(sign) & bit) |
                                  (reinterpret_cast<Whole>(x) & ~bit));
}

// SLEEF computes the following to 1 unit in the last place and takes 2 to 8 times as long. The coefficients
// minimise the largest relative error, which is below 2e-8, on the given range; they were fitted in extended
// precision.

/// e ^ r − 1 = r + r² · P(r) for |r| ≤ ln 2 / 2.
inline Pack expm1Of(Pack r) {
    return r +
           r * r * polynomial(r, {0.499999933F, 0.166665186F, 0.0416684117F, 0.00836896013F, 0.00138140929F});
}

/// x − n · ln 2. ln 2 has two parts, the first with so few bits that its product with n is exact.
inline Pack remainder(Pack x, Pack n) { return (x - n * all(0.693359375F)) + n * all(2.12194440e-4F); }

/// 2 ^ n · e ^ r. Beyond the bounds of x, the result is 0 or infinite.
inline Pack exp(Pack given) {
    const Pack x = smaller(all(89), larger(all(-104), given));
    const Rounded e(x * all(1.44269504F));
    return scaled(all(1) + expm1Of(remainder(x, e.n)), e);
}

/// e ^ x for x up to 43, in fewer operations than exp().
inline Pack expDown(Pack given) {
    const Pack x = larger(all(-104), given);
    const Rounded e(x * all(1.44269504F));
    return scaledDown(all(1) + expm1Of(remainder(x, e.n)), e);
}

/// x · P(x²) / Q(x²) for |x| < 3.92, where the rounded result reaches 1.
inline Pack erf(Pack given) {
    const Pack x = smaller(all(3.92F), larger(all(-3.92F), given));
    const Pack s = x * x;
    const Pack p = polynomial(
        s, {1.12837915F, 0.190407147F, 0.0527488188F, 0.00376564791F, 0.00028488373F, 2.05008595e-06F});
    const Pack q =
        polynomial(s, {1, 0.502076681F, 0.114109398F, 0.014969278F, 0.00116254361F, 3.80917541e-05F});
    return smaller(all(1), larger(all(-1), x * p / q));
}

/// erfc(z) · e ^ z² = t · P(t) with t = 1 / (1 + 0.4 z) for z from 0 to 10.3, where e ^ −z² becomes 0.
inline Pack scaledErfc(Pack z) {
    const Pack t = all(1) / (all(1) + all(0.4F) * z);
    return t * polynomial(t, {0.225704916F, 0.224990863F, 0.214595679F, 0.131191443F, 0.267687043F,
                              -0.276199561F, 0.53760769F, -0.491437468F, 0.194875862F, -0.0290164596F});
}

/// ln(1 + y) = y + y² · P(y) for y from 0 to 1.
inline Pack log1p(Pack y) {
    return y + y * y *
                   polynomial(y, {-0.499999024F, 0.333299623F, -0.249541321F, 0.196759315F, -0.153055701F,
                                  0.106036169F, -0.0569591591F, 0.0198512626F, -0.00324398086F});
}

/// e ^ x = power + rest for x ≤ 0: power = 2 ^ n, rest = 2 ^ n · (e ^ r − 1). Below the bound of x, the
/// rounded e ^ x − 1 is −1.
struct ExpParts {
    Pack power, rest;
};
inline ExpParts expParts(Pack given) {
    const Pack x = larger(all(-40), given);
    const Rounded e(x * all(1.44269504F));
    const Pack power = scaledNormal(all(1), e);
    return {power, expm1Of(remainder(x, e.n)) * power};
}

/// e ^ x − 1 for x ≤ 0.
inline Pack expm1(Pack x) {
    const ExpParts parts = expParts(x);
    return parts.rest + (parts.power - all(1));
}

/// (1 − e) / (1 + e) with e = e ^ −2|x|, and the sign of x. From |x| = 0.55 on it is 1 − 2 e / (1 + e), which
/// is rounded once near 1: the gradient 1 − tanh² would magnify an error there.
inline Pack tanh(Pack x) {
    const Pack size = withoutSign(x);
    const ExpParts parts = expParts(-(size + size));
    const Pack e = parts.power + parts.rest;
    const Condition isSmall = isLess(size, all(0.55F));
    const Pack quotient = choose(isSmall, (all(1) - parts.power) - parts.rest, e + e) / (all(1) + e);
    return withSignOf(x, choose(isSmall, quotient, all(1) - quotient));
}

/// The exponent is never positive, so it cannot overflow.
inline Pack sigmoid(Pack x) {
    const Pack e = expDown(-withoutSign(x));
    return choose(isLess(x, all(0)), e, all(1)) / (all(1) + e);
}

/// The exponent is never positive, so it cannot overflow.
inline Pack softplus(Pack x) { return larger(all(0), x) + log1p(expDown(-withoutSign(x))); }

/// x · Φ(x). The smaller of Φ(x) and Φ(−x) is computed, since 1 + erf loses precision for negative x.
inline Pack gelu(Pack x) {
    const Pack tail =
        all(0.5F) * expDown(all(-0.5F) * x * x) * scaledErfc(withoutSign(x) * all(0.70710678118654752440F));
    return x * choose(isLess(x, all(0)), tail, all(1) - tail);
}

/// 0.5 · (1 + tanh(z)) = sigmoid(2 z).
inline Pack geluTanh(Pack x) {
    return x * sigmoid(all(1.59576912160573071176F) * (x + all(0.044715F) * x * x * x));
}

inline Pack hardSigmoid(Pack x, Pack a, Pack b) { return smaller(all(1), larger(all(0), a * x + b)); }

inline Pack hardSwish(Pack x) { return x * hardSigmoid(x, all(1.0F / 6), all(0.5F)); }

/// tanh(ln(1 + e)) = n / (n + 2) with n = e (e + 2) and e = e ^ x. From x = 20 on, the result is x.
inline Pack mish(Pack x) {
    const Pack e = expDown(smaller(all(20), x));
    const Pack n = e * (e + all(2));
    return x * (n / (n + all(2)));
}

#if defined(__AVX512F__)
/// The bits of 2 ^ (j / 32), less j · 2 ^ 18, so that the sum with n · 2 ^ 18 are those of 2 ^ (n / 32),
/// where n is j modulo 32.
alignas(64) constexpr std::int32_t kRoots[32] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3};

/// x / (1 + e ^ -ax). Takes two thirds as long as x * sigmoid(a * x); its relative error grows with -ax, to
/// 1e-6 at -ax = 16. From -ax = 87.3 on, the factor of x is 0.
inline Pack swish(Pack x, Pack a) {
    const Pack t = larger(all(-126), x * (a * all(-1.44269504F))); // 2 ^ t = e ^ -ax
    // The last bits of this sum are those of n, the whole number nearest to 32 t.
    const Pack shift = all(393216);
    const Pack sum = t + shift;
    const Whole n = _mm512_castps_si512(sum);
    const Pack r = t - (sum - shift);
    const Whole root =
        _mm512_permutex2var_epi32(_mm512_load_si512(kRoots), n, _mm512_load_si512(kRoots + 16));
    const Pack power = _mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(n, 18)));
    // 2 ^ r = 1 + r · P(r) for |r| <= 1 / 64, with a relative error below 6e-8.
    const Pack rest = power * r;
    const Pack divisor = (all(1) + power) + rest * (all(0.693157346F) + r * all(0.240226507F));
    const Pack guess = _mm512_rcp14_ps(divisor);
    return x * _mm512_maskz_mul_ps(isLess(t, all(126)), guess, all(2) - divisor * guess);
}
#else
/// x / (1 + e ^ -ax). Takes half as long as x * sigmoid(a * x); its relative error grows with -ax, to 5e-6 at
/// -ax = 87.3, from where on the factor of x is 0.
inline Pack swish(Pack x, Pack a) {
    const Pack t = larger(all(-126), x * (a * all(-1.44269504F))); // 2 ^ t = e ^ -ax
    const Rounded e(t);
    const Pack power = scaledNormal(all(1) + expm1Of((t - e.n) * all(0.693147182F)), e);
    return x * choose(isLess(t, all(126)), all(1) / (all(1) + power), all(0));
}
#endif

} // namespace
} // namespace twb::TWB_ISA
