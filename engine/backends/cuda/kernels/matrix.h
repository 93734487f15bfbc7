#pragma once

#include "backends/cuda/kernels/gemm.h"
#include "core/tensor.h"

#include <optional>

namespace twb::cuda {

/// A stack of matrices: the last two axes of a view, whatever stands before them. In a copy where they do not
/// lie as BLAS takes them, one of their strides 1 and rows that do not overlap.
class MatrixStack {
public:
    /// A vector counts as a matrix of one row or of one column.
    MatrixStack(Queue& queue, const TensorView& given, bool vectorIsRow);

    const TensorView& view() const noexcept { return m_view; }
    std::int64_t rows() const { return m_view.shape[m_view.shape.rank() - 2]; }
    std::int64_t columns() const { return m_view.shape[m_view.shape.rank() - 1]; }
    std::int64_t rowStride() const { return m_view.strides[m_view.strides.size() - 2]; }
    std::int64_t columnStride() const { return m_view.strides.back(); }
    /// The axes before the matrix, as a view of its own.
    TensorView batch() const;
    /// The first one as multiply() takes it.
    Matrices matrices() const;

private:
    TensorView m_view;
    std::optional<Scratch> m_copy;
};

/// A matrix, its axes swapped where `swap` says so.
TensorView transposedIf(TensorView matrix, bool swap);
/// Whether it is n elements side by side: one row.
bool isRow(const TensorView& view, std::int64_t n);

/// Of the first matrices of two stacks, into the first of a dense result.
Product productOf(const MatrixStack& a, const MatrixStack& b, const TensorView& out);
/// out = a × b for all of them; batches broadcast. `out` is dense, of a's dtype or, for f16 and bf16, of f32.
void multiplyStacks(Queue& queue, const MatrixStack& a, const MatrixStack& b, const TensorView& out,
                    double alpha = 1);

} // namespace twb::cuda
