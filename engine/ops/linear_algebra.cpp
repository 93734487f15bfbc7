#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/low_precision.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/matmul.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace twb {
namespace {

bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

std::string sizeText(std::int64_t rows, std::int64_t columns) { return Shape{rows, columns}.toTorchString(); }

[[noreturn]] void failProduct(const InferContext& ctx, int port, std::int64_t m, std::int64_t k,
                              std::int64_t k2, std::int64_t n) {
    const auto text = [](std::int64_t size) {
        return size == kUnknownDim ? std::string("?") : std::to_string(size);
    };
    ctx.fail("shape-mismatch", port,
             fmt::format("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", text(m), text(k),
                         text(k2), text(n)));
}

/// Messages follow PyTorch's mm.
std::string mixedFactors(const MixedInputs& mixed) {
    return fmt::format("expected m1 and m2 to have the same dtype, but got: {} != {}",
                       torchCppName(mixed.firstDType), torchCppName(mixed.secondDType));
}

/// Messages follow PyTorch's addmm.
std::string mixedOperands(const MixedInputs& mixed) {
    return fmt::format("{} and {} must have the same dtype, but got {} and {}", mixed.first, mixed.second,
                       torchScalarName(mixed.firstDType), torchScalarName(mixed.secondDType));
}

Shape batchOf(const Shape& shape) {
    return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - std::min(shape.rank(), 2)));
}

} // namespace

Shape matMulShape(const InferContext& ctx, int first, int second) {
    const Shape& a = ctx.input(first)->shape;
    const Shape& b = ctx.input(second)->shape;
    const int ra = a.rank();
    const int rb = b.rank();
    if (ra == 0 || rb == 0)
        ctx.fail(
            "shape-mismatch", ra == 0 ? first : second,
            fmt::format("both arguments to matmul need to be at least 1D, but they are {}D and {}D", ra, rb));
    const std::int64_t m = ra == 1 ? 1 : a[ra - 2];
    const std::int64_t k = a[ra - 1];
    const std::int64_t k2 = rb == 1 ? b[0] : b[rb - 2];
    const std::int64_t n = rb == 1 ? 1 : b[rb - 1];
    if (!meets(k, k2)) {
        if (ra == 1 && rb == 1)
            ctx.fail(
                "shape-mismatch", second,
                fmt::format(
                    "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number "
                    "of elements, but got {} and {} elements respectively",
                    k, k2, k, k2));
        if (ra == 2 && rb == 1)
            ctx.fail("shape-mismatch", second,
                     fmt::format("size mismatch, got input ({}), mat ({}x{}), vec ({})", m, m, k, k2));
        if (ra > 2 && rb > 2)
            ctx.fail(
                "shape-mismatch", second,
                fmt::format("Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.",
                            sizeText(batchOf(a)[ra - 3], k), sizeText(batchOf(b)[rb - 3], k2)));
        failProduct(ctx, second, m, k, k2, n);
    }
    const Shape batch = broadcastOrFail(ctx, second, batchOf(a), batchOf(b));
    std::vector<std::int64_t> dims = batch.dims();
    if (ra > 1) dims.push_back(m);
    if (rb > 1) dims.push_back(n);
    return Shape(std::move(dims));
}

namespace {

void inferMatMul(InferContext& ctx) { ctx.output(0, {ctx.input(0)->dtype, matMulShape(ctx, 0, 1)}); }

Cost matMulCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    const Shape& a = inputs[0].shape;
    return streamingCost(inputs, outputs, 2.0 * static_cast<double>(a[a.rank() - 1]));
}

/// The sizes of A′ (M×K) and B′ (K×N), after the transposes given by the attributes. M is the last but one
/// axis of a stack of matrices.
struct GemmSizes {
    std::int64_t m, k, k2, n;
};

GemmSizes gemmSizes(const Shape& a, const Shape& b, const Attributes& attributes) {
    const int row = a.rank() - 2;
    const bool transA = attributes.flag("transA");
    const bool transB = attributes.flag("transB");
    return {a[transA ? row + 1 : row], a[transA ? row : row + 1], b[transB ? 1 : 0], b[transB ? 0 : 1]};
}

/// The rows of all matrices of a stack.
std::int64_t rowsOf(const Shape& stack) {
    std::int64_t rows = 1;
    for (int axis = 0; axis < stack.rank() - 1; ++axis) {
        if (stack[axis] == kUnknownDim) return kUnknownDim;
        rows *= stack[axis];
    }
    return rows;
}

void inferGemm(InferContext& ctx) {
    const TensorType& a = *ctx.input(0);
    const TensorType& b = *ctx.input(1);
    const auto mayBeStack = [&](int port) { return port == 0 && !ctx.attributes().flag("transA"); };
    for (int i : {0, 1})
        if (const int rank = ctx.input(i)->shape.rank(); rank != 2 && !(rank > 2 && mayBeStack(i)))
            ctx.fail("shape-mismatch", i,
                     fmt::format("{} must be a matrix, got {}-D tensor{}", ctx.op().inputAt(i).argument, rank,
                                 i == 0 && rank > 2 ? "; transA takes two axes" : ""));
    const GemmSizes s = gemmSizes(a.shape, b.shape, ctx.attributes());
    if (!meets(s.k, s.k2)) // as PyTorch's linear, which multiplies a stack as one tall matrix
        failProduct(ctx, 1, a.shape.rank() > 2 ? rowsOf(a.shape) : s.m, s.k, s.k2, s.n);
    Shape result = a.shape;
    const int rank = result.rank();
    result[rank - 2] = s.m;
    result[rank - 1] = s.n;
    if (const TensorType* c = ctx.input(2)) {
        const Shape& shape = c->shape;
        if (shape.rank() > rank)
            ctx.fail("shape-mismatch", 2,
                     fmt::format("expand: the number of sizes provided ({}) must be greater or equal to the "
                                 "number of dimensions in the tensor ({})",
                                 rank, shape.rank()));
        for (int axis = rank - 1; axis >= rank - shape.rank(); --axis) {
            const std::int64_t size = shape[axis - (rank - shape.rank())];
            if (size != 1 && !meets(size, result[axis]))
                ctx.fail(
                    "shape-mismatch", 2,
                    fmt::format("The expanded size of the tensor ({}) must match the existing size ({}) at "
                                "non-singleton dimension {}.  Target sizes: {}.  Tensor sizes: {}",
                                result[axis], size, axis, result.toTorchString(), shape.toTorchString()));
        }
    }
    ctx.output(0, {a.dtype, std::move(result)});
}

Cost gemmCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
              const Attributes& attributes) {
    const auto k = gemmSizes(inputs[0].shape, inputs[1].shape, attributes).k;
    return streamingCost(inputs, outputs, 2.0 * static_cast<double>(k));
}

/// The last two axes of a view in BLAS's layout: one stride is 1 and rows do not overlap.
template <class T>
std::optional<MatrixOperand<T>> asOperand(const T* data, std::int64_t rows, std::int64_t columns,
                                          std::int64_t rowStride, std::int64_t columnStride) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max(); // BLAS uses 32-bit sizes
    if (std::max(rowStride, columnStride) > most) return std::nullopt;
    const bool rowsDense = columns <= 1 || columnStride == 1;
    const bool columnsDense = rows <= 1 || rowStride == 1;
    if (rowsDense && (rows <= 1 || rowStride >= columns))
        return MatrixOperand<T>{data, rows <= 1 ? columns : rowStride, false};
    if (columnsDense && (columns <= 1 || columnStride >= rows))
        return MatrixOperand<T>{data, columns <= 1 ? rows : columnStride, true};
    return std::nullopt;
}

/// A stack of matrices: the last two axes of a view, with any axes before them.
template <class T> struct MatrixStack {
    TensorView view;
    Tensor dense; ///< keeps the copy for BLAS alive, if one was needed
    std::int64_t rows, columns;

    /// A vector counts as a matrix of one row or one column.
    MatrixStack(const TensorView& given, bool vectorIsRow) : view(given) {
        const auto withAxis = [&](std::size_t at) {
            std::vector<std::int64_t> dims = view.shape.dims();
            dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
            view.shape = Shape(std::move(dims));
            view.strides.insert(view.strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
        };
        if (view.shape.rank() == 1) withAxis(vectorIsRow ? 0 : 1);
        const int rank = view.shape.rank();
        rows = view.shape[rank - 2];
        columns = view.shape[rank - 1];
        if (view.elementCount() == 0 || operandAt(0)) return;
        dense = Tensor::onHost({view.dtype, view.shape});
        copyElements(view, dense.view());
        view = dense.view();
    }

    std::optional<MatrixOperand<T>> operandAt(std::int64_t offset) const {
        const auto i = static_cast<std::size_t>(view.shape.rank());
        return asOperand<T>(view.as<const T>() + offset, rows, columns, view.strides[i - 2],
                            view.strides[i - 1]);
    }

    /// A view of the axes before the matrix.
    TensorView batch() const {
        return {view.data, view.dtype, batchOf(view.shape),
                Strides(view.strides.begin(), view.strides.end() - 2)};
    }
};

/// The number of operations in one product from which BLAS's own threads pay off.
constexpr std::int64_t kSmallProduct = 1 << 18;

/// x · w with constant w, which is packed once, and the end of the chain, if there is one; false, without an
/// effect, if that is not supported or does not pay off. `bias` has one element per column, or
/// is null.
bool multiplyPacked(const KernelContext& ctx, std::int64_t rows, const MatrixStack<float>& x,
                    const MatrixStack<float>& w, const float* bias) {
    // A single row is limited by the memory, which a matrix-vector product reads once.
    if (!ctx.memory || !ctx.memory->isConstant(1) || rows < 2) return false;
    if (rows * w.rows * w.columns < kSmallProduct) return false;
    if (!ctx.memory->state) ctx.memory->state = std::make_unique<ProductState>();
    auto& state = static_cast<ProductState&>(*ctx.memory->state);
    const DenseInput row(state.added);
    if (row) bias = row.as<float>();
    const MatrixOperand<float> weights = *w.operandAt(0);
    if (!state.product)
        state.product = NativeConvolution::make({.rows = rows,
                                                 .inner = w.rows,
                                                 .columns = w.columns,
                                                 .stride = weights.stride,
                                                 .transposed = weights.transposed,
                                                 .ending = state.ending});
    if (!state.product) return false;
    state.run({.x = x.view.data, .w = weights.data, .bias = bias, .y = ctx.outputs[0].data});
    state.hasAdded = static_cast<bool>(row);
    return true;
}

template <class T> void matMul(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const MatrixStack<T> a(ctx.inputs[0], true);
    const MatrixStack<T> b(ctx.inputs[1], false);
    const std::int64_t m = a.rows;
    const std::int64_t k = a.columns;
    const std::int64_t n = b.columns;
    T* const target = out.as<T>();
    if (k == 0) {
        std::fill_n(target, out.elementCount(), T{0});
        return;
    }
    const TensorView batchA = a.batch();
    const TensorView batchB = b.batch();
    const Shape batch = *broadcast(batchA.shape, batchB.shape);
    const std::int64_t products = batch.elementCount();

    // A stack of matrices times a single matrix is one taller matrix times that matrix.
    if constexpr (std::is_same_v<T, float>)
        if (b.view.shape.rank() == 2 && isDense(a.view) && multiplyPacked(ctx, products * m, a, b, nullptr))
            return;
    if (b.view.shape.rank() == 2 && a.view.shape.rank() > 2 && isDense(a.view)) {
        gemm<T>(products * m, n, k, 1, {a.view.template as<const T>(), k, false}, *b.operandAt(0), 0, target,
                n);
        return;
    }
    const StridedLoop<2> loop(batch, {&batchA, &batchB});
    const auto run = [&](std::int64_t begin, std::int64_t end) {
        std::int64_t at = begin;
        loop.rows(begin, end, [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i, ++at)
                gemm<T>(m, n, k, 1, *a.operandAt(offsets[0] + i * loop.innerStride(0)),
                        *b.operandAt(offsets[1] + i * loop.innerStride(1)), 0, target + at * m * n, n);
        });
    };
    // Sizes beyond BLAS's integers throw, which must not happen inside a parallel region; small products have
    // none.
    const std::int64_t work = m * n * k;
    if (work < kSmallProduct)
        parallelRanges(products, products * work, 1, run);
    else
        run(0, products);
}

/// a · b of bf16 with constant `b` of two axes and, if it has data, a constant row `c`; null if the CPU has
/// no instructions for it.
std::unique_ptr<LowPrecisionKernel> bfloat16Kernel(const KernelContext& ctx, const TensorView& b,
                                                   const TensorView& c) {
    const TensorView& a = ctx.inputs[0];
    if (a.dtype != DType::bf16 || !ctx.memory->isConstant(1) || a.shape.rank() < 1 || b.shape.rank() != 2)
        return nullptr;
    if (c.data && (!ctx.memory->isConstant(2) || c.shape.rank() < 1 ||
                   c.shape[c.shape.rank() - 1] != b.shape[1] || c.elementCount() != b.shape[1]))
        return nullptr;
    ConstantProduct product{.inner = b.shape[0], .columns = b.shape[1], .x = DType::bf16};
    product.rows = a.elementCount() / std::max<std::int64_t>(product.inner, 1);
    product.rowStride = b.strides[0];
    product.columnStride = b.strides[1];
    if (product.rowStride != 1 && product.columnStride != 1) return nullptr;
    Tensor keep;
    const TensorView row = c.data ? denseAs(DType::f32, c, keep) : TensorView{};
    return makeKernel(product, b.data, row.as<const float>());
}

/// False, without an effect, if there is no kernel.
bool multipliedInBFloat16(const KernelContext& ctx, const TensorView& b, const TensorView& c) {
    if (!ctx.memory || ctx.inputs[0].dtype != DType::bf16 || ctx.outputs[0].elementCount() == 0) return false;
    if (!ctx.memory->state) {
        auto fresh = std::make_unique<LowPrecisionState>();
        fresh->kernel = bfloat16Kernel(ctx, b, c);
        ctx.memory->state = std::move(fresh);
    }
    const auto& kernel = static_cast<LowPrecisionState&>(*ctx.memory->state).kernel;
    if (!kernel) return false;
    const DenseInput a(ctx.inputs[0]);
    kernel->run(a.view().data, ctx.outputs[0].data);
    return true;
}

} // namespace

void matMulKernel(const KernelContext& ctx) {
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) { matMul<decltype(zero)>(ctx); });
}

namespace {

template <class T> void gemmOf(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const double alpha = ctx.attributes.number("alpha");
    const double beta = ctx.attributes.number("beta");
    const auto transposed = [](TensorView view, bool swap) {
        if (swap) {
            std::swap(view.shape[0], view.shape[1]);
            std::swap(view.strides[0], view.strides[1]);
        }
        return view;
    };
    const bool isStack = ctx.inputs[0].shape.rank() > 2;
    const DenseInput stack(isStack ? ctx.inputs[0] : TensorView{});
    const MatrixStack<T> a(
        isStack ? asOneMatrix(stack.view()) : transposed(ctx.inputs[0], ctx.attributes.flag("transA")), true);
    const MatrixStack<T> b(transposed(ctx.inputs[1], ctx.attributes.flag("transB")), false);
    const bool addsC = ctx.inputs.size() > 2 && ctx.inputs[2].data && beta != 0;
    T* const target = out.as<T>();
    if constexpr (std::is_same_v<T, float>) {
        const TensorView c = addsC ? ctx.inputs[2] : TensorView{};
        const bool isRow = c.shape.rank() > 0 && c.shape[c.shape.rank() - 1] == b.columns &&
                           c.elementCount() == b.columns && isDense(c);
        if (alpha == 1 && (!addsC || (beta == 1 && isRow)) && a.columns > 0 && isDense(a.view) &&
            multiplyPacked(ctx, a.rows, a, b, addsC ? c.as<const float>() : nullptr))
            return;
    }
    const auto multiply = [&](T scale, T keep) {
        if (a.columns > 0)
            gemm<T>(a.rows, b.columns, a.columns, scale, *a.operandAt(0), *b.operandAt(0), keep, target,
                    b.columns);
        else
            gemm<T>(a.rows, b.columns, 0, scale, {}, {}, keep, target, b.columns);
    };
    if (std::is_floating_point_v<T> || (alpha == 1 && (beta == 1 || !addsC))) {
        if (addsC) {
            TensorView c = ctx.inputs[2];
            const StridedLoop<1> loop(out.shape, {&c});
            const std::int64_t step = loop.innerStride(0);
            T* to = target;
            loop.rows(0, loop.total(), [&](const auto& offsets, std::int64_t count) {
                const T* const from = c.as<const T>() + offsets[0];
                for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
                to += count;
            });
        }
        multiply(static_cast<T>(alpha), addsC ? static_cast<T>(beta) : T{0});
        return;
    }
    // Integers with fractional factors are computed in double and truncated, as in ONNX's reference.
    multiply(1, 0);
    // Without C, the loop addresses the result in its place, but does not read it.
    const TensorView& c = addsC ? ctx.inputs[2] : out;
    const StridedLoop<1> loop(out.shape, {&c});
    const std::int64_t step = loop.innerStride(0);
    T* to = target;
    loop.rows(0, loop.total(), [&](const auto& offsets, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const double added =
                addsC ? beta * static_cast<double>(c.as<const T>()[offsets[0] + i * step]) : 0.0;
            to[i] = element::cast<T>(alpha * static_cast<double>(to[i]) + added);
        }
        to += count;
    });
}

void gemmKernel(const KernelContext& ctx) {
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) { gemmOf<decltype(zero)>(ctx); });
}

/// The kernels of the table; those above compute in the dtype of the result.
void matMulOfAny(const KernelContext& ctx) {
    if (!multipliedInBFloat16(ctx, ctx.inputs[1], {})) viaFloat<matMulKernel>(ctx);
}

void gemmOfAny(const KernelContext& ctx) {
    TensorView b = ctx.inputs[1];
    if (ctx.attributes.flag("transB")) {
        std::swap(b.shape[0], b.shape[1]);
        std::swap(b.strides[0], b.strides[1]);
    }
    const double beta = ctx.attributes.number("beta");
    const bool addsC = ctx.inputs.size() > 2 && ctx.inputs[2].data && beta != 0;
    const bool isPlain =
        ctx.attributes.number("alpha") == 1 && !ctx.attributes.flag("transA") && (!addsC || beta == 1);
    if (!isPlain || !multipliedInBFloat16(ctx, b, addsC ? ctx.inputs[2] : TensorView{}))
        viaFloat<gemmKernel>(ctx);
}

/// dA = dY × Bᵀ and dB = Aᵀ × dY, with a vector as a matrix of one row or column, as in the product.
void matMulGradient(GradientContext& g) {
    const auto matrixOf = [](GraphTensor tensor, bool isRow) {
        const Shape& shape = tensor.shape();
        if (shape.rank() > 1) return tensor;
        return reshape(tensor, isRow ? Shape{1, shape[0]} : Shape{shape[0], 1});
    };
    const GraphTensor a = matrixOf(g.input(0), true);
    const GraphTensor b = matrixOf(g.input(1), false);
    std::vector<std::int64_t> sizes = g.gradient().shape().dims();
    if (g.input(1).shape().rank() == 1) sizes.push_back(1);
    if (g.input(0).shape().rank() == 1) sizes.insert(sizes.end() - 1, 1);
    const GraphTensor dy = reshape(g.gradient(), Shape(std::move(sizes)));
    if (g.isWanted(0))
        g.give(0, reshape(sumTo(apply("MatMul", {dy, swapLast(b)}), a.shape()), g.input(0).shape()));
    if (g.isWanted(1))
        g.give(1, reshape(sumTo(apply("MatMul", {swapLast(a), dy}), b.shape()), g.input(1).shape()));
}

/// A stack of matrices as one tall matrix.
GraphTensor asOneMatrix(const GraphTensor& stack) {
    const Shape& shape = stack.shape();
    if (shape.rank() <= 2) return stack;
    return reshape(stack, Shape{rowsOf(shape), shape[shape.rank() - 1]});
}

void gemmGradient(GradientContext& g) {
    const bool transA = g.attributes().flag("transA");
    const bool transB = g.attributes().flag("transB");
    const GraphTensor dy = g.gradient();
    const auto product = [&](GraphTensor left, bool transLeft, GraphTensor right, bool transRight) {
        return apply(
            "Gemm", {left, right},
            {{"transA", transLeft}, {"transB", transRight}, {"alpha", g.attributes().number("alpha")}});
    };
    if (g.isWanted(0))
        g.give(0, transA ? product(g.input(1), transB, dy, true) : product(dy, false, g.input(1), !transB));
    if (g.isWanted(1)) {
        const GraphTensor a = asOneMatrix(g.input(0));
        const GraphTensor dy2 = asOneMatrix(dy);
        g.give(1, transB ? product(dy2, true, a, transA) : product(a, !transA, dy2, false));
    }
    if (g.isWanted(2)) g.give(2, g.attributes().number("beta") * dy);
}

} // namespace

void addLinearAlgebra(std::vector<Op>& table) {
    Op matMul = makeOp("MatMul", "Linear algebra", 13,
                       "Matrix product as NumPy's matmul: vectors, matrices, batches", "Y = A × B");
    matMul.torch = "{0} @ {1}";
    matMul.inputs = {port("A", "self", kMatrixTypes, "T"), port("B", "mat2", kMatrixTypes, "T")};
    matMul.outputs = {port("Y", "", kMatrixTypes, "T")};
    matMul.mixedInputs = mixedFactors;
    matMul.tolerance = {1e-5, 1e-5};
    matMul.infer = inferMatMul;
    matMul.cost = matMulCost;
    matMul.kernel = matMulOfAny;
    matMul.gradient = matMulGradient;
    table.push_back(std::move(matMul));

    Op gemm = makeOp("Gemm", "Linear algebra", 13, "Matrix product plus bias, as in a linear layer",
                     "Y = alpha · A′ × B′ + beta · C");
    gemm.inputs = {port("A", "mat1", kMatrixTypes, "T"), port("B", "mat2", kMatrixTypes, "T"),
                   optionalPort("C", "bias", kMatrixTypes, "T")};
    gemm.outputs = {port("Y", "", kMatrixTypes, "T")};
    gemm.attributes = {flagAttribute("transA", false, "Use A transposed; A must have two axes"),
                       flagAttribute("transB", false, "Use B transposed, as PyTorch stores a layer's weight"),
                       numberAttribute("alpha", 1, "Factor of the product"),
                       numberAttribute("beta", 1, "Factor of C; 0: C is not read")};
    gemm.mixedInputs = mixedOperands;
    gemm.tolerance = {1e-5, 1e-5};
    gemm.infer = inferGemm;
    gemm.cost = gemmCost;
    gemm.kernel = gemmOfAny;
    gemm.gradient = gemmGradient;
    table.push_back(std::move(gemm));

    describe(table, "MatMul", "A […, m, k] · B […, k, n] → Y […, m, n]; the leading axes broadcast",
             {operand({3, 4}), operand({4, 5})});
    describe(table, "Gemm", "A′ […, m, k] · B′ [k, n] · C broadcasts to Y → Y […, m, n]",
             {operand({3, 4}), operand({4, 5}), operand({5})});
}

} // namespace twb
