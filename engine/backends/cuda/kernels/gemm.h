#pragma once

#include "backends/cuda/kernels/queue.h"
#include "core/dtype.h"

#include <cstdint>

namespace twb::cuda {

/// Matrices in row-major memory, the next of a batch `batchStride` elements on (0: the same for all): element
/// (r, c) is data[r * stride + c], or data[c * stride + r] when transposed.
struct Matrices {
    const void* data = nullptr;
    std::int64_t stride = 0;
    bool transposed = false;
    std::int64_t batchStride = 0;
};

/// C = alpha · A × B + beta · C with A m×k, B k×n and C m×n, for each of a batch. beta 0 leaves C unread; k
/// may be 0.
struct Product {
    DType dtype = DType::f32;  ///< of A and B: floats
    DType result = DType::f32; ///< of C: dtype, or f32 for factors of f16 and bf16
    std::int64_t m = 0, n = 0, k = 0;
    Matrices a, b;
    void* c = nullptr;
    std::int64_t cStride = 0;
    std::int64_t cBatchStride = 0;
    std::int64_t batches = 1;
    double alpha = 1;
    double beta = 0;
};

/// By cuBLAS; on the host by loops. Sums of f16 and bf16 are kept in f32, and f32 is f32 unless the queue
/// allows TF32.
void multiply(Queue& queue, const Product& product);

enum class Activation : std::uint8_t { none, relu, geluTanh };

/// What ends a product: a row of n elements of `result`, side by side, is added to each row of C (null:
/// none), and then each element goes through a function.
struct ProductEnd {
    const void* row = nullptr;
    Activation activation = Activation::none;
};

/// How much of a product and its end is done: nothing, the product and its row, or all of it.
enum class Ended : std::uint8_t { none, row, all };

/// In one launch as much as the library has and gives ONNX's numbers for. Only of one product with beta 0 and
/// k > 0; none of others.
Ended multiplyAndEnd(Queue& queue, const Product& product, const ProductEnd& end);

} // namespace twb::cuda
