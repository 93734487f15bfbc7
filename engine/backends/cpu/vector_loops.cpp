// Compiled once for every x86-64 CPU, once with AVX2 and once with AVX-512. It uses no inline function of
// other headers: the linker keeps one copy of such a function for the whole program, which might be the one
// with AVX-512.

#include "backends/cpu/vector_loops.h"

#include "backends/cpu/vector_functions.h"

#include <sleef.h>

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

namespace {

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

} // namespace

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
