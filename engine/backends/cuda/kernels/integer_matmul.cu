#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/integer_matmul.h"
#include "backends/cuda/kernels/pointwise.h"

#include <cmath>

namespace twb::cuda {
namespace {

/// One element of an integer product; wraparound is the same for signed and unsigned integers.
template <class T> struct DotOfIntegers {
    const T *a, *b;
    T* c;
    Walk<2> batch;
    std::int64_t m, n, k;
    std::int64_t aRow, aColumn, bRow, bColumn;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / n;
        const std::int64_t column = i - row * n;
        const std::int64_t product = row / m;
        const auto first = batch.at(product);
        const T* x = a + first[0] + (row - product * m) * aRow;
        const T* y = b + first[1] + column * bColumn;
        T sum = 0;
        for (std::int64_t j = 0; j < k; ++j) sum += x[j * aColumn] * y[j * bRow];
        c[i] = sum;
    }
};

/// A's scales and zero points are per row and B's per column, so a list for A becomes a column vector.
TensorView upright(TensorView view, int rank) {
    if (view.shape.rank() != 1 || view.shape[0] == 1 || rank < 2) return view;
    view.shape = Shape{view.shape[0], 1};
    view.strides.push_back(0);
    return view;
}

/// An operand of bytes as i32, minus its zero point.
class Shifted {
public:
    Shifted(Queue& queue, const TensorView& in, const TensorView& zero, int uprightRank)
        : m_memory(queue, static_cast<std::size_t>(in.shape.byteCount(DType::i32))),
          m_view{m_memory.data(), DType::i32, in.shape, denseStrides(in.shape)} {
        convertView(queue, in, m_view);
        if (!zero.data) return;
        const ConvertedView offset(queue, DType::i32, zero);
        zipElements<std::uint32_t, std::uint32_t, std::uint32_t>(
            queue, m_view, upright(offset.view(), uprightRank), m_view, element::Sub{});
    }
    const TensorView& view() const noexcept { return m_view; }

private:
    Scratch m_memory;
    TensorView m_view;
};

void multiplyBytes(const KernelCall& call, std::size_t a, std::size_t zeroA, std::size_t b, std::size_t zeroB,
                   const TensorView& out) {
    const TensorView& left = call.inputs[a];
    const Shifted x(call.queue, left, call.input(zeroA), left.shape.rank());
    const Shifted y(call.queue, call.inputs[b], call.input(zeroB), 0);
    multiplyIntegers(call.queue, MatrixStack(call.queue, x.view(), true),
                     MatrixStack(call.queue, y.view(), false), out);
}

void matMulIntegerKernel(const KernelCall& call) {
    if (call.outputs[0].elementCount() == 0) return;
    multiplyBytes(call, 0, 2, 1, 3, call.outputs[0]);
}

/// Sums in i32, scales in double and rounds once, halves to even, with saturation.
template <class T> struct Requantize {
    Walk<4> walk;
    const std::int32_t* sums;
    const double *scaleA, *scaleB, *scaleY, *zeroY;
    T* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const auto at = walk.at(i);
        const double scaled = sums[i] * (scaleA[at[0]] * scaleB[at[1]] / scaleY[at[2]]);
        out[i] = element::cast<T>(std::nearbyint(scaled) + zeroY[at[3]]);
    }
};

void qLinearMatMulKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    Queue& queue = call.queue;
    const Scratch memory(queue, static_cast<std::size_t>(out.shape.byteCount(DType::i32)));
    const TensorView sums{memory.data(), DType::i32, out.shape, denseStrides(out.shape)};
    multiplyBytes(call, 0, 2, 3, 5, sums);
    const ConvertedView a(queue, DType::f64, call.inputs[1]);
    const ConvertedView b(queue, DType::f64, call.inputs[4]);
    const ConvertedView y(queue, DType::f64, call.inputs[6]);
    const ConvertedView zero(queue, DType::f64, call.inputs[7]);
    const TensorView scaleA = upright(a.view(), call.inputs[0].shape.rank());
    const TensorView scaleY = upright(y.view(), out.shape.rank());
    const TensorView zeroY = upright(zero.view(), out.shape.rank());
    const auto store = [&](auto none) {
        using T = decltype(none);
        forEach(queue, out.elementCount(),
                Requantize<T>{walkOf<4>(out.shape, {&scaleA, &b.view(), &scaleY, &zeroY}),
                              memory.as<std::int32_t>(), a.as<double>(), b.as<double>(), y.as<double>(),
                              zero.as<double>(), out.as<T>()});
    };
    if (out.dtype == DType::i8)
        store(std::int8_t{});
    else
        store(std::uint8_t{});
}

} // namespace

void multiplyIntegers(Queue& queue, const MatrixStack& a, const MatrixStack& b, const TensorView& out) {
    const TensorView batchA = a.batch();
    const TensorView batchB = b.batch();
    const Walk<2> batch = walkOf<2>(*broadcast(batchA.shape, batchB.shape), {&batchA, &batchB});
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (sizeof(T) >= 4)
            forEach(queue, out.elementCount(),
                    DotOfIntegers<T>{a.view().as<const T>(), b.view().as<const T>(), out.as<T>(), batch,
                                     a.rows(), b.columns(), a.columns(), a.rowStride(), a.columnStride(),
                                     b.rowStride(), b.columnStride()});
    });
}

void addIntegerMatMulKernels(KernelMap& table) {
    add(table, "MatMulInteger", matMulIntegerKernel);
    add(table, "QLinearMatMul", qLinearMatMulKernel);
}

} // namespace twb::cuda
