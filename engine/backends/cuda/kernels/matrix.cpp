#include "backends/cuda/kernels/matrix.h"

#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace twb::cuda {
namespace {

std::optional<Matrices> operandOf(const TensorView& view) {
    const auto rank = static_cast<std::size_t>(view.shape.rank());
    const std::int64_t rows = view.shape[view.shape.rank() - 2];
    const std::int64_t columns = view.shape[view.shape.rank() - 1];
    const std::int64_t rowStride = view.strides[rank - 2];
    const std::int64_t columnStride = view.strides[rank - 1];
    const bool rowsDense = columns <= 1 || columnStride == 1;
    const bool columnsDense = rows <= 1 || rowStride == 1;
    if (rowsDense && (rows <= 1 || rowStride >= columns))
        return Matrices{view.data, rows <= 1 ? columns : rowStride, false, 0};
    if (columnsDense && (columns <= 1 || columnStride >= rows))
        return Matrices{view.data, columns <= 1 ? rows : columnStride, true, 0};
    return std::nullopt;
}

const void* movedBy(const void* data, std::int64_t elements, DType dtype) {
    return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(sizeOf(dtype));
}

} // namespace

MatrixStack::MatrixStack(Queue& queue, const TensorView& given, bool vectorIsRow) : m_view(given) {
    if (given.shape.rank() == 1) {
        const std::ptrdiff_t at = vectorIsRow ? 0 : 1;
        std::vector<std::int64_t> dims = given.shape.dims();
        dims.insert(dims.begin() + at, 1);
        m_view.shape = Shape(std::move(dims));
        m_view.strides.insert(m_view.strides.begin() + at, 0);
    }
    if (m_view.elementCount() == 0 || operandOf(m_view)) return;
    m_copy.emplace(queue, static_cast<std::size_t>(m_view.shape.byteCount(m_view.dtype)));
    const TensorView dense{m_copy->data(), m_view.dtype, m_view.shape, denseStrides(m_view.shape)};
    copyView(queue, m_view, dense);
    m_view = dense;
}

TensorView MatrixStack::batch() const {
    return {m_view.data, m_view.dtype,
            Shape(std::vector<std::int64_t>(m_view.shape.begin(), m_view.shape.end() - 2)),
            Strides(m_view.strides.begin(), m_view.strides.end() - 2)};
}

Matrices MatrixStack::matrices() const { return operandOf(m_view).value_or(Matrices{}); }

TensorView transposedIf(TensorView matrix, bool swap) {
    if (swap) {
        std::swap(matrix.shape[0], matrix.shape[1]);
        std::swap(matrix.strides[0], matrix.strides[1]);
    }
    return matrix;
}

bool isRow(const TensorView& view, std::int64_t n) {
    const int rank = view.shape.rank();
    return rank >= 1 && view.shape[rank - 1] == n && view.shape.elementCount() == n &&
           (n == 1 || view.strides.back() == 1);
}

Product productOf(const MatrixStack& a, const MatrixStack& b, const TensorView& out) {
    Product product;
    product.dtype = a.view().dtype;
    product.result = out.dtype;
    product.m = a.rows();
    product.n = b.columns();
    product.k = a.columns();
    product.a = a.matrices();
    product.b = b.matrices();
    product.c = out.data;
    product.cStride = product.n;
    product.cBatchStride = product.m * product.n;
    return product;
}

void multiplyStacks(Queue& queue, const MatrixStack& a, const MatrixStack& b, const TensorView& out,
                    double alpha) {
    Product product = productOf(a, b, out);
    product.alpha = alpha;
    // A stack of matrices times a single matrix is one taller matrix times that matrix.
    if (b.view().shape.rank() == 2 && isDense(a.view()) && product.k > 0) {
        product.m = out.elementCount() / product.n;
        product.a = {a.view().data, product.k, false, 0};
        return multiply(queue, product);
    }
    const TensorView batchA = a.batch();
    const TensorView batchB = b.batch();
    const Walk<2> walk = walkOf<2>(*broadcast(batchA.shape, batchB.shape), {&batchA, &batchB});
    // Along the innermost batch axis, matrices are a constant stride apart.
    product.batches = walk.innerSize();
    product.a.batchStride = walk.innerStride(0);
    product.b.batchStride = walk.innerStride(1);
    const Matrices firstA = product.a;
    const Matrices firstB = product.b;
    for (std::int64_t i = 0; i < walk.total; i += product.batches) {
        const auto at = walk.at(i);
        if (product.k > 0) {
            product.a.data = movedBy(firstA.data, at[0], product.dtype);
            product.b.data = movedBy(firstB.data, at[1], product.dtype);
        }
        product.c = const_cast<void*>(movedBy(out.data, i * product.cBatchStride, out.dtype));
        multiply(queue, product);
    }
}

} // namespace twb::cuda
