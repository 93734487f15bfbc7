// The GPU libraries that kernels call, implemented for the tests' host build.

#include "backends/cpu/gemm.h"
#include "backends/cuda/kernels/gemm.h"
#include "ops/activation_functions.h"
#include "ops/dispatch.h"
#include "support/host_queue.h"

#include <stdexcept>
#include <vector>

namespace twb::cuda {
namespace {

/// The elements of a matrix, row-major, in the accumulator's type.
template <class T>
std::vector<decltype(widened(T{}))> elementsOf(const Matrices& matrices, std::int64_t batch,
                                               std::int64_t rows, std::int64_t columns) {
    std::vector<decltype(widened(T{}))> out;
    const T* const from = static_cast<const T*>(matrices.data) + batch * matrices.batchStride;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            out.push_back(
                widened(from[matrices.transposed ? c * matrices.stride + r : r * matrices.stride + c]));
    return out;
}

template <class T, class C> void multiplyAs(const Product& p) {
    using W = decltype(widened(T{}));
    for (std::int64_t batch = 0; batch < p.batches; ++batch) {
        const std::vector<W> a = elementsOf<T>(p.a, batch, p.k > 0 ? p.m : 0, p.k);
        const std::vector<W> b = elementsOf<T>(p.b, batch, p.k, p.n);
        std::vector<W> product(static_cast<std::size_t>(p.m * p.n));
        gemm<W>(p.m, p.n, p.k, static_cast<W>(p.alpha), {a.data(), p.k, false}, {b.data(), p.n, false}, W{0},
                product.data(), p.n);
        C* const to = static_cast<C*>(p.c) + batch * p.cBatchStride;
        for (std::int64_t r = 0; r < p.m; ++r)
            for (std::int64_t c = 0; c < p.n; ++c) {
                C& element = to[r * p.cStride + c];
                W value = product[static_cast<std::size_t>(r * p.n + c)];
                if (p.beta != 0) value += static_cast<W>(p.beta) * static_cast<W>(widened(element));
                element = C(value);
            }
    }
}

} // namespace

void multiply(Queue&, const Product& p) {
    const bool isWide = p.result == DType::f32;
    switch (p.dtype) {
    case DType::f32:
        return multiplyAs<float, float>(p);
    case DType::f64:
        return multiplyAs<double, double>(p);
    case DType::f16:
        return isWide ? multiplyAs<Half, float>(p) : multiplyAs<Half, Half>(p);
    case DType::bf16:
        return isWide ? multiplyAs<BFloat16, float>(p) : multiplyAs<BFloat16, BFloat16>(p);
    default:
        throw std::logic_error("a product of integers is no library's");
    }
}

Ended multiplyAndEnd(Queue& queue, const Product& p, const ProductEnd& end) {
    const auto* const host = dynamic_cast<const test::HostQueue*>(&queue);
    if (!host || host->endsProducts == Ended::none || p.dtype != DType::f32) return Ended::none;
    // As in the library, an epilogue without an activation is done completely.
    const bool activates = end.activation != Activation::none;
    const Ended done = activates ? host->endsProducts : Ended::all;
    if (done == Ended::row && !end.row) return Ended::none;
    multiply(queue, p);
    for (std::int64_t r = 0; r < p.m; ++r)
        for (std::int64_t c = 0; c < p.n; ++c) {
            float& element = static_cast<float*>(p.c)[r * p.cStride + c];
            if (end.row) element += static_cast<const float*>(end.row)[c];
            if (done == Ended::row || !activates) continue;
            if (end.activation == Activation::relu) element = element::Relu{}(element);
            if (end.activation == Activation::geluTanh) element = element::GeluTanh{}(element);
        }
    return done;
}

} // namespace twb::cuda
