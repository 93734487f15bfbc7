#include "backends/cpu/gemm.h"

#include "backends/cpu/blas.h"
#include "backends/cpu/one_thread.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/vector_dots.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>

namespace twb {
namespace {

blasint blasSize(std::int64_t size) {
    if (size > std::numeric_limits<blasint>::max())
        throw Error(
            ErrorCode::unsupported,
            fmt::format("a matrix with {} rows or columns is too large for BLAS, which counts to {}; split "
                        "it along that side",
                        size, std::numeric_limits<blasint>::max()));
    return static_cast<blasint>(size);
}

void blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, float alpha,
          const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c, blasint ldc) {
    BlasCall()->sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, double alpha,
          const double* a, blasint lda, const double* b, blasint ldb, double beta, double* c, blasint ldc) {
    BlasCall()->dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void blas(CBLAS_TRANSPOSE ta, blasint rows, blasint columns, float alpha, const float* a, blasint lda,
          const float* x, blasint incX, float beta, float* y) {
    BlasCall()->sgemv(CblasRowMajor, ta, rows, columns, alpha, a, lda, x, incX, beta, y, 1);
}

void blas(CBLAS_TRANSPOSE ta, blasint rows, blasint columns, double alpha, const double* a, blasint lda,
          const double* x, blasint incX, double beta, double* y) {
    BlasCall()->dgemv(CblasRowMajor, ta, rows, columns, alpha, a, lda, x, incX, beta, y, 1);
}

/// Products with fewer multiply-adds run on one thread.
constexpr double kParallelProducts = 8e6;

/// oneDNN needs about 0.15 µs more than OpenBLAS for a product with few multiply-adds.
constexpr double kSmallProducts = 8192;

/// Keeps small products on the calling thread. Both libraries read the calling thread's OpenMP setting.
class GemmThreads {
public:
    explicit GemmThreads(double products) {
        if (products < kParallelProducts) m_one.emplace();
    }

private:
    std::optional<OneThread> m_one;
};

/// c = alpha · x · b + beta · c for a row x and b with contiguous columns, which are read once.
void multiplyRow(std::int64_t n, std::int64_t k, float alpha, const float* x, const MatrixOperand<float>& b,
                 float beta, float* c) {
    parallelRanges(n, n * k / 4, 16, [&](std::int64_t begin, std::int64_t end) {
        constexpr std::int64_t kAtOnce = 64;
        std::array<float, kAtOnce> dots;
        for (std::int64_t at = begin; at < end; at += kAtOnce) {
            const std::int64_t count = std::min(kAtOnce, end - at);
            vectorDots(x, k, b.data + at * b.stride, b.stride, dots.data(), count);
            for (std::int64_t i = 0; i < count; ++i) {
                const float product = alpha * dots[static_cast<std::size_t>(i)];
                c[at + i] = beta == 0 ? product : product + beta * c[at + i];
            }
        }
    });
}

/// One row of C at a time. B is read row by row in panels that fit the cache.
template <class T>
void integerGemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, MatrixOperand<T> a,
                 MatrixOperand<T> b, T beta, T* c, std::int64_t cStride) {
    using U = std::make_unsigned_t<T>;
    constexpr std::int64_t panel = 128;
    const std::int64_t aRow = a.transposed ? 1 : a.stride;
    const std::int64_t aColumn = a.transposed ? a.stride : 1;
    const std::int64_t bRow = b.transposed ? 1 : b.stride;
    const std::int64_t bColumn = b.transposed ? b.stride : 1;
    parallelRanges(m, m * n * std::max<std::int64_t>(k, 1), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                T& out = c[i * cStride + j];
                out = beta == 0 ? T{0} : static_cast<T>(static_cast<U>(beta) * static_cast<U>(out));
            }
        for (std::int64_t p0 = 0; p0 < k; p0 += panel) {
            const std::int64_t pEnd = std::min(k, p0 + panel);
            for (std::int64_t i = begin; i < end; ++i)
                for (std::int64_t p = p0; p < pEnd; ++p) {
                    const U factor = static_cast<U>(alpha) * static_cast<U>(a.data[i * aRow + p * aColumn]);
                    const T* const row = b.data + p * bRow;
                    T* const out = c + i * cStride;
                    for (std::int64_t j = 0; j < n; ++j)
                        out[j] = static_cast<T>(static_cast<U>(out[j]) +
                                                factor * static_cast<U>(row[j * bColumn]));
                }
        }
    });
}

} // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, MatrixOperand<T> a, MatrixOperand<T> b,
          T beta, T* c, std::int64_t cStride) {
    if (m == 0 || n == 0) return;
    if constexpr (std::is_floating_point_v<T>) {
        const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
        // BLAS requires strides of at least 1 and valid pointers, even for empty matrices.
        const T nothing = 0;
        const auto least = [](std::int64_t stride, std::int64_t columns) {
            return blasSize(std::max({stride, columns, std::int64_t{1}}));
        };
        if (m == 1 && k > 0) {
            // A single row of A, as in networks at batch 1: GEMM would first copy all of B.
            if constexpr (std::is_same_v<T, float>)
                if (alpha != 0 && b.transposed && (!a.transposed || a.stride == 1))
                    return multiplyRow(n, k, alpha, a.data, b, beta, c);
            const GemmThreads threads(32 * static_cast<double>(n) * static_cast<double>(k)); // memory-bound
            if (beta == 0) std::fill_n(c, n, T{0}); // the old values are not read, even if they are NaN
            const bool rows = !b.transposed;        // of B in memory: k rows of n, else n rows of k
            return blas(rows ? CblasTrans : CblasNoTrans, blasSize(rows ? k : n), blasSize(rows ? n : k),
                        alpha, b.data, least(b.stride, rows ? n : k), a.data,
                        blasSize(a.transposed ? std::max<std::int64_t>(a.stride, 1) : 1), beta, c);
        }
        const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        const GemmThreads threads(products);
        if constexpr (std::is_same_v<T, float>)
            // OpenBLAS 0.3.21 uses at most AVX2 on AMD's CPUs.
            if (products >= kSmallProducts) {
                a.stride = least(a.stride, a.transposed ? m : k);
                b.stride = least(b.stride, b.transposed ? k : n);
                return onednn::multiply(blasSize(m), blasSize(n), blasSize(k), alpha, a, b, beta, c,
                                        least(cStride, n));
            }
        blas(order(a.transposed), order(b.transposed), blasSize(m), blasSize(n), blasSize(k), alpha,
             k == 0 ? &nothing : a.data, least(a.stride, a.transposed ? m : k), k == 0 ? &nothing : b.data,
             least(b.stride, b.transposed ? k : n), beta, c, least(cStride, n));
    } else {
        integerGemm(m, n, k, alpha, a, b, beta, c, cStride);
    }
}

template void gemm(std::int64_t, std::int64_t, std::int64_t, float, MatrixOperand<float>,
                   MatrixOperand<float>, float, float*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, double, MatrixOperand<double>,
                   MatrixOperand<double>, double, double*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, std::int32_t, MatrixOperand<std::int32_t>,
                   MatrixOperand<std::int32_t>, std::int32_t, std::int32_t*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, std::int64_t, MatrixOperand<std::int64_t>,
                   MatrixOperand<std::int64_t>, std::int64_t, std::int64_t*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, std::uint32_t, MatrixOperand<std::uint32_t>,
                   MatrixOperand<std::uint32_t>, std::uint32_t, std::uint32_t*, std::int64_t);
template void gemm(std::int64_t, std::int64_t, std::int64_t, std::uint64_t, MatrixOperand<std::uint64_t>,
                   MatrixOperand<std::uint64_t>, std::uint64_t, std::uint64_t*, std::int64_t);

} // namespace twb
