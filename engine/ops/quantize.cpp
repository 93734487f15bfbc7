#include "backends/cpu/parallel.h"
#include "backends/cpu/quantize_loops.h"
#include "backends/cpu/strided.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

constexpr DTypeSet kQuantized =
    DTypeSet{DType::i8,         DType::u8,     DType::i16,        DType::u16,   DType::f8e4m3fn,
             DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1} |
    kNarrowIntegers;
constexpr DTypeSet kPrecisions{DType::f32, DType::f16, DType::bf16};
constexpr DTypeSet kScales = kPrecisions | DTypeSet{DType::f8e8m0};

bool differ(std::int64_t a, std::int64_t b) { return a != kUnknownDim && b != kUnknownDim && a != b; }

/// There is one scale for the tensor, one per index along an axis, or one per block along it.
void checkScale(const InferContext& ctx, const Shape& x, int scalePort, int zeroPort) {
    const Shape& scale = ctx.input(scalePort)->shape;
    const std::string& op = ctx.op().name;
    const auto fail = [&](const std::string& why) {
        ctx.fail("shape-mismatch", scalePort,
                 fmt::format("{}: the scale {} does not fit the input {}: {}", op, scale.toTorchString(),
                             x.toTorchString(), why));
    };
    const std::int64_t block = ctx.attributes().integer("block_size");
    if (block > 0) {
        const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), x.rank(), -1);
        if (scale.rank() != x.rank() || x.rank() == 0)
            fail("with a block_size, the scale needs as many dimensions as the input");
        for (int i = 0; i < x.rank(); ++i) {
            const std::int64_t wanted =
                i == axis && x[i] != kUnknownDim ? x[i] / block + (x[i] % block != 0 ? 1 : 0) : x[i];
            if (differ(scale[i], wanted)) fail(fmt::format("dimension {} must be {}", i, wanted));
        }
    } else if (scale.rank() == 1 && scale[0] != 1) {
        const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), x.rank(), -1);
        if (x.rank() == 0) fail("a scalar input needs a scalar scale");
        if (differ(scale[0], x[axis])) fail(fmt::format("along dimension {} it needs {}", axis, x[axis]));
    } else if (scale.rank() > 1) {
        fail("it must be a scalar or one-dimensional; set block_size for blocks");
    }
    if (const TensorType* zero = ctx.input(zeroPort)) {
        // A single one may be a scalar or a list.
        const auto isOne = [](const Shape& s) { return s.rank() == 0 || (s.rank() == 1 && s[0] == 1); };
        const bool isSingle = block == 0 && isOne(zero->shape) && isOne(scale);
        bool same = isSingle || zero->shape.rank() == scale.rank();
        for (int i = 0; same && !isSingle && i < scale.rank(); ++i) same = !differ(zero->shape[i], scale[i]);
        if (!same)
            ctx.fail("shape-mismatch", zeroPort,
                     fmt::format("{}: the zero point has the shape {}, but the scale has the shape {}; "
                                 "they must be equal",
                                 op, zero->shape.toTorchString(), scale.toTorchString()));
    }
}

void inferQuantize(InferContext& ctx) {
    const Shape& x = ctx.input(0)->shape;
    checkScale(ctx, x, 1, 2);
    DType dtype = DType::u8;
    if (ctx.attributes().has("output_dtype")) {
        dtype = dtypeOf(ctx.attributes(), "output_dtype");
        if (ctx.input(2) && ctx.input(2)->dtype != dtype)
            ctx.fail("dtype-mismatch", 2,
                     fmt::format("QuantizeLinear: output_dtype is {}, but the zero point is {}", name(dtype),
                                 name(ctx.input(2)->dtype)));
    } else if (ctx.input(2)) {
        dtype = ctx.input(2)->dtype;
    }
    ctx.output(0, {dtype, x});
}

void inferDequantize(InferContext& ctx) {
    const Shape& x = ctx.input(0)->shape;
    checkScale(ctx, x, 1, 2);
    if (ctx.input(1)->dtype == DType::f8e8m0 && !ctx.attributes().has("output_dtype"))
        ctx.fail("attribute", -1,
                 "DequantizeLinear: with a scale of f8e8m0, the attribute \"output_dtype\" must be set");
    ctx.output(0, {ctx.attributes().has("output_dtype") ? dtypeOf(ctx.attributes(), "output_dtype")
                                                        : ctx.input(1)->dtype,
                   x});
}

/// The scale of each element. A row is all elements behind one index along the axis.
struct ScalePlaces {
    std::int64_t length = 1; ///< size of the axis
    std::int64_t inner = 1;  ///< elements of a row
    std::int64_t rows = 1;
    std::int64_t block = 0;
    bool perAxis = false;

    ScalePlaces(const KernelContext& ctx) {
        const Shape& x = ctx.inputs[0].shape;
        block = ctx.attributes.integer("block_size");
        perAxis = block == 0 && ctx.inputs[1].elementCount() != 1;
        const std::int64_t total = x.elementCount();
        if ((block > 0 || perAxis) && x.rank() > 0) {
            const int axis = *normalizeAxis(ctx.attributes.integer("axis"), x.rank());
            length = x[axis];
            for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
        }
        // Without an axis, rows only divide the work among threads.
        if (block == 0 && !perAxis) inner = std::min<std::int64_t>(std::max<std::int64_t>(total, 1), 4096);
        rows = (total + inner - 1) / std::max<std::int64_t>(inner, 1);
    }
    std::int64_t first(std::int64_t row) const {
        if (perAxis) return row % length;
        if (block == 0) return 0;
        const std::int64_t blocks = (length + block - 1) / block;
        return (row / length * blocks + row % length / block) * inner;
    }
    std::int64_t step() const { return block > 0 ? 1 : 0; }
};

/// Calls each(i, scale of i) for every element, in parallel.
template <class Each> void forScaled(const KernelContext& ctx, const Each& each) {
    const std::int64_t total = ctx.inputs[0].elementCount();
    if (total == 0) return;
    const ScalePlaces places(ctx);
    parallelRanges(places.rows, total, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            const std::int64_t scale = places.first(row);
            const std::int64_t last = std::min((row + 1) * places.inner, total);
            std::int64_t at = scale;
            for (std::int64_t i = row * places.inner; i < last; ++i, at += places.step()) each(i, at);
        }
    });
}

/// Rounds halves to even and saturates. NaN becomes 0.
template <class T> T saturate(float x) { return element::cast<T>(std::nearbyint(x)); }

template <class F> void withQuantized(DType dtype, const F& f) {
    switch (dtype) {
    case DType::i8:
        return f(std::int8_t{});
    case DType::u8:
        return f(std::uint8_t{});
    case DType::i16:
        return f(std::int16_t{});
    case DType::u16:
        return f(std::uint16_t{});
    default:
        noKernelFor(dtype);
    }
}

float roundedTo(DType dtype, float x) {
    if (dtype == DType::f16) return static_cast<float>(Half(x));
    if (dtype == DType::bf16) return static_cast<float>(BFloat16(x));
    return x;
}

bool isGiven(const KernelContext& ctx, std::size_t port) {
    return port < ctx.inputs.size() && ctx.inputs[port].data;
}

/// Whether `in` holds the elements in the order of `out`, which is dense.
bool isAlike(const TensorView& in, const TensorView& out) {
    return isDense(out) ? isDense(in) : isChannelsLast(in);
}

/// `in` with its elements in the order of `out`.
TensorView inOrderOf(const TensorView& out, const TensorView& in, Tensor& owner) {
    if (isAlike(in, out)) return in;
    owner = Tensor::onHost({in.dtype, in.shape});
    const TensorView copy{owner.data(), in.dtype, in.shape, out.strides};
    copyElements(in, copy);
    return copy;
}

/// Calls row(x, y, count) for consecutive elements, in parallel.
template <class In, class Out, class Row>
void forRows(const TensorView& in, const TensorView& out, const Row& row) {
    Tensor keep;
    const TensorView x = inOrderOf(out, in, keep);
    const std::int64_t total = out.elementCount();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        row(x.as<const In>() + begin, out.as<Out>() + begin, end - begin);
    });
}

/// One scale for all elements, in f32, and 8 bits.
bool quantizedByVectors(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    const bool isByte = out.dtype == DType::u8 || out.dtype == DType::i8;
    if (!isByte || ctx.inputs[0].dtype != DType::f32 || ctx.inputs[1].dtype != DType::f32 ||
        ctx.inputs[1].elementCount() != 1 || ctx.attributes.integer("block_size") > 0 ||
        (ctx.attributes.has("precision") && dtypeOf(ctx.attributes, "precision") != DType::f32))
        return false;
    const float scale = *ctx.inputs[1].as<const float>();
    const std::int32_t zero = isGiven(ctx, 2) ? static_cast<std::int32_t>(numberAt(ctx.inputs[2], 0)) : 0;
    const auto rows = [&](auto none) {
        using T = decltype(none);
        forRows<float, T>(ctx.inputs[0], out, [&](const float* x, T* y, std::int64_t count) {
            quantizeRow(x, scale, zero, y, count);
        });
    };
    if (out.dtype == DType::i8)
        rows(std::int8_t{});
    else
        rows(std::uint8_t{});
    return true;
}

/// f32 from bytes with one scale, or from i32 with one scale or one per element of the last axis.
bool dequantizedByVectors(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const bool isByte = in.dtype == DType::u8 || in.dtype == DType::i8;
    if ((!isByte && in.dtype != DType::i32) || out.dtype != DType::f32 || ctx.inputs[1].dtype != DType::f32 ||
        ctx.attributes.integer("block_size") > 0)
        return false;
    const std::int32_t zero = isGiven(ctx, 2) ? static_cast<std::int32_t>(numberAt(ctx.inputs[2], 0)) : 0;
    if (in.dtype == DType::i32 && zero != 0) return false; // the difference might overflow
    Tensor keep;
    const TensorView scales = denseAs(DType::f32, ctx.inputs[1], keep);
    const auto* const scale = scales.as<const float>();
    const auto rows = [&](auto none) {
        using T = decltype(none);
        forRows<T, float>(in, out, [&](const T* x, float* y, std::int64_t count) {
            dequantizeRow(x, zero, scale, 0, y, count);
        });
    };
    if (scales.elementCount() == 1) {
        if (in.dtype == DType::i8)
            rows(std::int8_t{});
        else if (in.dtype == DType::u8)
            rows(std::uint8_t{});
        else
            rows(std::int32_t{});
        return true;
    }
    const int last = in.shape.rank() - 1;
    const bool isLast = normalizeAxis(ctx.attributes.integer("axis"), in.shape.rank()) == last;
    if (in.dtype != DType::i32 || !isLast || !isDense(out) || isGiven(ctx, 2)) return false;
    const std::int64_t width = in.shape[last];
    const std::int64_t total = in.elementCount();
    Tensor owner;
    const auto* const x = inOrderOf(out, in, owner).as<const std::int32_t>();
    parallelRanges(total / width, total, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin * width; row < end * width; row += width)
            dequantizeRow(x + row, 0, scale, 1, out.as<float>() + row, width);
    });
    return true;
}

/// A row-major tensor in place of output 0 if that is channels-last, and its way back.
class RowMajorResult {
public:
    explicit RowMajorResult(const TensorView& out) : m_out(out), m_view(out) {
        if (isDense(out)) return;
        m_copy = Tensor::onHost({out.dtype, out.shape});
        m_view = m_copy.view();
    }
    const TensorView& view() const noexcept { return m_view; }
    void finish() const {
        if (m_copy) copyElements(m_view, m_out);
    }

private:
    const TensorView& m_out;
    TensorView m_view;
    Tensor m_copy;
};

/// To a narrow dtype; a float is rounded once, with its zero point added before.
template <class Quotient>
void quantizeNarrow(const KernelContext& ctx, const TensorView& out, const Quotient& quotient) {
    const DType dtype = out.dtype;
    Tensor keepZero;
    const float* zero = nullptr;
    if (isGiven(ctx, 2)) zero = denseAs(DType::f32, ctx.inputs[2], keepZero).as<const float>();
    const Narrowing how{.saturate = ctx.attributes.flag("saturate")};
    const auto least = static_cast<float>(leastOf(dtype));
    const auto most = static_cast<float>(largestOf(dtype));
    // Elements that share a byte may be computed by different threads.
    Tensor unpacked;
    if (isPacked(dtype)) unpacked = Tensor::onHost({DType::u8, out.shape});
    auto* const codes = unpacked ? static_cast<std::uint8_t*>(unpacked.data()) : out.as<std::uint8_t>();
    forScaled(ctx, [&](std::int64_t i, std::int64_t at) {
        const float exact = quotient(i, at);
        const float shift = zero ? zero[at] : 0.0F;
        codes[i] = isNarrowFloat(dtype)
                       ? narrowed(dtype, exact + shift, how)
                       : narrowed(dtype, std::clamp(std::nearbyint(exact) + shift, least, most), how);
    });
    if (unpacked) packCodes(dtype, codes, out.data, 0, out.elementCount());
}

/// From a narrow dtype.
void dequantizeNarrow(const KernelContext& ctx, const TensorView& out) {
    const DType dtype = ctx.inputs[0].dtype;
    Tensor keepX;
    Tensor keepScale;
    Tensor keepZero;
    const TensorView in = denseAs(dtype, ctx.inputs[0], keepX);
    const auto* const scale = denseAs(DType::f32, ctx.inputs[1], keepScale).as<const float>();
    const float* zero = nullptr;
    if (isGiven(ctx, 2)) zero = denseAs(DType::f32, ctx.inputs[2], keepZero).as<const float>();
    const float* const values = narrowValues(dtype);
    auto* const y = out.as<float>();
    const auto* const bytes = in.as<const std::uint8_t>();
    const auto each = [&](auto bits) {
        constexpr std::int64_t perByte = 8 / bits;
        forScaled(ctx, [&](std::int64_t i, std::int64_t at) {
            const auto code = static_cast<std::uint8_t>(bytes[i / perByte] >> (i % perByte * bits));
            y[i] = (values[code] - (zero ? zero[at] : 0.0F)) * scale[at];
        });
    };
    switch (bitsOf(dtype)) {
    case 8:
        return each(std::integral_constant<int, 8>{});
    case 4:
        return each(std::integral_constant<int, 4>{});
    default:
        return each(std::integral_constant<int, 2>{});
    }
}

void quantizeKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0 || quantizedByVectors(ctx)) return;
    const RowMajorResult result(ctx.outputs[0]);
    Tensor keepX;
    Tensor keepScale;
    Tensor keepZero;
    const auto* const x = denseAs(DType::f32, ctx.inputs[0], keepX).as<const float>();
    const auto* const scale = denseAs(DType::f32, ctx.inputs[1], keepScale).as<const float>();
    const std::int32_t* zero = nullptr;
    if (isGiven(ctx, 2)) zero = denseAs(DType::i32, ctx.inputs[2], keepZero).as<const std::int32_t>();
    const DType precision =
        ctx.attributes.has("precision") ? dtypeOf(ctx.attributes, "precision") : ctx.inputs[1].dtype;
    if (isNarrow(ctx.outputs[0].dtype)) {
        quantizeNarrow(ctx, result.view(), [&](std::int64_t i, std::int64_t at) {
            return roundedTo(precision, x[i] / scale[at]);
        });
        result.finish();
        return;
    }
    withQuantized(ctx.outputs[0].dtype, [&](auto none) {
        using T = decltype(none);
        T* const y = result.view().as<T>();
        forScaled(ctx, [&](std::int64_t i, std::int64_t at) {
            const float quotient = std::nearbyint(roundedTo(precision, x[i] / scale[at]));
            y[i] = saturate<T>(zero ? quotient + static_cast<float>(zero[at]) : quotient);
        });
    });
    result.finish();
}

void dequantizeKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0 || dequantizedByVectors(ctx)) return;
    const RowMajorResult result(ctx.outputs[0]);
    if (isNarrow(ctx.inputs[0].dtype)) {
        dequantizeNarrow(ctx, result.view());
        result.finish();
        return;
    }
    Tensor keepX;
    Tensor keepScale;
    Tensor keepZero;
    const auto* const x = denseAs(DType::i32, ctx.inputs[0], keepX).as<const std::int32_t>();
    const auto* const scale = denseAs(DType::f32, ctx.inputs[1], keepScale).as<const float>();
    const std::int32_t* zero = nullptr;
    if (isGiven(ctx, 2)) zero = denseAs(DType::i32, ctx.inputs[2], keepZero).as<const std::int32_t>();
    auto* const y = result.view().as<float>();
    forScaled(ctx, [&](std::int64_t i, std::int64_t at) {
        const std::int64_t shifted = std::int64_t{x[i]} - (zero ? zero[at] : 0);
        y[i] = static_cast<float>(shifted) * scale[at];
    });
    result.finish();
}

/// DequantizeLinear by simpler ops, with scales and zero points that broadcast to the input.
std::vector<GraphTensor> dequantized(GradientContext& g) {
    const Shape& x = g.input(0).shape();
    const std::int64_t given = g.attributes().integer("axis");
    const auto axis = static_cast<int>(given < 0 ? given + x.rank() : given);
    const std::int64_t block = g.attributes().integer("block_size");
    const auto fitted = [&](GraphTensor values) {
        if (block > 0) {
            const GraphTensor places = progression(g, DType::i64, x[axis]);
            const GraphTensor size = constant(g, DType::i64, {}, {static_cast<double>(block)});
            return gather(values, apply("Div", {places, size}), axis);
        }
        Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), 1));
        if (values.shape().elementCount() != 1) line[axis] = x[axis];
        return reshape(values, line);
    };
    GraphTensor shifted = cast(g.input(0), DType::f32);
    if (g.input(2)) shifted = shifted - fitted(cast(g.input(2), DType::f32));
    return {cast(shifted * fitted(cast(g.input(1), DType::f32)), g.output().type().dtype)};
}

void inferDynamic(InferContext& ctx) {
    ctx.output(0, {DType::u8, ctx.input(0)->shape});
    ctx.output(1, {DType::f32, Shape{}});
    ctx.output(2, {DType::u8, Shape{}});
}

/// The range is extended to include 0, which is then exact. An empty range gets scale 1.
void dynamicKernel(const KernelContext& ctx) {
    Tensor keep;
    const TensorView in = denseAs(DType::f32, ctx.inputs[0], keep);
    const auto* const x = in.as<const float>();
    const std::int64_t total = in.elementCount();
    float low = 0;
    float high = 0;
    for (std::int64_t i = 0; i < total; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    const float scale = high == low ? 1.0F : (high - low) / 255.0F;
    const auto zero = saturate<std::uint8_t>(-low / scale);
    auto* const y = ctx.outputs[0].as<std::uint8_t>();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            y[i] = saturate<std::uint8_t>(std::nearbyint(x[i] / scale) + static_cast<float>(zero));
    });
    *ctx.outputs[1].as<float>() = scale;
    *ctx.outputs[2].as<std::uint8_t>() = zero;
}

std::vector<AttributeSpec> blockAttributes() {
    AttributeSpec block = integerAttribute(
        "block_size", 0, "Block size: elements along the axis that share a scale; 0: no blocks");
    block.minimum = 0;
    return {integerAttribute("axis", 1, "The axis along which scales differ, negative from the end"),
            std::move(block)};
}

} // namespace

void addQuantization(std::vector<Op>& table) {
    Op quantize = makeOp("QuantizeLinear", "Quantize", 28,
                         "Quantizes numbers to small integers: divided by a scale, rounded, saturated",
                         "Y = saturate(round(X / scale) + zero_point)");
    quantize.inputs = {port("x", "self", kPrecisions | DTypeSet{DType::i32}),
                       port("y_scale", "scale", kScales | DTypeSet{DType::i32}),
                       optionalPort("y_zero_point", "zero_point", kQuantized)};
    quantize.outputs = {port("y", "", kQuantized)};
    quantize.attributes = blockAttributes();
    quantize.attributes.push_back(dtypeAttribute("output_dtype", "", kQuantized,
                                                 "Type of the result; absent: the zero point's, or u8"));
    quantize.attributes.push_back(
        dtypeAttribute("precision", "", kPrecisions, "Precision of the quotient; absent: the scale's"));
    quantize.attributes.push_back(
        flagAttribute("saturate", true,
                      "For 8-bit floats: numbers out of range become the largest one, else infinity or NaN"));
    quantize.infer = inferQuantize;
    quantize.channelsLast = ChannelsLast::either;
    quantize.kernel = quantizeKernel;
    quantize.noGradient = "gives quantized numbers";
    table.push_back(std::move(quantize));

    Op dequantize = makeOp("DequantizeLinear", "Quantize", 28, "Dequantizes small integers to numbers",
                           "Y = (X − zero_point) · scale");
    const DTypeSet integers = kQuantized | DTypeSet{DType::i32};
    dequantize.inputs = {port("x", "self", integers, "T"), port("x_scale", "scale", kScales),
                         optionalPort("x_zero_point", "zero_point", integers, "T")};
    dequantize.outputs = {port("y", "", kPrecisions)};
    dequantize.attributes = blockAttributes();
    dequantize.attributes.push_back(
        dtypeAttribute("output_dtype", "", kPrecisions, "Type of the result; absent: the scale's"));
    dequantize.tolerance = {1.2e-7, 0};
    dequantize.infer = inferDequantize;
    dequantize.channelsLast = ChannelsLast::either;
    dequantize.kernel = viaFloat<dequantizeKernel>;
    dequantize.gradient = [](GradientContext& g) { differentiate(g, dequantized); };
    table.push_back(std::move(dequantize));

    Op dynamic = makeOp("DynamicQuantizeLinear", "Quantize", 11,
                        "Quantizes numbers to u8, with a scale and zero point from their range",
                        "scale = (max X − min X) / 255");
    dynamic.inputs = {port("x", "self", DTypeSet{DType::f32})};
    dynamic.outputs = {port("y", "", DTypeSet{DType::u8}), port("y_scale", "", DTypeSet{DType::f32}),
                       port("y_zero_point", "", DTypeSet{DType::u8})};
    dynamic.tolerance = {1.2e-7, 0};
    dynamic.infer = inferDynamic;
    dynamic.kernel = dynamicKernel;
    dynamic.noGradient = "gives integers";
    table.push_back(std::move(dynamic));

    describe(
        table, "QuantizeLinear",
        "y_scale and y_zero_point: scalars, or one per slice of axis, or one per block; y has the shape of x",
        {operand({3, 4}), operand(Shape{}, {0.1})});
    describe(
        table, "DequantizeLinear",
        "x_scale and x_zero_point: scalars, or one per slice of axis, or one per block; y has the shape of x",
        {operand({3, 4}), operand(Shape{}, {0.1})});
    describe(table, "DynamicQuantizeLinear", "y has the shape of x; y_scale and y_zero_point are scalars");
}

} // namespace twb
