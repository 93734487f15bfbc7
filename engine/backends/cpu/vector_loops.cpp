// Compiled once for every x86-64 CPU, once with AVX2 and once with AVX-512. It uses no inline function of
// other headers: the linker keeps one copy of such a function for the whole program, which might be the one
// with AVX-512.

#include "backends/cpu/vector_loops.h"

#include <cstring>
#include <immintrin.h>
#include <sleef.h>

#if defined(__AVX512F__)
#define TWB_ISA avx512
#define TWB_SLEEF(name, bound) Sleef_##name##f16_##bound##avx512f
#define TWB_EXACT(name) Sleef_##name##f16_avx512f
#elif defined(__AVX2__)
#define TWB_ISA avx2
#define TWB_SLEEF(name, bound) Sleef_##name##f8_##bound##avx2
#define TWB_EXACT(name) Sleef_##name##f8_avx2
#else
#define TWB_ISA baseline
#define TWB_SLEEF(name, bound) Sleef_##name##f4_##bound
#define TWB_EXACT(name) Sleef_##name##f4
#endif

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
using Pack = __m512;
using Condition = __mmask16;
Pack load(const float* from) { return _mm512_loadu_ps(from); }
void store(float* to, Pack x) { _mm512_storeu_ps(to, x); }
Pack all(float x) { return _mm512_set1_ps(x); }
/// Per element: condition ? a : b.
Pack choose(Condition condition, Pack a, Pack b) { return _mm512_mask_blend_ps(condition, b, a); }
Condition isLess(Pack a, Pack b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
/// NaN if x is NaN.
Pack larger(Pack a, Pack x) { return _mm512_max_ps(a, x); }
Pack withoutSign(Pack x) { return _mm512_abs_ps(x); }
using Whole = __m512i;
Whole nearest(Pack x) { return _mm512_cvtps_epi32(x); }
Pack asFloats(Whole n) { return _mm512_cvtepi32_ps(n); }
Whole halved(Whole n) { return _mm512_srai_epi32(n, 1); }
Whole difference(Whole a, Whole b) { return _mm512_sub_epi32(a, b); }
/// 2 ^ n for n from −126 to 127.
Pack powerOfTwo(Whole n) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}
#elif defined(__AVX2__)
using Pack = __m256;
using Condition = Pack; ///< per element: all ones or all zeros
Pack load(const float* from) { return _mm256_loadu_ps(from); }
void store(float* to, Pack x) { _mm256_storeu_ps(to, x); }
Pack all(float x) { return _mm256_set1_ps(x); }
/// Per element: condition ? a : b.
Pack choose(Condition condition, Pack a, Pack b) { return _mm256_blendv_ps(b, a, condition); }
Condition isLess(Pack a, Pack b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
/// NaN if x is NaN.
Pack larger(Pack a, Pack x) { return _mm256_max_ps(a, x); }
Pack withoutSign(Pack x) { return _mm256_andnot_ps(all(-0.0F), x); }
using Whole = __m256i;
Whole nearest(Pack x) { return _mm256_cvtps_epi32(x); }
Pack asFloats(Whole n) { return _mm256_cvtepi32_ps(n); }
Whole halved(Whole n) { return _mm256_srai_epi32(n, 1); }
Whole difference(Whole a, Whole b) { return _mm256_sub_epi32(a, b); }
/// 2 ^ n for n from −126 to 127.
Pack powerOfTwo(Whole n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
#else
using Pack = __m128;
using Condition = Pack; ///< per element: all ones or all zeros
Pack load(const float* from) { return _mm_loadu_ps(from); }
void store(float* to, Pack x) { _mm_storeu_ps(to, x); }
Pack all(float x) { return _mm_set1_ps(x); }
/// Per element: condition ? a : b.
Pack choose(Condition condition, Pack a, Pack b) {
    return _mm_or_ps(_mm_and_ps(condition, a), _mm_andnot_ps(condition, b));
}
Condition isLess(Pack a, Pack b) { return _mm_cmplt_ps(a, b); }
/// NaN if x is NaN.
Pack larger(Pack a, Pack x) { return _mm_max_ps(a, x); }
Pack withoutSign(Pack x) { return _mm_andnot_ps(all(-0.0F), x); }
using Whole = __m128i;
Whole nearest(Pack x) { return _mm_cvtps_epi32(x); }
Pack asFloats(Whole n) { return _mm_cvtepi32_ps(n); }
Whole halved(Whole n) { return _mm_srai_epi32(n, 1); }
Whole difference(Whole a, Whole b) { return _mm_sub_epi32(a, b); }
/// 2 ^ n for n from −126 to 127.
Pack powerOfTwo(Whole n) {
    return _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(n, _mm_set1_epi32(127)), 23));
}
#endif

constexpr std::int64_t kWidth = sizeof(Pack) / sizeof(float);

#ifdef __AVX512F__
/// Up to kWidth elements; the others are 1, for which every function is defined.
Pack loadSome(const float* from, std::int64_t count) {
    return _mm512_mask_loadu_ps(all(1), static_cast<__mmask16>((1U << count) - 1), from);
}

void storeSome(float* to, Pack x, std::int64_t count) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), x);
}
#else
/// Up to kWidth elements; the others are 1, for which every function is defined.
Pack loadSome(const float* from, std::int64_t count) {
    float padded[kWidth];
    store(padded, all(1));
    std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(float));
    return load(padded);
}

void storeSome(float* to, Pack x, std::int64_t count) {
    float padded[kWidth];
    store(padded, x);
    std::memcpy(to, padded, static_cast<std::size_t>(count) * sizeof(float));
}
#endif

template <class F> void each(const float* in, float* out, std::int64_t count, const F& f) {
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) store(out + i, f(load(in + i)));
    if (i < count) storeSome(out + i, f(loadSome(in + i, count - i)), count - i);
}

/// The polynomial with these coefficients, from the constant up.
template <int N> Pack polynomial(Pack x, const float (&c)[N]) {
    Pack sum = all(c[N - 1]);
    for (int i = N - 2; i >= 0; --i) sum = sum * x + all(c[i]);
    return sum;
}

Pack smaller(Pack a, Pack x) { return choose(isLess(a, x), a, x); } // NaN if x is NaN
Pack withSignOf(Pack sign, Pack x) { return choose(isLess(sign, all(0)), -x, x); }

// SLEEF computes the following to 1 unit in the last place and takes 2 to 8 times as long. The coefficients
// minimise the largest relative error, which is below 2e-8, on the given range; they were fitted in extended
// precision.

/// 2 ^ n · e ^ r with r = x − n · ln 2, |r| ≤ ln 2 / 2 and e ^ r = 1 + r + r² · P(r). ln 2 has two parts, the
/// first with so few bits that its product with n is exact. Beyond the bounds of x, the result is 0 or
/// infinite.
Pack exp(Pack given) {
    const Pack x = smaller(all(89), larger(all(-104), given));
    const Whole n = nearest(x * all(1.44269504F));
    const Pack whole = asFloats(n);
    const Pack r = (x - whole * all(0.693359375F)) + whole * all(2.12194440e-4F);
    const Pack p = polynomial(r, {0.499999933F, 0.166665186F, 0.0416684117F, 0.00836896013F, 0.00138140929F});
    // In two factors, since 2 ^ n itself may be subnormal or infinite.
    const Whole half = halved(n);
    return (all(1) + (r + r * r * p)) * powerOfTwo(half) * powerOfTwo(difference(n, half));
}

/// x · P(x²) / Q(x²) for |x| < 3.92, where the rounded result reaches 1.
Pack erf(Pack given) {
    const Pack x = smaller(all(3.92F), larger(all(-3.92F), given));
    const Pack s = x * x;
    const Pack p = polynomial(
        s, {1.12837915F, 0.190407147F, 0.0527488188F, 0.00376564791F, 0.00028488373F, 2.05008595e-06F});
    const Pack q =
        polynomial(s, {1, 0.502076681F, 0.114109398F, 0.014969278F, 0.00116254361F, 3.80917541e-05F});
    return smaller(all(1), larger(all(-1), x * p / q));
}

/// erfc(z) · e ^ z² = t · P(t) with t = 1 / (1 + 0.4 z) for z from 0 to 10.3, where e ^ −z² becomes 0.
Pack scaledErfc(Pack z) {
    const Pack t = all(1) / (all(1) + all(0.4F) * z);
    return t * polynomial(t, {0.225704916F, 0.224990863F, 0.214595679F, 0.131191443F, 0.267687043F,
                              -0.276199561F, 0.53760769F, -0.491437468F, 0.194875862F, -0.0290164596F});
}

/// ln(1 + y) = y · P(y) for y from 0 to 1.
Pack log1p(Pack y) {
    return y * polynomial(y, {1, -0.499999024F, 0.333299623F, -0.249541321F, 0.196759315F, -0.153055701F,
                              0.106036169F, -0.0569591591F, 0.0198512626F, -0.00324398086F});
}

/// For x ≤ 0: x + x² · P(x) from −0.5 on.
Pack expm1(Pack x) {
    const Pack small = x + x * x *
                               polynomial(x, {0.499999997F, 0.166666565F, 0.0416653323F, 0.0083252815F,
                                              0.00136413728F, 0.0001602473F});
    return choose(isLess(all(-0.5F), x), small, exp(x) - all(1));
}

/// x + x · s · P(s) with s = x² for |x| < 0.63, else 1 − 2 / (e ^ 2|x| + 1) with the sign of x.
Pack tanh(Pack x) {
    const Pack size = withoutSign(x);
    const Pack s = x * x;
    const Pack small = x + x * s *
                               polynomial(s, {-0.333333306F, 0.133331959F, -0.0539453781F, 0.0216926054F,
                                              -0.00815627665F, 0.00212274261F});
    const Pack large = all(1) - all(2) / (exp(size + size) + all(1));
    return choose(isLess(size, all(0.63F)), small, withSignOf(x, large));
}

/// The exponent is never positive, so it cannot overflow.
Pack sigmoid(Pack x) {
    const Pack e = exp(-withoutSign(x));
    return choose(isLess(x, all(0)), e, all(1)) / (all(1) + e);
}

/// The exponent is never positive, so it cannot overflow.
Pack softplus(Pack x) { return larger(all(0), x) + log1p(exp(-withoutSign(x))); }

/// x · Φ(x). The smaller of Φ(x) and Φ(−x) is computed, since 1 + erf loses precision for negative x.
Pack gelu(Pack x) {
    const Pack tail =
        all(0.5F) * exp(all(-0.5F) * x * x) * scaledErfc(withoutSign(x) * all(0.70710678118654752440F));
    return x * choose(isLess(x, all(0)), tail, all(1) - tail);
}

Pack geluTanh(Pack x) {
    const Pack inner = all(0.79788456080286535588F) * (x + all(0.044715F) * x * x * x);
    return all(0.5F) * x * (all(1) + tanh(inner));
}

/// tanh(ln(1 + e)) = n / (n + 2) with n = e (e + 2) and e = e ^ x. From x = 20 on, the result is x.
Pack mish(Pack x) {
    const Pack e = exp(smaller(all(20), x));
    const Pack n = e * (e + all(2));
    return x * (n / (n + all(2)));
}

} // namespace

void map(const VectorMap& map, const float* in, float* out, std::int64_t count) noexcept {
    const Pack a = all(map.a);
    const Pack b = all(map.b);
    const Pack zero = all(0);
    switch (map.function) {
    case VectorFunction::exp:
        return each(in, out, count, exp);
    case VectorFunction::log:
        return each(in, out, count, TWB_SLEEF(log, u10));
    case VectorFunction::sqrt:
        return each(in, out, count, TWB_EXACT(sqrt));
    case VectorFunction::sin:
        return each(in, out, count, TWB_SLEEF(sin, u10));
    case VectorFunction::cos:
        return each(in, out, count, TWB_SLEEF(cos, u10));
    case VectorFunction::tan:
        return each(in, out, count, TWB_SLEEF(tan, u10));
    case VectorFunction::asin:
        return each(in, out, count, TWB_SLEEF(asin, u10));
    case VectorFunction::acos:
        return each(in, out, count, TWB_SLEEF(acos, u10));
    case VectorFunction::atan:
        return each(in, out, count, TWB_SLEEF(atan, u10));
    case VectorFunction::tanh:
        return each(in, out, count, tanh);
    case VectorFunction::atanh:
        return each(in, out, count, TWB_SLEEF(atanh, u10));
    case VectorFunction::erf:
        return each(in, out, count, erf);
    case VectorFunction::floor:
        return each(in, out, count, TWB_EXACT(floor));
    case VectorFunction::ceil:
        return each(in, out, count, TWB_EXACT(ceil));
    case VectorFunction::round:
        return each(in, out, count, TWB_EXACT(rint));
    case VectorFunction::sigmoid:
        return each(in, out, count, sigmoid);
    case VectorFunction::gelu:
        return each(in, out, count, gelu);
    case VectorFunction::geluTanh:
        return each(in, out, count, geluTanh);
    case VectorFunction::swish:
        return each(in, out, count, [a](Pack x) { return x * sigmoid(a * x); });
    case VectorFunction::softplus:
        return each(in, out, count, softplus);
    case VectorFunction::mish:
        return each(in, out, count, mish);
    case VectorFunction::elu:
        return each(in, out, count, [=](Pack x) { return choose(isLess(x, zero), a * expm1(x), x); });
    case VectorFunction::selu:
        return each(in, out, count, [=](Pack x) { return choose(isLess(zero, x), b * x, a * b * expm1(x)); });
    case VectorFunction::celu:
        return each(in, out, count, [=](Pack x) { return choose(isLess(x, zero), a * expm1(x / a), x); });
    }
}

void pow(const float* base, const float* exponent, std::int64_t step, float* out,
         std::int64_t count) noexcept {
    std::int64_t i = 0;
    const Pack constant = all(*exponent);
    for (; i + kWidth <= count; i += kWidth)
        store(out + i, TWB_SLEEF(pow, u10)(load(base + i), step == 0 ? constant : load(exponent + i)));
    const std::int64_t rest = count - i;
    if (rest > 0)
        storeSome(out + i,
                  TWB_SLEEF(pow, u10)(loadSome(base + i, rest),
                                      step == 0 ? constant : loadSome(exponent + i, rest)),
                  rest);
}

float max(const float* in, std::int64_t count) noexcept {
    // The first operand is the new element: if it is NaN, the result is the second one.
    Pack largest = all(-__builtin_inff());
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) largest = larger(load(in + i), largest);
    float found[kWidth];
    store(found, largest);
    float out = found[0];
    for (std::int64_t k = 1; k < kWidth; ++k) out = found[k] > out ? found[k] : out;
    for (; i < count; ++i) out = in[i] > out ? in[i] : out;
    return out;
}

double expSum(const float* in, float shift, float* out, std::int64_t count) noexcept {
    // Products with subnormal terms would take a hundred times as long.
    const auto term = [](Pack x) { return choose(isLess(x, all(-87.33654F)), all(0), exp(x)); };
    // Sums of a few terms in f32, which are added in f64.
    constexpr std::int64_t kRun = 16 * kWidth;
    const Pack from = all(shift);
    double sum = 0;
    float terms[kWidth];
    for (std::int64_t begin = 0; begin < count; begin += kRun) {
        const std::int64_t end = begin + kRun < count ? begin + kRun : count;
        Pack part = all(0);
        std::int64_t i = begin;
        for (; i + kWidth <= end; i += kWidth) {
            const Pack e = term(load(in + i) - from);
            if (out) store(out + i, e);
            part = part + e;
        }
        store(terms, part);
        for (const float term : terms) sum += term;
        if (i == end) continue;
        const Pack e = term(loadSome(in + i, end - i) - from);
        if (out) storeSome(out + i, e, end - i);
        store(terms, e);
        for (std::int64_t k = 0; k < end - i; ++k) sum += terms[k];
    }
    return sum;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
void toHalf(const float* in, std::uint16_t* out, std::int64_t count) noexcept {
    const auto convert = [](Pack x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); };
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), convert(load(in + i)));
    if (i == count) return;
    const __m128i last = convert(loadSome(in + i, count - i));
    std::memcpy(out + i, &last, static_cast<std::size_t>(count - i) * sizeof(*out));
}

void fromHalf(const std::uint16_t* in, float* out, std::int64_t count) noexcept {
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth)
        store(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    if (i == count) return;
    __m128i last{};
    std::memcpy(&last, in + i, static_cast<std::size_t>(count - i) * sizeof(*in));
    storeSome(out + i, _mm256_cvtph_ps(last), count - i);
}
#endif

} // namespace twb::TWB_ISA
