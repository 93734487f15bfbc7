#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

std::string sizeText(std::int64_t rows, std::int64_t columns) { return Shape{rows, columns}.toTorchString(); }

[[noreturn]] void failProduct(const InferContext& ctx, std::int64_t m, std::int64_t k, std::int64_t k2,
                              std::int64_t n) {
    const auto text = [](std::int64_t size) {
        return size == kUnknownDim ? std::string("?") : std::to_string(size);
    };
    ctx.fail("shape-mismatch", 1,
             fmt::format("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", text(m), text(k),
                         text(k2), text(n)));
}

Shape batchOf(const Shape& shape) {
    return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - std::min(shape.rank(), 2)));
}

void inferMatMul(InferContext& ctx) {
    requireOneDType(ctx, {"m1", "m2"});
    const TensorType& a = *ctx.input(0);
    const Shape& b = ctx.input(1)->shape;
    const int ra = a.shape.rank();
    const int rb = b.rank();
    if (ra == 0 || rb == 0)
        ctx.fail(
            "shape-mismatch", ra == 0 ? 0 : 1,
            fmt::format("both arguments to matmul need to be at least 1D, but they are {}D and {}D", ra, rb));
    const std::int64_t m = ra == 1 ? 1 : a.shape[ra - 2];
    const std::int64_t k = a.shape[ra - 1];
    const std::int64_t k2 = rb == 1 ? b[0] : b[rb - 2];
    const std::int64_t n = rb == 1 ? 1 : b[rb - 1];
    if (!meets(k, k2)) {
        if (ra == 1 && rb == 1)
            ctx.fail(
                "shape-mismatch", 1,
                fmt::format(
                    "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number "
                    "of elements, but got {} and {} elements respectively",
                    k, k2, k, k2));
        if (ra == 2 && rb == 1)
            ctx.fail("shape-mismatch", 1,
                     fmt::format("size mismatch, got input ({}), mat ({}x{}), vec ({})", m, m, k, k2));
        if (ra > 2 && rb > 2)
            ctx.fail(
                "shape-mismatch", 1,
                fmt::format("Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.",
                            sizeText(batchOf(a.shape)[ra - 3], k), sizeText(batchOf(b)[rb - 3], k2)));
        failProduct(ctx, m, k, k2, n);
    }
    const Shape batch = broadcastOrFail(ctx, 1, batchOf(a.shape), batchOf(b));
    std::vector<std::int64_t> dims = batch.dims();
    if (ra > 1) dims.push_back(m);
    if (rb > 1) dims.push_back(n);
    ctx.output(0, {a.dtype, Shape(std::move(dims))});
}

Cost matMulCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    const Shape& a = inputs[0].shape;
    return streamingCost(inputs, outputs, 2.0 * static_cast<double>(a[a.rank() - 1]));
}

/// Sizes of A′ (M×K) and B′ (K×N) after the transposes that the attributes ask for.
struct GemmSizes {
    std::int64_t m, k, k2, n;
};

GemmSizes gemmSizes(const Shape& a, const Shape& b, const Attributes& attributes) {
    const bool transA = attributes.flag("transA");
    const bool transB = attributes.flag("transB");
    return {a[transA ? 1 : 0], a[transA ? 0 : 1], b[transB ? 1 : 0], b[transB ? 0 : 1]};
}

void inferGemm(InferContext& ctx) {
    requireOneDType(ctx, {"m1", "m2", "bias"});
    const TensorType& a = *ctx.input(0);
    const TensorType& b = *ctx.input(1);
    for (int i : {0, 1})
        if (ctx.input(i)->shape.rank() != 2)
            ctx.fail("shape-mismatch", i,
                     fmt::format("{} must be a matrix, got {}-D tensor", ctx.op().inputAt(i).argument,
                                 ctx.input(i)->shape.rank()));
    const GemmSizes s = gemmSizes(a.shape, b.shape, ctx.attributes());
    if (!meets(s.k, s.k2)) failProduct(ctx, s.m, s.k, s.k2, s.n);
    Shape result{s.m, s.n};
    if (const TensorType* c = ctx.input(2)) {
        const Shape& shape = c->shape;
        if (shape.rank() > 2)
            ctx.fail("shape-mismatch", 2,
                     fmt::format(
                         "expand: the number of sizes provided (2) must be greater or equal to the number of "
                         "dimensions in the tensor ({})",
                         shape.rank()));
        for (int axis = 1; axis >= 2 - shape.rank(); --axis) {
            const std::int64_t size = shape[axis - (2 - shape.rank())];
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

} // namespace

void addLinearAlgebra(std::vector<Op>& table) {
    Op matMul = makeOp("MatMul", "Linear algebra", 13,
                       "Matrix product as NumPy's matmul: vectors, matrices, batches", "Y = A × B");
    matMul.inputs = {port("A", "self", kNumbers, "T"), port("B", "mat2", kNumbers, "T")};
    matMul.outputs = {port("Y", "", kNumbers, "T")};
    matMul.tolerance = {1e-5, 1e-5};
    matMul.infer = inferMatMul;
    matMul.cost = matMulCost;
    table.push_back(std::move(matMul));

    Op gemm = makeOp("Gemm", "Linear algebra", 13, "Matrix product plus bias, as in a linear layer",
                     "Y = alpha · A′ × B′ + beta · C");
    gemm.inputs = {port("A", "mat1", kNumbers, "T"), port("B", "mat2", kNumbers, "T"),
                   optionalPort("C", "bias", kNumbers, "T")};
    gemm.outputs = {port("Y", "", kNumbers, "T")};
    gemm.attributes = {flagAttribute("transA", false, "Use A transposed"),
                       flagAttribute("transB", false, "Use B transposed, as PyTorch stores a layer's weight"),
                       numberAttribute("alpha", 1, "Factor of the product"),
                       numberAttribute("beta", 1, "Factor of C; 0 leaves C unread")};
    gemm.tolerance = {1e-5, 1e-5};
    gemm.infer = inferGemm;
    gemm.cost = gemmCost;
    table.push_back(std::move(gemm));
}

} // namespace twb
