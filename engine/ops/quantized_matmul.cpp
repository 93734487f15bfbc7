#include "backends/cpu/dense_input.h"
#include "backends/cpu/elementwise.h"
#include "backends/cpu/low_precision.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/matmul.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace twb {
namespace {

constexpr DTypeSet kBytes{DType::i8, DType::u8};
constexpr DTypeSet kScales{DType::f32, DType::f16, DType::bf16};

/// A's scales and zero points are per row and B's per column, so a list for A becomes a column vector.
TensorView upright(TensorView view, int rank) {
    if (view.shape.rank() != 1 || view.shape[0] == 1 || rank < 2) return view;
    view.shape = Shape{view.shape[0], 1};
    view.strides.push_back(0);
    return view;
}

Shape upright(const Shape& shape, int rank) {
    return shape.rank() != 1 || shape[0] == 1 || rank < 2 ? shape : Shape{shape[0], 1};
}

/// A scale or zero point must broadcast to its matrix.
void checkFits(const InferContext& ctx, int port, const Shape& whole, bool byRow) {
    const TensorType* type = ctx.input(port);
    if (!type) return;
    const auto both = broadcast(upright(type->shape, byRow ? whole.rank() : 0), whole);
    if (both && both->rank() == whole.rank() && (!both->isKnown() || !whole.isKnown() || *both == whole))
        return;
    ctx.fail("shape-mismatch", port,
             fmt::format("{}: {} must be one number or one per {}, but has shape {} for a matrix of {}",
                         ctx.op().name, ctx.op().inputAt(port).name, byRow ? "row" : "column",
                         type->shape.toTorchString(), whole.toTorchString()));
}

/// The operand as i32, minus its zero point.
Tensor shifted(const TensorView& in, const TensorView* zero) {
    Tensor out = Tensor::onHost({DType::i32, in.shape});
    convertElements(in, out.view());
    if (!zero) return out;
    Tensor keep;
    const TensorView offset = denseAs(DType::i32, *zero, keep);
    zipElements<std::int32_t, std::int32_t, std::int32_t>(
        out.view(), offset, out.view(), [](std::int32_t a, std::int32_t b) { return a - b; });
    return out;
}

/// The inputs of a product by port; zero points may be unconnected.
struct ProductPorts {
    std::size_t a, zeroA, b, zeroB;
};

const TensorView* given(const KernelContext& ctx, std::size_t port) {
    return port < ctx.inputs.size() && ctx.inputs[port].data ? &ctx.inputs[port] : nullptr;
}

/// The product with a constant matrix of i8 without zero points; null if the CPU has no instructions for it,
/// if A has several zero points, or if an input other than A may change.
std::unique_ptr<LowPrecisionKernel> byteKernel(const KernelContext& ctx, const ProductPorts& ports) {
    const TensorView& a = ctx.inputs[ports.a];
    const TensorView& b = ctx.inputs[ports.b];
    if (a.shape.rank() < 1 || b.shape.rank() != 2 || b.dtype != DType::i8) return nullptr;
    for (const std::size_t port : {ports.b, ports.zeroA, ports.zeroB})
        if (given(ctx, port) && !ctx.memory->isConstant(port)) return nullptr;
    ConstantProduct product{.inner = b.shape[0], .columns = b.shape[1], .x = a.dtype};
    product.rows = a.elementCount() / std::max<std::int64_t>(product.inner, 1);
    product.rowStride = b.strides[0];
    product.columnStride = b.strides[1];
    if (product.rowStride != 1 && product.columnStride != 1) return nullptr;
    if (const TensorView* zero = given(ctx, ports.zeroB))
        for (std::int64_t i = 0; i < zero->elementCount(); ++i)
            if (!isDense(*zero) || numberAt(*zero, i) != 0) return nullptr;
    if (const TensorView* zero = given(ctx, ports.zeroA)) {
        if (zero->elementCount() != 1) return nullptr;
        product.xZero = static_cast<std::int32_t>(numberAt(*zero, 0));
    }
    return makeKernel(product, b.data);
}

/// Writes the product to `out`, dense i32, by a primitive; false, without an effect, if there is none.
bool multipliedInBytes(const KernelContext& ctx, const ProductPorts& ports, const TensorView& out) {
    if (!ctx.memory) return false;
    if (!ctx.memory->state) {
        auto fresh = std::make_unique<LowPrecisionState>();
        fresh->kernel = byteKernel(ctx, ports);
        ctx.memory->state = std::move(fresh);
    }
    const auto& kernel = static_cast<LowPrecisionState&>(*ctx.memory->state).kernel;
    if (!kernel) return false;
    const DenseInput a(ctx.inputs[ports.a]);
    kernel->run(a.view().data, out.data);
    return true;
}

/// Writes the product to `out`, dense i32.
void integerProduct(const KernelContext& ctx, const ProductPorts& ports, const TensorView& out) {
    if (multipliedInBytes(ctx, ports, out)) return;
    const TensorView& a = ctx.inputs[ports.a];
    const TensorView& b = ctx.inputs[ports.b];
    const TensorView* zeroA = given(ctx, ports.zeroA);
    const TensorView* const zeroB = given(ctx, ports.zeroB);
    TensorView rows;
    if (zeroA) {
        rows = upright(*zeroA, a.shape.rank());
        zeroA = &rows;
    }
    const Tensor left = shifted(a, zeroA);
    const Tensor right = shifted(b, zeroB);
    const std::array inputs{left.view(), right.view()};
    const std::array outputs{out};
    matMulKernel({inputs, outputs, ctx.attributes, nullptr});
}

void inferMatMulInteger(InferContext& ctx) {
    const Shape shape = matMulShape(ctx, 0, 1);
    checkFits(ctx, 2, ctx.input(0)->shape, true);
    checkFits(ctx, 3, ctx.input(1)->shape, false);
    ctx.output(0, {DType::i32, shape});
}

void matMulIntegerKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    integerProduct(ctx, {.a = 0, .zeroA = 2, .b = 1, .zeroB = 3}, ctx.outputs[0]);
}

void inferQLinearMatMul(InferContext& ctx) {
    const Shape shape = matMulShape(ctx, 0, 3);
    for (int port : {1, 2}) checkFits(ctx, port, ctx.input(0)->shape, true);
    for (int port : {4, 5}) checkFits(ctx, port, ctx.input(3)->shape, false);
    for (int port : {6, 7}) checkFits(ctx, port, shape, true);
    ctx.output(0, {ctx.input(7)->dtype, shape});
}

/// Sums in i32, scales in double and rounds once, halves to even, with saturation.
void qLinearMatMulKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const Tensor sums = Tensor::onHost({DType::i32, out.shape});
    integerProduct(ctx, {.a = 0, .zeroA = 2, .b = 3, .zeroB = 5}, sums.view());
    std::array<Tensor, 4> keep;
    const auto inDouble = [&](std::size_t port, int rank, Tensor& owner) {
        return upright(denseAs(DType::f64, ctx.inputs[port], owner), rank);
    };
    const int rank = out.shape.rank();
    const TensorView scaleA = inDouble(1, ctx.inputs[0].shape.rank(), keep[0]);
    const TensorView scaleB = inDouble(4, 0, keep[1]);
    const TensorView scaleY = inDouble(6, rank, keep[2]);
    const TensorView zeroY = inDouble(7, rank, keep[3]);
    const StridedLoop<4> loop(out.shape, {&scaleA, &scaleB, &scaleY, &zeroY});
    const auto* const sum = static_cast<const std::int32_t*>(sums.data());
    const auto store = [&](auto zero) {
        using T = decltype(zero);
        std::int64_t at = 0;
        loop.rows(0, loop.total(), [&](const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i, ++at) {
                const auto value = [&](const TensorView& view, int k) {
                    return view
                        .as<const double>()[offsets[static_cast<std::size_t>(k)] + i * loop.innerStride(k)];
                };
                const double scaled = sum[at] * (value(scaleA, 0) * value(scaleB, 1) / value(scaleY, 2));
                out.as<T>()[at] = element::cast<T>(std::nearbyint(scaled) + value(zeroY, 3));
            }
        });
    };
    if (out.dtype == DType::i8)
        store(std::int8_t{});
    else
        store(std::uint8_t{});
}

Cost productCost(const Shape& a, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    Cost cost = streamingCost(inputs, outputs, 2.0 * static_cast<double>(a[a.rank() - 1]));
    cost.dtype = DType::i32;
    return cost;
}

} // namespace

void addQuantizedMatMul(std::vector<Op>& table) {
    Op product = makeOp("MatMulInteger", "Quantize", 10, "Matrix product of bytes, summed in i32",
                        "Y = (A − a_zero_point) × (B − b_zero_point)");
    product.inputs = {port("A", "self", kBytes, "T1"), port("B", "mat2", kBytes, "T2"),
                      optionalPort("a_zero_point", "", kBytes, "T1"),
                      optionalPort("b_zero_point", "", kBytes, "T2")};
    product.outputs = {port("Y", "", DTypeSet{DType::i32})};
    product.infer = inferMatMulInteger;
    product.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                      const Attributes&) { return productCost(inputs[0].shape, inputs, outputs); };
    product.kernel = matMulIntegerKernel;
    product.noGradient = "gives integers";
    table.push_back(std::move(product));

    Op linear = makeOp("QLinearMatMul", "Quantize", 21, "Quantized matrix product of quantized tensors",
                       "y = saturate(round(a × b · a_scale · b_scale / y_scale) + y_zero_point)");
    linear.inputs = {port("a", "self", kBytes, "T1"),        port("a_scale", "", kScales, "TS"),
                     port("a_zero_point", "", kBytes, "T1"), port("b", "mat2", kBytes, "T2"),
                     port("b_scale", "", kScales, "TS"),     port("b_zero_point", "", kBytes, "T2"),
                     port("y_scale", "", kScales, "TS"),     port("y_zero_point", "", kBytes, "T3")};
    linear.outputs = {port("y", "", kBytes, "T3")};
    linear.infer = inferQLinearMatMul;
    linear.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes&) { return productCost(inputs[0].shape, inputs, outputs); };
    linear.kernel = qLinearMatMulKernel;
    linear.noGradient = "gives integers";
    table.push_back(std::move(linear));

    describe(table, "MatMulInteger", "A […, m, k] · B […, k, n] → Y […, m, n]",
             {operand({2, 3}), operand({3, 2})});
    describe(table, "QLinearMatMul",
             "a […, m, k] · b […, k, n] → y […, m, n]; scales and zero points are scalars, or one per row of "
             "a or column of b",
             {operand({2, 2}, {}, DType::u8), operand(Shape{}, {0.5}), operand(Shape{}, {0}, DType::u8),
              operand({2, 2}, {}, DType::u8), operand(Shape{}, {0.5}), operand(Shape{}, {1}, DType::u8),
              operand(Shape{}, {0.5}), operand(Shape{}, {0}, DType::u8)});
}

} // namespace twb
