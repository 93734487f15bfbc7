#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"

namespace twb::cuda {
namespace {

struct Widen {
    template <class T> TWB_HOST_DEVICE std::int64_t operator()(T x) const {
        return static_cast<std::int64_t>(x);
    }
};

/// element::Pow, except for integer powers of floats, which are computed by products in double, since a GPU
/// has no other pow. Up to this exponent the rounding error is below 2^-42, which rounding to float hides.
struct Raise {
    static constexpr std::int64_t kMostProducts = 1024;
    template <class T, class E> TWB_HOST_DEVICE T operator()(T base, E exponent) const {
        if constexpr (std::is_same_v<T, float> && std::is_same_v<E, std::int64_t>) {
            if (exponent >= -kMostProducts && exponent <= kMostProducts) {
                double square = base;
                double result = 1;
                TWB_ROLLED
                for (auto rest = static_cast<int>(exponent < 0 ? -exponent : exponent); rest > 0; rest /= 2) {
                    if (rest % 2 != 0) result *= square;
                    square *= square;
                }
                return static_cast<float>(exponent < 0 ? 1 / result : result);
            }
        }
        return element::Pow{}(base, exponent);
    }
};

/// Exponents of other dtypes are converted to f32, f64 or i64 first; a kernel for every pair of dtypes would
/// be a hundred kernels.
void powKernel(const KernelCall& call) {
    const TensorView& exponent = call.inputs[1];
    const bool isDirect =
        exponent.dtype == DType::i64 || exponent.dtype == DType::f32 || exponent.dtype == DType::f64;
    const DType wide = isDirect ? exponent.dtype : isFloating(exponent.dtype) ? DType::f32 : DType::i64;
    const Scratch copy(call.queue, isDirect ? 0 : static_cast<std::size_t>(exponent.shape.byteCount(wide)));
    TensorView by = exponent;
    if (!isDirect) {
        by = {copy.data(), wide, exponent.shape, denseStrides(exponent.shape)};
        withStoredNumber(exponent.dtype, [&](auto zero) {
            using E = decltype(zero);
            if constexpr (isHalf<E>)
                mapElements<E, float>(call.queue, exponent, by, element::Same{});
            else if constexpr (std::is_integral_v<E>)
                mapElements<E, std::int64_t>(call.queue, exponent, by, Widen{});
        });
    }
    withStoredNumber(call.outputs[0].dtype, [&](auto base) {
        using T = decltype(base);
        const auto raise = [&](auto zero) {
            zipElements<T, decltype(zero), T>(call.queue, call.inputs[0], by, call.outputs[0], Raise{});
        };
        if (wide == DType::i64)
            raise(std::int64_t{});
        else if (wide == DType::f32)
            raise(float{});
        else
            raise(double{});
    });
}

} // namespace

void addPowerKernels(KernelMap& table) { add(table, "Pow", powKernel); }

} // namespace twb::cuda
