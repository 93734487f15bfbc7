// Compiled once for every x86-64 CPU, once with AVX2 and once with AVX-512. It uses no inline function of
// other headers: the linker keeps one copy of such a function for the whole program, which might be the one
// with AVX-512.

#include "backends/cpu/vector_loops.h"

#include "backends/cpu/vector_functions.h"

#include <sleef.h>
#include <type_traits>

#if defined(__AVX512F__)
#define TWB_SLEEF(name, bound) Sleef_##name##f16_##bound##avx512f
#define TWB_EXACT(name) Sleef_##name##f16_avx512f
#elif defined(__AVX2__)
#define TWB_SLEEF(name, bound) Sleef_##name##f8_##bound##avx2
#define TWB_EXACT(name) Sleef_##name##f8_avx2
#else
#define TWB_SLEEF(name, bound) Sleef_##name##f4_##bound
#define TWB_EXACT(name) Sleef_##name##f4
#endif

namespace twb::TWB_ISA {

namespace {

#ifdef __AVX2__
/// A sum of two numbers, the second of which has the bits that the first has no room for.
struct Pair {
    Pack high;
    Pack low;
};

#ifdef __AVX512F__
/// The logarithms to base 2 of positive normal numbers m · 2 ^ k, m from 0.69 to 1.39. The range of m has 32
/// parts, each with a number c near the reciprocals of its numbers, and r = m · c − 1 is below 0.0153: log2 m
/// = −log2 c + r · log2 e + r² · P(r), where the relative error of P is 2.3e-9. −log2 c is a pair, too; its
/// first number is a multiple of 2^-15, so that its sum with k is exact. Around 1, c is 1 and no bit of the
/// result is lost.
Pair logarithm(Pack x) {
    alignas(64) static constexpr float reciprocals[32] = {
        1.42750919F,  1.39636362F,  1.36654794F,  1.33797908F,  1.31058013F,
        1.2842809F,   1.25901628F,  1.23472667F,  1.2113564F,   1.18885446F,
        1.16717315F,  1.14626861F,  1.12609971F,  1.10662818F,  1.08781862F,
        1.06963789F,  1.05205476F,  1.03504038F,  1.01856756F,  1,
        0.97461921F,  0.945812762F, 0.918660223F, 0.893023193F, 0.868778229F,
        0.845814943F, 0.824034274F, 0.80334723F,  0.783673406F, 0.764940202F,
        0.747081697F, 0.730037987F};
    alignas(64) static constexpr float high[32] = {
        -0.51348877F,   -0.481689453F,  -0.450531006F,  -0.420043945F, -0.390197754F,
        -0.360961914F,  -0.332305908F,  -0.304199219F,  -0.276611328F, -0.249572754F,
        -0.223022461F,  -0.196929932F,  -0.171325684F,  -0.146179199F, -0.121429443F,
        -0.0971374512F, -0.0732116699F, -0.0496826172F, -0.026550293F, 0,
        0.0370788574F,  0.0803833008F,  0.122406006F,   0.163238525F,  0.202941895F,
        0.241577148F,   0.27923584F,    0.315917969F,   0.35168457F,   0.386566162F,
        0.420654297F,   0.453948975F};
    alignas(64) static constexpr float low[32] = {
        -1.12624875e-05F, 1.47818655e-05F,  -5.06849528e-06F, -1.16117135e-05F, -7.81491053e-06F,
        1.13277451e-06F,  8.9751893e-06F,   7.51234438e-06F,  -1.20645273e-05F, 6.48187438e-07F,
        3.86383454e-06F,  -1.52201374e-05F, -8.88676004e-06F, 8.63258811e-06F,  -8.58555904e-06F,
        1.49685984e-05F,  1.86641159e-06F,  -4.43346198e-06F, 8.61479657e-06F,  0,
        1.05791032e-05F,  -9.81400171e-06F, -9.27462406e-06F, -8.07485594e-06F, -1.74986963e-06F,
        8.89725106e-06F,  -1.2088869e-05F,  -1.35710206e-05F, -9.01468866e-06F, 1.49605403e-05F,
        7.78070898e-06F,  7.58427768e-06F};
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i above = _mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f315556)); // the least m
    const Pack m = _mm512_castsi512_ps(
        _mm512_sub_epi32(bits, _mm512_and_si512(above, _mm512_set1_epi32(static_cast<int>(0xff800000U)))));
    const __m512i part = _mm512_srli_epi32(above, 18); // its last five bits count
    const Pack k = _mm512_cvtepi32_ps(_mm512_srai_epi32(above, 23));
    const auto entry = [part](const float* table) {
        return _mm512_permutex2var_ps(_mm512_load_ps(table), part, _mm512_load_ps(table + 16));
    };
    const Pack c = entry(reciprocals);
    const Pack product = m * c;
    const Pack r = product - all(1);
    const Pack rest = _mm512_fmsub_ps(m, c, product); // of r; the logarithm grows by it over 1 + r
    const Pack whole = k + entry(high);
    const Pack factor = all(1.44269502F);
    const Pack first = r * factor;
    const Pack square = r * r;
    const Pack sum = whole + first; // `whole` is 0 or larger than `first`
    Pack last = _mm512_fmadd_ps(_mm512_fnmadd_ps(rest, r, rest), factor, _mm512_fmsub_ps(r, factor, first));
    last = _mm512_fmadd_ps(r, all(1.92596303e-8F), last) + entry(low);
    const Pack p = polynomial(r, {-0.721347511F, 0.48089835F, -0.360729635F, 0.288580239F});
    return {sum, _mm512_fmadd_ps(square, p, (first - (sum - whole)) + last)};
}

/// y · log2 x
Pair exponentOf(Pack x, Pack y) {
    const Pair log = logarithm(x);
    const Pack z = y * log.high;
    return {z, _mm512_fmadd_ps(y, log.low, _mm512_fmsub_ps(y, log.high, z))};
}
#else
/// One half of y · log2 x in f64, where x = m · 2 ^ k and `whole` is k − log2 c: log2 m = −log2 c + log2 (1 +
/// r) with r = m · c − 1. log2 (1 + r) = r · P(r) for |r| ≤ 1 / 16, with a relative error of 2 ^ −37.
template <int half> __m256d exponentOf(Pack m, Pack c, Pack whole, Pack y) {
    const auto of = [](Pack x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, half)); };
    const __m256d one = _mm256_set1_pd(1);
    const __m256d r = of(m) * of(c) - one; // exact
    const auto two = [r](double a, double b) { return _mm256_set1_pd(a) + _mm256_set1_pd(b) * r; };
    const __m256d square = r * r;
    const __m256d high =
        two(0.28853786348477274, -0.24167728447172402) + _mm256_set1_pd(0.20696277029738667) * square;
    const __m256d middle = two(0.48089834708807914, -0.36067137676689267) + high * square;
    const __m256d p = two(1.442695040889047, -0.72134752160025505) + middle * square;
    return (of(whole) + r * p) * of(y);
}

/// y · log2 x for positive normal numbers x = m · 2 ^ k, m from 0.72 to 1.44. The range of m has 8 parts,
/// each with a number c near the reciprocals of its numbers. Each c was chosen so that −log2 c is nearly a
/// multiple of 2^-16, whose sum with k is exact. Around 1, c is 1.
Pair exponentOf(Pack x, Pack y) {
    alignas(32) static constexpr float reciprocals[8] = {
        0x1.51a73ep+0F, 0x1.3af426p+0F, 0x1.246a8ap+0F, 0x1.1252acp+0F, 1,
        0x1.c40ab6p-1F, 0x1.94c47cp-1F, 0x1.75d430p-1F};
    alignas(32) static constexpr float logarithms[8] = {
        -0.3993988037109375F, -0.2989959716796875F, -0.1918792724609375F, -0.0997314453125F, 0,
        0.1796875F,           0.33905029296875F,    0.453765869140625F};
    const Whole above = difference(bitsOf(x), wholes(0x3f380000)); // the least m
    const Whole k = shiftedRight<23>(above);
    const Whole part = shiftedRight<20>(above); // its last three bits count
    const Pack m = fromBits(difference(bitsOf(x), shiftedLeft<23>(k)));
    const Pack c = _mm256_permutevar8x32_ps(load(reciprocals), part);
    const Pack whole = asFloats(k) + _mm256_permutevar8x32_ps(load(logarithms), part);
    const __m256d a = exponentOf<0>(m, c, whole, y);
    const __m256d b = exponentOf<1>(m, c, whole, y);
    const __m128 highA = _mm256_cvtpd_ps(a);
    const __m128 highB = _mm256_cvtpd_ps(b);
    return {_mm256_set_m128(highB, highA), _mm256_set_m128(_mm256_cvtpd_ps(b - _mm256_cvtps_pd(highB)),
                                                           _mm256_cvtpd_ps(a - _mm256_cvtps_pd(highA)))};
}
#endif

/// x ^ y = 2 ^ (y · log2 x), where the exponent is a pair. SLEEF's function, which takes two (AVX2) to four
/// (AVX-512) times as long, computes the elements whose base is not a positive normal number or whose
/// exponent is not finite.
Pack power(Pack x, Pack y) {
    const Pair z = exponentOf(x, y);
    // Where |z.high| is above 250, the power is 0 or infinite, and z.low may be NaN.
    const Rounded e(smaller(all(250), larger(all(-250), z.high)));
    const Pack ln2 = all(0.693147182F);
    const Pack r = (z.high - e.n) * ln2 + z.low * ln2;
    const Pack fast = scaled(all(1) + expm1Of(smaller(larger(r, all(-1)), all(1))), e);
    const Condition isFast = both(both(isLess(all(1.17549421e-38F), x), isLess(x, all(__builtin_inff()))),
                                  isLess(withoutSign(y), all(__builtin_inff())));
    return isEverywhere(isFast) ? fast : choose(isFast, fast, TWB_SLEEF(pow, u10)(x, y));
}
#else
Pack power(Pack x, Pack y) { return TWB_SLEEF(pow, u10)(x, y); }
#endif

#ifdef __AVX512F__
Pack log(Pack x) { return TWB_SLEEF(log, u35)(x); }
#else
/// ln (m · 2 ^ k) for m from √½ to √2: with r = m − 1, ln m = r − r² / 2 + r³ · P(r). ln 2 has two parts, the
/// first with so few bits that its product with k is exact. SLEEF's function, which takes 1.3 times as long,
/// computes the elements that are no positive normal numbers.
Pack log(Pack x) {
    const Whole above = difference(bitsOf(x), wholes(0x3f3504f3)); // the least m
    const Whole k = shiftedRight<23>(above);
    const Pack n = asFloats(k);
    const Pack r = fromBits(difference(bitsOf(x), shiftedLeft<23>(k))) - all(1);
    const Pack square = r * r;
    const Pack p = polynomial(r, {0.333333316F, -0.250008196F, 0.200012314F, -0.166234036F, 0.142017112F,
                                  -0.131597451F, 0.127616552F, -0.0763561529F});
    const Pack rest = r * square * p + (n * all(-2.12194440e-4F) - square * all(0.5F));
    const Pack fast = n * all(0.693359375F) + (r + rest);
    const Condition isFast = both(isLess(all(1.17549421e-38F), x), isLess(x, all(__builtin_inff())));
    return isEverywhere(isFast) ? fast : choose(isFast, fast, TWB_SLEEF(log, u35)(x));
}
#endif

/// x ^ 0.5, which is 0 for −0 and infinite for −∞.
Pack root(Pack x) {
    const Pack size = withoutSign(x);
    return choose(isLess(size, all(__builtin_inff())), TWB_EXACT(sqrt)(x + all(0)), size);
}

/// Raises to an exponent for which a few operations suffice; false for others.
bool raise(const float* base, float exponent, float* out, std::int64_t count) {
    const auto with = [&](const auto& f) {
        each(base, out, count, f);
        return true;
    };
    if (exponent == 1) return with([](Pack x) { return x; });
    if (exponent == 2) return with([](Pack x) { return x * x; });
    if (exponent == 3) return with([](Pack x) { return x * x * x; });
    if (exponent == 4) return with([](Pack x) { return (x * x) * (x * x); });
    if (exponent == -1) return with([](Pack x) { return all(1) / x; });
    if (exponent == 0.5F) return with(root);
    if (exponent == -0.5F) return with([](Pack x) { return all(1) / root(x); });
    return false;
}

void map(const VectorMap& map, const float* in, float* out, std::int64_t count) noexcept {
    const Pack a = all(map.a);
    const Pack b = all(map.b);
    const Pack zero = all(0);
    switch (map.function) {
    case VectorFunction::exp:
        return each<exp>(in, out, count);
    case VectorFunction::log:
        return each<log>(in, out, count);
    case VectorFunction::sqrt:
        return each<TWB_EXACT(sqrt)>(in, out, count);
    case VectorFunction::sin:
        return each<TWB_SLEEF(sin, u35)>(in, out, count);
    case VectorFunction::cos:
        return each<TWB_SLEEF(cos, u35)>(in, out, count);
    case VectorFunction::tan:
        return each<TWB_SLEEF(tan, u35)>(in, out, count);
    case VectorFunction::asin:
        return each<TWB_SLEEF(asin, u35)>(in, out, count);
    case VectorFunction::acos:
        return each<TWB_SLEEF(acos, u35)>(in, out, count);
    case VectorFunction::atan:
        return each<TWB_SLEEF(atan, u35)>(in, out, count);
    case VectorFunction::tanh:
        return each<tanh>(in, out, count);
    case VectorFunction::atanh:
        return each<TWB_SLEEF(atanh, u10)>(in, out, count);
    case VectorFunction::erf:
        return each<erf>(in, out, count);
    case VectorFunction::floor:
        return each<TWB_EXACT(floor)>(in, out, count);
    case VectorFunction::ceil:
        return each<TWB_EXACT(ceil)>(in, out, count);
    case VectorFunction::round:
        return each<TWB_EXACT(rint)>(in, out, count);
    case VectorFunction::sigmoid:
        return each<sigmoid>(in, out, count);
    case VectorFunction::hardSigmoid:
        return each(in, out, count, [=](Pack x) { return hardSigmoid(x, a, b); });
    case VectorFunction::hardSwish:
        return each<hardSwish>(in, out, count);
    case VectorFunction::gelu:
        return each<gelu>(in, out, count);
    case VectorFunction::geluTanh:
        return each<geluTanh>(in, out, count);
    case VectorFunction::swish:
        return each(in, out, count, [a](Pack x) { return x * sigmoid(a * x); });
    case VectorFunction::softplus:
        return each<softplus>(in, out, count);
    case VectorFunction::mish:
        return each<mish>(in, out, count);
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
    if (step == 0 && raise(base, *exponent, out, count)) return;
    std::int64_t i = 0;
    const Pack constant = all(*exponent);
    for (; i + kWidth <= count; i += kWidth) {
        if (i + kAhead + kWidth <= count) { // as in each()
            fetch(base + i);
            fetch(exponent + i * step);
            fetchToWrite(out + i);
        }
        store(out + i, power(load(base + i), step == 0 ? constant : load(exponent + i)));
    }
    const std::int64_t rest = count - i;
    if (rest > 0)
        storeSome(out + i,
                  power(loadSome(base + i, rest), step == 0 ? constant : loadSome(exponent + i, rest)), rest);
}

float max(const float* in, std::int64_t count) noexcept {
    // The first operand is the new element: if it is NaN, the result is the second one.
    Pack largest = all(-__builtin_inff());
    std::int64_t i = 0;
    constexpr int kMany = 4;
    if (count >= kMany * kWidth) {
        Pack most[kMany] = {largest, largest, largest, largest};
        for (; i + kMany * kWidth <= count; i += kMany * kWidth)
            for (int k = 0; k < kMany; ++k) most[k] = larger(load(in + i + k * kWidth), most[k]);
        largest = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    }
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
    const auto term = [](Pack x) {
        const Rounded e(x * all(1.44269504F));
        const Pack power = scaledNormal(all(1) + expm1Of(remainder(x, e.n)), e);
        return choose(isLess(x, all(-87.33654F)), all(0), power);
    };
    // Sums of a few terms in f32, which are added in f64.
    constexpr std::int64_t kRun = 16 * kWidth;
    const Pack from = all(shift);
    // The next row of a softmax, while this one is in work. Rows that are overwritten are in the cache
    // already.
    const std::int64_t ahead = count < 4096 ? count : 4096;
    double sum = 0;
    float terms[kWidth];
    for (std::int64_t begin = 0; begin < count; begin += kRun) {
        const std::int64_t end = begin + kRun < count ? begin + kRun : count;
        Pack part = all(0);
        std::int64_t i = begin;
        for (; i + kWidth <= end; i += kWidth) {
            const Pack e = term(load(in + i) - from);
            if (out != in) fetch(in + i, ahead);
            if (out && out != in) fetchToWrite(out + i, ahead);
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

/// foldRows() for few columns, whose states stay in registers.
template <int width, class State, class Fold>
void foldLanes(const float* in, std::int64_t rows, std::int64_t stride, State* states, const Fold& fold) {
    State kept[width];
    for (int c = 0; c < width; ++c) kept[c] = states[c];
    for (std::int64_t r = 0; r < rows; ++r, in += stride) {
        for (int c = 0; c < width; c += kLine) fetch(in + c);
        for (int c = 0; c < width; ++c) kept[c] = fold(kept[c], in[c]);
    }
    for (int c = 0; c < width; ++c) states[c] = kept[c];
}

/// Calls fold(state, element) for the elements of each row with the state of their column.
template <class State, class Fold>
void foldRows(const float* in, std::int64_t rows, std::int64_t stride, std::int64_t width, State* states,
              const Fold& fold) {
    const std::int64_t ahead = (4 * kAhead + width - 1) / width * stride;
    constexpr std::int64_t kBlock = 8 * kLine;
    const auto add = [&](auto together) {
        for (std::int64_t c = 0; c < width; c += kBlock) {
            const std::int64_t end = c + kBlock < width ? c + kBlock : width;
            for (int r = 0; r < together.value; ++r)
                for (std::int64_t k = c; k < end; k += kLine) fetch(in + r * stride + k, ahead);
            for (std::int64_t k = c; k < end; ++k) {
                State state = states[k];
                for (int r = 0; r < together.value; ++r) state = fold(state, in[r * stride + k]);
                states[k] = state;
            }
        }
        in += together.value * stride;
    };
    constexpr int kTogether = 4; // rows for which a state is loaded once
    for (; rows >= kTogether; rows -= kTogether) add(std::integral_constant<int, kTogether>{});
    for (; rows > 0; --rows) add(std::integral_constant<int, 1>{});
}

void addRows(Summand summand, const float* in, std::int64_t rows, std::int64_t stride, std::int64_t width,
             double* sums) noexcept {
    const auto fold = [=](const auto& of) {
        const auto add = [&](double sum, float x) { return sum + of(double(x)); };
        // The lanes of reduction.h.
        if (width == 8) return foldLanes<8>(in, rows, stride, sums, add);
        if (width == 32) return foldLanes<32>(in, rows, stride, sums, add);
        foldRows(in, rows, stride, width, sums, add);
    };
    switch (summand) {
    case Summand::value:
        return fold([](double x) { return x; });
    case Summand::size:
        return fold([](double x) { return __builtin_fabs(x); });
    case Summand::square:
        return fold([](double x) { return x * x; });
    }
}

void mostOfRows(bool largest, const float* in, std::int64_t rows, std::int64_t stride, std::int64_t width,
                float* most) noexcept {
    const auto fold = [=](const auto& of) {
        if (width == 32) return foldLanes<32>(in, rows, stride, most, of);
        foldRows(in, rows, stride, width, most, of);
    };
    if (largest) return fold([](float a, float x) { return x > a || x != x ? x : a; });
    fold([](float a, float x) { return x < a || x != x ? x : a; });
}

void scale(const float* in, float factor, float* out, std::int64_t count) noexcept {
    const Pack by = all(factor);
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) store(out + i, load(in + i) * by);
    if (i < count) storeSome(out + i, loadSome(in + i, count - i) * by, count - i);
}

void scaleEach(const float* in, float factor, const float* factors, float* out, std::int64_t count) noexcept {
    const Pack by = all(factor);
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        fetchToWrite(out + i); // usually of the next row
        store(out + i, load(in + i) * by * load(factors + i));
    }
    if (i == count) return;
    storeSome(out + i, loadSome(in + i, count - i) * by * loadSome(factors + i, count - i), count - i);
}

void subtract(const float* in, float first, float second, float* out, std::int64_t count) noexcept {
    const Pack a = all(first);
    const Pack b = all(second);
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        fetchToWrite(out + i);
        store(out + i, load(in + i) - a - b);
    }
    if (i < count) storeSome(out + i, loadSome(in + i, count - i) - a - b, count - i);
}

/// The first `count` elements, and zeros.
Pack loadPadded(const float* from, std::int64_t count) {
    float padded[kWidth];
    store(padded, all(0));
    std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(float));
    return load(padded);
}

float sumOf(Pack x) {
    float parts[kWidth];
    store(parts, x);
    for (std::int64_t half = kWidth / 2; half > 0; half /= 2)
        for (std::int64_t k = 0; k < half; ++k) parts[k] += parts[k + half];
    return parts[0];
}

void dots(const float* x, std::int64_t length, const float* rows, std::int64_t stride, float* out,
          std::int64_t count) noexcept {
    constexpr int kRows = 4; // at a time, for as many streams from memory
    const std::int64_t whole = length / kWidth * kWidth;
    const std::int64_t rest = length - whole;
    const Pack last = loadPadded(x + whole, rest);
    for (std::int64_t i = 0; i < count; i += kRows) {
        const float* row[kRows]; // the last one again for those that are missing
        for (int r = 0; r < kRows; ++r) row[r] = rows + (i + r < count ? i + r : count - 1) * stride;
        Pack sums[kRows];
        for (int r = 0; r < kRows; ++r) sums[r] = rest > 0 ? last * loadPadded(row[r] + whole, rest) : all(0);
        for (std::int64_t k = 0; k < whole; k += kWidth) {
            const Pack factor = load(x + k);
            for (int r = 0; r < kRows; ++r) sums[r] += factor * load(row[r] + k);
        }
        for (int r = 0; r < kRows && i + r < count; ++r) out[i + r] = sumOf(sums[r]);
    }
}

#ifdef __AVX512F__
constexpr int kPanelPacks = 4;
#else
constexpr int kPanelPacks = 2;
#endif
constexpr std::int64_t kPanelColumns = kPanelPacks * kWidth;

/// Computes R rows of y, in the columns of one panel.
template <int R>
void multiplyPanel(const float* x, std::int64_t xStride, std::int64_t inner, const float* panel, float* y,
                   std::int64_t yStride) {
    Pack sums[R][kPanelPacks];
    for (auto& row : sums)
        for (Pack& sum : row) sum = all(0);
    for (std::int64_t i = 0; i < inner; ++i, panel += kPanelColumns) {
        Pack w[kPanelPacks];
        for (int k = 0; k < kPanelPacks; ++k) w[k] = load(panel + k * kWidth);
        for (int r = 0; r < R; ++r) {
            const Pack factor = all(x[r * xStride + i]);
            for (int k = 0; k < kPanelPacks; ++k) sums[r][k] = sums[r][k] + factor * w[k];
        }
    }
    for (int r = 0; r < R; ++r)
        for (int k = 0; k < kPanelPacks; ++k) store(y + r * yStride + k * kWidth, sums[r][k]);
}

void multiplyRows(const float* x, std::int64_t xStride, std::int64_t rows, std::int64_t inner,
                  const float* panel, float* y, std::int64_t yStride) noexcept {
    for (; rows >= 4; rows -= 4, x += 4 * xStride, y += 4 * yStride)
        multiplyPanel<4>(x, xStride, inner, panel, y, yStride);
    if (rows == 3) multiplyPanel<3>(x, xStride, inner, panel, y, yStride);
    if (rows == 2) multiplyPanel<2>(x, xStride, inner, panel, y, yStride);
    if (rows == 1) multiplyPanel<1>(x, xStride, inner, panel, y, yStride);
}

void lstmUnits(const float* inputs, std::int64_t inputStep, const float* gates, std::int64_t gateStep,
               std::int64_t count, float* c, float* h) noexcept {
    const auto units = [&](std::int64_t k, const auto& read, const auto& write) {
        const auto gate = [&](int which) {
            return read(gates + which * gateStep + k) + read(inputs + which * inputStep + k);
        };
        const Pack state = sigmoid(gate(2)) * read(c + k) + sigmoid(gate(0)) * tanh(gate(3));
        write(c + k, state);
        write(h + k, sigmoid(gate(1)) * tanh(state));
    };
    std::int64_t k = 0;
    for (; k + kWidth <= count; k += kWidth) units(k, load, store);
    const std::int64_t rest = count - k;
    if (rest > 0)
        units(
            k, [rest](const float* from) { return loadSome(from, rest); },
            [rest](float* to, Pack x) { storeSome(to, x, rest); });
}

} // namespace

const VectorLoops vectorLoops{map,   pow,       max,      expSum,        dots,         addRows,  mostOfRows,
                              scale, scaleEach, subtract, kPanelColumns, multiplyRows, lstmUnits};

#if defined(__AVX2__) && !defined(__AVX512F__)
void toHalf(const float* in, std::uint16_t* out, std::int64_t count) noexcept {
    const auto convert = [](Pack x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); };
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        fetch(in + i);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), convert(load(in + i)));
    }
    if (i == count) return;
    const __m128i last = convert(loadSome(in + i, count - i));
    std::memcpy(out + i, &last, static_cast<std::size_t>(count - i) * sizeof(*out));
}

void fromHalf(const std::uint16_t* in, float* out, std::int64_t count) noexcept {
    std::int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        fetchToWrite(out + i);
        store(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    }
    if (i == count) return;
    __m128i last{};
    std::memcpy(&last, in + i, static_cast<std::size_t>(count - i) * sizeof(*in));
    storeSome(out + i, _mm256_cvtph_ps(last), count - i);
}
#endif

} // namespace twb::TWB_ISA
