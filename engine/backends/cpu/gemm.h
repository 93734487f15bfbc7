#pragma once

#include <cstdint>

namespace twb {

/// A matrix in row-major memory: element (r, c) is data[r * stride + c], or data[c * stride + r] if
/// transposed.
template <class T> struct MatrixOperand {
    const T* data = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
};

/// C = alpha · A × B + beta · C with A m×k, B k×n and C m×n, row-major, rows `cStride` apart. float uses
/// oneDNN, but OpenBLAS for small products and single rows, double uses OpenBLAS. Integers use wrapping
/// arithmetic, with alpha and beta truncated. With beta 0, C is not read. Throws Error(unsupported) for a
/// size beyond 2^31 − 1, the limit of BLAS.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, MatrixOperand<T> a, MatrixOperand<T> b,
          T beta, T* c, std::int64_t cStride);

extern template void gemm(std::int64_t, std::int64_t, std::int64_t, float, MatrixOperand<float>,
                          MatrixOperand<float>, float, float*, std::int64_t);
extern template void gemm(std::int64_t, std::int64_t, std::int64_t, double, MatrixOperand<double>,
                          MatrixOperand<double>, double, double*, std::int64_t);
extern template void gemm(std::int64_t, std::int64_t, std::int64_t, std::int32_t, MatrixOperand<std::int32_t>,
                          MatrixOperand<std::int32_t>, std::int32_t, std::int32_t*, std::int64_t);
extern template void gemm(std::int64_t, std::int64_t, std::int64_t, std::int64_t, MatrixOperand<std::int64_t>,
                          MatrixOperand<std::int64_t>, std::int64_t, std::int64_t*, std::int64_t);
extern template void gemm(std::int64_t, std::int64_t, std::int64_t, std::uint32_t,
                          MatrixOperand<std::uint32_t>, MatrixOperand<std::uint32_t>, std::uint32_t,
                          std::uint32_t*, std::int64_t);
extern template void gemm(std::int64_t, std::int64_t, std::int64_t, std::uint64_t,
                          MatrixOperand<std::uint64_t>, MatrixOperand<std::uint64_t>, std::uint64_t,
                          std::uint64_t*, std::int64_t);

} // namespace twb
