#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/dtype.h"

#include <cstdint>

namespace twb::cuda {

/// A batch of matrices in row-major memory, `batchStride` elements apart (0: the same matrix): element (r, c)
/// is data[r * stride + c], or data[c * stride + r] if transposed.
struct Matrices {
    const void* data = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
    std::int64_t batchStride = 0;
};

/// C = alpha · A × B + beta · C with A m×k, B k×n and C m×n, for each matrix of a batch. With beta 0, C is
/// not read; k may be 0.
struct Product {
    DType dtype = DType::f32;  ///< of A and B: floats
    DType result = DType::f32; ///< of C: dtype, or f32 for f16 and bf16 factors
    std::int64_t m = 0, n = 0, k = 0;
    Matrices a, b;
    void* c = nullptr;
    std::int64_t cStride = 0;
    std::int64_t cBatchStride = 0;
    std::int64_t batches = 1;
    double alpha = 1;
    double beta = 0;
};

/// Uses cuBLAS; loops on the host. Sums of f16 and bf16 are kept in f32. f32 uses TF32 only if the queue
/// allows it.
void multiply(Queue& queue, const Product& product);

enum class Activation : std::uint8_t { none, relu, geluTanh };

/// The epilogue of a product: adds a row of n contiguous elements of `result` to each row of C (null: none),
/// then applies a function to each element.
struct ProductEnd {
    const void* row = nullptr;
    Activation activation = Activation::none;
};

/// How much was done: nothing, the product with its row, or all.
enum class Ended : std::uint8_t { none, row, all };

/// Does as much in one launch as the library supports with ONNX's results. Only for one product with beta 0
/// and k > 0; otherwise nothing.
Ended multiplyAndEnd(Queue& queue, const Product& product, const ProductEnd& end);

} // namespace twb::cuda
