#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "core/tensor.h"

#include <optional>

namespace twb::cuda {

/// A stack of matrices: the last two axes of a view. Copied if the layout does not suit BLAS, which needs a
/// stride of 1 and rows that do not overlap.
class MatrixStack {
public:
    /// A vector counts as a matrix with one row or one column.
    MatrixStack(Queue& queue, const TensorView& given, bool vectorIsRow);

    const TensorView& view() const noexcept { return m_view; }
    std::int64_t rows() const { return m_view.shape[m_view.shape.rank() - 2]; }
    std::int64_t columns() const { return m_view.shape[m_view.shape.rank() - 1]; }
    std::int64_t rowStride() const { return m_view.strides[m_view.strides.size() - 2]; }
    std::int64_t columnStride() const { return m_view.strides.back(); }
    /// The view without the matrix axes.
    TensorView batch() const;
    /// The first matrix, as an argument of multiply().
    Matrices matrices() const;

private:
    TensorView m_view;
    std::optional<Scratch> m_copy;
};

/// A matrix with swapped axes if `swap` is set.
TensorView transposedIf(TensorView matrix, bool swap);
/// Whether it is a single row of n contiguous elements.
bool isRow(const TensorView& view, std::int64_t n);

/// Multiplies the first matrices of two stacks into the first of a dense result.
Product productOf(const MatrixStack& a, const MatrixStack& b, const TensorView& out);
/// out = a × b for all matrices; batches broadcast. `out` is dense, with a's dtype or, for f16 and bf16, f32.
void multiplyStacks(Queue& queue, const MatrixStack& a, const MatrixStack& b, const TensorView& out,
                    double alpha = 1);

} // namespace twb::cuda
