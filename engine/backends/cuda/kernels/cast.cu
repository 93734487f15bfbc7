#include "backends/cpu/strided.h"
#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"
#include "core/narrow.h"

#include <algorithm>
#include <array>

namespace twb::cuda {
namespace {

using element::Bool;

template <class To> struct CastTo {
    template <class From> TWB_HOST_DEVICE auto operator()(From x) const {
        if constexpr (isHalf<To> && std::is_same_v<From, double>)
            return To(x);
        else if constexpr (isHalf<To> && std::is_integral_v<From>)
            return To(x);
        else if constexpr (isHalf<To>)
            return element::cast<float>(x);
        else
            return element::cast<To>(x);
    }
};

template <class From, class To> void convert(Queue& queue, const TensorView& in, const TensorView& out) {
    mapElements<From, To>(queue, in, out, CastTo<To>{});
}

/// Conversions between integers keep the low bits, whatever the sign of the target.
template <class From> void convertFrom(Queue& queue, const TensorView& in, const TensorView& out) {
    if constexpr (std::is_integral_v<From>) {
        if (isInteger(out.dtype))
            return withBits(out.dtype, [&](auto to) { convert<From, decltype(to)>(queue, in, out); });
        if (out.dtype == DType::boolean) return convert<From, Bool>(queue, in, out);
        return withStoredFloat(out.dtype, [&](auto to) { convert<From, decltype(to)>(queue, in, out); });
    } else {
        withAny(out.dtype, [&](auto to) { convert<From, decltype(to)>(queue, in, out); });
    }
}

/// The value of each code, from a table.
template <class To> struct Decode {
    const std::uint8_t* codes;
    int bits; ///< of an element
    const To* values;
    To* out;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t perByte = 8 / bits;
        const int byte = codes[i / perByte] >> (i % perByte * bits);
        out[i] = values[byte & ((1 << bits) - 1)];
    }
};

void convertFromNarrow(Queue& queue, const TensorView& in, const TensorView& out) {
    const DenseView dense(queue, in);
    const float* const exact = narrowValues(in.dtype);
    withAny(out.dtype, [&](auto zero) {
        using To = decltype(zero);
        std::array<To, 256> values;
        for (std::size_t code = 0; code < values.size(); ++code)
            values[code] = isNarrowFloat(in.dtype)
                               ? element::cast<To>(exact[code])
                               : element::cast<To>(static_cast<std::int32_t>(exact[code]));
        const Scratch table(queue, sizeof values);
        queue.upload(table.data(), values.data(), sizeof values);
        forEach(queue, out.elementCount(),
                Decode<To>{dense.as<std::uint8_t>(), bitsOf(in.dtype), table.as<To>(), out.as<To>()});
    });
}

/// There are no kernels that round to narrow dtypes. The first dtype is that of the tensor to convert.
bool supportsCast(std::span<const DType> dtypes) {
    return dtypes.empty() || std::none_of(dtypes.begin() + 1, dtypes.end(), isNarrow);
}

std::size_t bytesToConvert(DType dtype, const TensorView& in) {
    return !in.data || (in.dtype == dtype && isDense(in))
               ? 0
               : static_cast<std::size_t>(in.shape.byteCount(dtype));
}

void castKernel(const KernelCall& call) { convertView(call.queue, call.inputs[0], call.outputs[0]); }

void bitCastKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.dtype == DType::boolean) return castKernel(call); // a bool is 0 or 1, whatever the byte is
    TensorView bits = call.inputs[0];
    bits.dtype = out.dtype;
    copyView(call.queue, bits, out);
}

} // namespace

void convertView(Queue& queue, const TensorView& in, const TensorView& out) {
    if (in.dtype == out.dtype) return copyView(queue, in, out);
    if (isNarrow(in.dtype)) return convertFromNarrow(queue, in, out);
    withAny(in.dtype, [&](auto from) { convertFrom<decltype(from)>(queue, in, out); });
}

ConvertedView::ConvertedView(Queue& queue, DType dtype, const TensorView& in)
    : m_copy(queue, bytesToConvert(dtype, in)), m_view(in) {
    if (!in.data) return;
    m_view.strides = denseStrides(in.shape);
    m_view.dtype = dtype;
    if (in.dtype == dtype && isDense(in)) return;
    m_view.data = m_copy.data();
    convertView(queue, in, m_view);
}

void addCastKernels(KernelMap& table) {
    add(table, "Cast", castKernel, supportsCast);
    add(table, "CastLike", castKernel, supportsCast);
    add(table, "BitCast", bitCastKernel);
}

} // namespace twb::cuda
