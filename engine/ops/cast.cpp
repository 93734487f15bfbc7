#include "ops/cast.h"

#include "backends/cpu/elementwise.h"
#include "backends/cpu/quantize_loops.h"
#include "backends/cpu/vector_math.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace twb {
namespace {

void inferCast(InferContext& ctx) { ctx.output(0, {dtypeOf(ctx.attributes(), "to"), ctx.input(0)->shape}); }

void inferCastLike(InferContext& ctx) { ctx.output(0, {ctx.input(1)->dtype, ctx.input(0)->shape}); }

Narrowing narrowingOf(const Attributes& attributes) {
    const std::string& mode = attributes.text("round_mode");
    return {attributes.flag("saturate"), mode == "up"     ? PowerRounding::up
                                         : mode == "down" ? PowerRounding::down
                                                          : PowerRounding::nearest};
}

void castKernel(const KernelContext& ctx) {
    convertElements(ctx.inputs[0], ctx.outputs[0], narrowingOf(ctx.attributes));
}

void inferBitCast(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const DType to = dtypeOf(ctx.attributes(), "to");
    if (bitsOf(to) != bitsOf(x.dtype))
        ctx.fail("attribute", -1,
                 fmt::format("BitCast keeps the bits of each element, but an element of {} has {} bits and "
                             "one of {} has {}; choose a dtype of the same size",
                             name(x.dtype), bitsOf(x.dtype), name(to), bitsOf(to)));
    ctx.output(0, {to, x.shape});
}

void bitCastKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.dtype == DType::boolean)
        return convertElements(ctx.inputs[0], out); // a bool is 0 or 1, whatever the byte is
    TensorView bits = ctx.inputs[0];
    bits.dtype = out.dtype;
    copyElements(bits, out);
}

/// The elements of the target tensor are not read.
Cost castLikeCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                  const Attributes&) {
    return streamingCost(inputs.first(1), outputs, 1);
}

} // namespace

template <class T> std::uint8_t narrowed(DType dtype, T x, Narrowing how) {
    if constexpr (std::is_same_v<T, element::Bool>) {
        return isNarrowFloat(dtype) ? narrowCode(dtype, x ? 1.0F : 0.0F, how)
                                    : narrowCode(dtype, std::int64_t{x});
    } else if constexpr (isHalf<T>) {
        return narrowed(dtype, static_cast<float>(x), how);
    } else if constexpr (std::is_integral_v<T>) {
        if (!isNarrowFloat(dtype)) return narrowCode(dtype, static_cast<std::int64_t>(x));
        // What is left behind 53 bits only decides between neighbours: it is kept as a last bit.
        const bool isNegative = x < 0;
        auto magnitude = static_cast<std::uint64_t>(x);
        if (isNegative) magnitude = 0 - magnitude;
        if (magnitude >> 53 != 0)
            magnitude =
                (magnitude >> 11 << 11) | (static_cast<std::uint64_t>((magnitude & 0x7ff) != 0) << 11);
        const auto exact = static_cast<double>(magnitude);
        return narrowCode(dtype, roundToOdd(isNegative ? -exact : exact), how);
    } else {
        if (isNarrowFloat(dtype)) {
            if constexpr (std::is_same_v<T, double>)
                return narrowCode(dtype, roundToOdd(x), how);
            else
                return narrowCode(dtype, x, how);
        }
        return narrowCode(dtype, element::cast<std::int64_t>(x));
    }
}
template std::uint8_t narrowed(DType, float, Narrowing);
template std::uint8_t narrowed(DType, double, Narrowing);
template std::uint8_t narrowed(DType, std::int32_t, Narrowing);
template std::uint8_t narrowed(DType, std::int64_t, Narrowing);

namespace {

/// Elements between two packs; a multiple of the elements of a byte.
constexpr std::int64_t kCodesAtOnce = 1024;

/// Calls each(codes, first, count) for parts of a dense tensor of codes, in parallel.
template <class Each> void forCodes(std::int64_t total, const Each& each) {
    parallelRanges(total, total, kCodesAtOnce, [&](std::int64_t begin, std::int64_t end) {
        std::array<std::uint8_t, kCodesAtOnce> codes;
        for (std::int64_t at = begin; at < end; at += kCodesAtOnce)
            each(codes.data(), at, std::min(kCodesAtOnce, end - at));
    });
}

void convertToNarrow(const TensorView& in, const TensorView& out, Narrowing how) {
    Tensor keep;
    const TensorView from = denseAs(in.dtype, in, keep);
    withAny(in.dtype, [&](auto zero) {
        using From = decltype(zero);
        const auto* const x = from.as<const From>();
        forCodes(out.elementCount(), [&](std::uint8_t* codes, std::int64_t first, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) codes[i] = narrowed(out.dtype, x[first + i], how);
            packCodes(out.dtype, codes, out.data, first, count);
        });
    });
}

void convertFromNarrow(const TensorView& in, const TensorView& out, Narrowing how) {
    Tensor keep;
    const TensorView from = denseAs(in.dtype, in, keep);
    const float* const values = narrowValues(in.dtype);
    const auto convert = [&](const auto& map, const auto& store) {
        forCodes(out.elementCount(), [&](std::uint8_t* codes, std::int64_t first, std::int64_t count) {
            unpackCodes(in.dtype, from.data, first, count, codes);
            store(map, codes, first, count);
        });
    };
    if (isNarrow(out.dtype)) {
        std::array<std::uint8_t, 256> map{};
        for (std::size_t code = 0; code < map.size(); ++code)
            map[code] = isNarrowFloat(in.dtype)
                            ? narrowed(out.dtype, values[code], how)
                            : narrowed(out.dtype, static_cast<std::int32_t>(values[code]), how);
        return convert(map, [&](const auto& to, std::uint8_t* codes, std::int64_t first, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) codes[i] = to[codes[i]];
            packCodes(out.dtype, codes, out.data, first, count);
        });
    }
    withAny(out.dtype, [&](auto zero) {
        using To = decltype(zero);
        std::array<To, 256> map;
        for (std::size_t code = 0; code < map.size(); ++code)
            map[code] = isNarrowFloat(in.dtype) ? element::cast<To>(values[code])
                                                : element::cast<To>(static_cast<std::int32_t>(values[code]));
        To* const y = out.as<To>();
        convert(map, [&](const auto& to, const std::uint8_t* codes, std::int64_t first, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) y[first + i] = to[codes[i]];
        });
    });
}

} // namespace

void convertElements(const TensorView& in, const TensorView& out, Narrowing how) {
    if (in.dtype == out.dtype) return copyElements(in, out);
    // With its channels as the last axis, a channels-last result is dense.
    if (!isDense(out) && isChannelsLast(out))
        return convertElements(channelsMovedLast(in), channelsMovedLast(out), how);
    if (isNarrow(in.dtype)) return convertFromNarrow(in, out, how);
    if (isNarrow(out.dtype)) return convertToNarrow(in, out, how);
    const bool toHalf = in.dtype == DType::f32 && out.dtype == DType::f16;
    const bool fromHalf = in.dtype == DType::f16 && out.dtype == DType::f32;
    if ((toHalf || fromHalf) && isDense(in)) {
        const std::int64_t total = out.elementCount();
        return parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            if (toHalf)
                vectorToHalf(in.as<const float>() + begin, out.as<Half>() + begin, end - begin);
            else
                vectorFromHalf(in.as<const Half>() + begin, out.as<float>() + begin, end - begin);
        });
    }
    const bool toBFloat16 = in.dtype == DType::f32 && out.dtype == DType::bf16;
    const bool fromBFloat16 = in.dtype == DType::bf16 && out.dtype == DType::f32;
    if ((toBFloat16 || fromBFloat16) && isDense(in)) {
        const std::int64_t total = out.elementCount();
        return parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            if (toBFloat16)
                vectorToBFloat16(in.as<const float>() + begin, out.as<BFloat16>() + begin, end - begin);
            else
                vectorFromBFloat16(in.as<const BFloat16>() + begin, out.as<float>() + begin, end - begin);
        });
    }
    withAny(in.dtype, [&](auto from) {
        withAny(out.dtype, [&](auto to) {
            using To = decltype(to);
            using From = decltype(from);
            mapElements<From, To>(in, out, [](From x) { return element::cast<To>(x); });
        });
    });
}

TensorView denseAs(DType dtype, const TensorView& in, Tensor& owner) {
    if (in.dtype == dtype && isDense(in)) return in;
    owner = Tensor::onHost({dtype, in.shape});
    convertElements(in, owner.view());
    return owner.view();
}

void addCast(std::vector<Op>& table) {
    Op cast = makeOp("Cast", "Shape", 28, "The same elements in another dtype", "Y = (to) X");
    cast.inputs = {port("input", "self", kStored)};
    cast.outputs = {port("output", "", kStored)};
    const std::vector<AttributeSpec> narrowing{
        flagAttribute("saturate", true,
                      "For 8-bit floats: numbers out of range become the largest one, else infinity or NaN"),
        choiceAttribute("round_mode", "up", {"up", "down", "nearest"}, "Rounding to f8e8m0")};
    cast.attributes = {dtypeAttribute("to", "f32", kStored, "Type to convert to")};
    cast.attributes.insert(cast.attributes.end(), narrowing.begin(), narrowing.end());
    cast.infer = inferCast;
    cast.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    cast.kernel = castKernel;
    table.push_back(std::move(cast));

    Op like = makeOp("CastLike", "Shape", 25, "The same elements in another tensor's dtype",
                     "Y = (dtype of target) X");
    like.inputs = {port("input", "self", kStored), port("target_type", "other", kStored)};
    like.outputs = {port("output", "", kStored)};
    like.attributes = narrowing;
    like.infer = inferCastLike;
    like.gradient = [](GradientContext& g) { g.give(0, twb::cast(g.gradient(), g.input().type().dtype)); };
    like.cost = castLikeCost;
    like.kernel = castKernel;
    table.push_back(std::move(like));

    Op bits = makeOp("BitCast", "Shape", 26, "The same bits, read as another dtype of the same size");
    bits.inputs = {port("input", "self", kStored)};
    bits.outputs = {port("output", "", kStored)};
    bits.attributes = {dtypeAttribute("to", "i32", kStored, "Type of the same size")};
    bits.infer = inferBitCast;
    bits.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) { return streamingCost(inputs, outputs, 0); };
    bits.noGradient = "reads the bits of its input as another dtype";
    bits.kernel = bitCastKernel;
    table.push_back(std::move(bits));

    describe(table, "Cast", "output has the shape of input", {}, {{"to", std::string("i32")}});
    describe(table, "CastLike", "output has the shape of input",
             {operand({3, 4}), operand(Shape{}, {0}, DType::i64)});
    describe(table, "BitCast", "output has the shape of input; both dtypes have as many bits").formula =
        "The bits of X, read as another dtype";
}

} // namespace twb
