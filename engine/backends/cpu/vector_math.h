#pragma once

#include <cstdint>

namespace twb {

struct Half;

/// A function of one f32 with a vectorised form. The parameters are those of the ops with the same names.
enum class VectorFunction : std::uint8_t {
    exp,
    log,
    sqrt,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    tanh,
    atanh,
    erf,
    floor,
    ceil,
    round, ///< halves to even
    sigmoid,
    hardSigmoid, ///< a · x + b, but at least 0 and at most 1
    hardSwish,   ///< x · hardSigmoid(x) with a = 1/6 and b = 1/2
    gelu,
    geluTanh,
    swish,    ///< x · sigmoid(a · x)
    softplus, ///< ln(1 + e ^ x)
    mish,     ///< x · tanh(softplus x)
    elu,      ///< x < 0 ? a · (e ^ x − 1) : x
    selu,     ///< x > 0 ? b · x : a · b · (e ^ x − 1)
    celu      ///< x < 0 ? a · (e ^ (x / a) − 1) : x
};

/// A function with its parameters.
struct VectorMap {
    VectorFunction function;
    float a = 0;
    float b = 0;

    /// out[i] = function(in[i]) on the calling thread. `out` may be the same memory as `in`. Uses SLEEF
    /// (Shibata and Petrogalli, 2020) and polynomials, with AVX2 or AVX-512 where the CPU has it. An
    /// element's result does not depend on its neighbours. Errors are at most 4 units in the last place of a
    /// normal number, 5 of softplus and 7 of erf, except where a function is a product with a factor near 0:
    /// gelu, geluTanh, swish and mish of negative numbers.
    void operator()(const float* in, float* out, std::int64_t count) const noexcept;
};

/// out[i] = base[i] ^ exponent[i · step], with `step` 0 or 1, on the calling thread. `out` may be the same
/// memory as an operand. Errors are at most 2 units in the last place of a normal number. A single exponent
/// of 1, 2, 3, 4, −1, ½ or −½ takes as long as a copy.
void vectorPow(const float* base, const float* exponent, std::int64_t step, float* out,
               std::int64_t count) noexcept;

/// The largest element, ignoring NaN; −∞ if there is none.
float vectorMax(const float* in, std::int64_t count) noexcept;

/// The sum of e ^ (in[i] − shift), where no in[i] − shift may be above 88. Writes the terms to `out`, unless
/// it is null; it may be the same memory as `in`. A term below the smallest normal number is 0. The sum has
/// at least the precision of f32.
double vectorExpSum(const float* in, float shift, float* out, std::int64_t count) noexcept;

/// What vectorAddRows() adds for an element.
enum class Summand : std::uint8_t { value, size, square };

/// sums[c] += the summand of in[r · stride + c] for all rows r in their order and all c below `width`, in
/// f64, on the calling thread.
void vectorAddRows(Summand summand, const float* in, std::int64_t rows, std::int64_t stride,
                   std::int64_t width, double* sums) noexcept;

/// most[c] = the largest (or smallest) of itself and in[r · stride + c] for all rows r, c below `width`, on
/// the calling thread. NaN wins.
void vectorMostOfRows(bool largest, const float* in, std::int64_t rows, std::int64_t stride,
                      std::int64_t width, float* most) noexcept;

/// out[i] = in[i] · factor on the calling thread. `out` may be the same memory as `in`.
void vectorScale(const float* in, float factor, float* out, std::int64_t count) noexcept;

/// out[i] = in[i] · factor · factors[i] on the calling thread.
void vectorScaleEach(const float* in, float factor, const float* factors, float* out,
                     std::int64_t count) noexcept;

/// out[i] = in[i] − first − second on the calling thread. `out` may be the same memory as `in`.
void vectorSubtract(const float* in, float first, float second, float* out, std::int64_t count) noexcept;

/// The number of columns of a panel of vectorMultiplyRows(). The registers hold their sums for four rows.
std::int64_t vectorPanelColumns() noexcept;

/// y[r · yStride + k] = Σ x[r · xStride + i] · panel[i · n + k] for `rows` rows r, i below `inner` and k
/// below n = vectorPanelColumns(), on the calling thread. It is meant for a few rows.
void vectorMultiplyRows(const float* x, std::int64_t xStride, std::int64_t rows, std::int64_t inner,
                        const float* panel, float* y, std::int64_t yStride) noexcept;

/// One step of `count` units of an LSTM with sigmoid and tanh, on the calling thread. The gates are input,
/// output, forget and cell, `gateStep` elements apart; the elements of `inputs`, `inputStep` apart, are added
/// to them. Updates the states c, and writes h.
void vectorLstmUnits(const float* inputs, std::int64_t inputStep, const float* gates, std::int64_t gateStep,
                     std::int64_t count, float* c, float* h) noexcept;

/// Conversions on the calling thread, rounded to nearest, ties to even.
void vectorToHalf(const float* in, Half* out, std::int64_t count) noexcept;
void vectorFromHalf(const Half* in, float* out, std::int64_t count) noexcept;

} // namespace twb
