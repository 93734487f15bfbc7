#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "core/error.h"
#include "ops/schema.h"

#include <cmath>
#include <type_traits>

namespace twb::cuda {
namespace {

/// The index of an element's scale: one for the tensor, one per index along an axis, or one per block along
/// it.
struct ScalePlaces {
    Divide inner, length;
    std::int64_t block = 0;
    bool perAxis = false;

    explicit ScalePlaces(const KernelCall& call) {
        const Shape& x = call.inputs[0].shape;
        const std::int64_t total = x.elementCount();
        block = call.attributes.integer("block_size");
        perAxis = block == 0 && call.inputs[1].elementCount() != 1;
        std::int64_t behind = 1;
        std::int64_t along = 1;
        if ((block > 0 || perAxis) && x.rank() > 0) {
            const int axis = *normalizeAxis(call.attributes.integer("axis"), x.rank());
            along = x[axis];
            for (int i = axis + 1; i < x.rank(); ++i) behind *= x[i];
        }
        inner = Divide(behind, total);
        length = Divide(along, total);
    }

    TWB_HOST_DEVICE std::int64_t of(std::int64_t i) const {
        if (block == 0 && !perAxis) return 0;
        const std::int64_t row = inner(i);
        const std::int64_t outer = length(row);
        const std::int64_t place = row - outer * length.divisor();
        if (perAxis) return place;
        const std::int64_t blocks = (length.divisor() + block - 1) / block;
        return (outer * blocks + place / block) * inner.divisor() + i - row * inner.divisor();
    }
};

TWB_HOST_DEVICE inline float roundedTo(DType dtype, float x) {
    if (dtype == DType::f16) return static_cast<float>(Half(x));
    if (dtype == DType::bf16) return static_cast<float>(BFloat16(x));
    return x;
}

/// Rounds halves to even and saturates. NaN becomes 0.
template <class T> TWB_HOST_DEVICE T saturate(float x) { return element::cast<T>(std::nearbyint(x)); }

template <class T> struct Quantize {
    ScalePlaces places;
    const float *x, *scale;
    const std::int32_t* zero; ///< null: 0
    DType precision;
    T* y;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t at = places.of(i);
        const float quotient = std::nearbyint(roundedTo(precision, x[i] / scale[at]));
        y[i] = saturate<T>(zero ? quotient + static_cast<float>(zero[at]) : quotient);
    }
};

template <class F> void withQuantized(DType dtype, const F& f) {
    withInteger(dtype, [&](auto zero) {
        if constexpr (sizeof(zero) <= 2) f(zero);
    });
}

void quantizeKernel(const KernelCall& call) {
    const ConvertedView x(call.queue, DType::f32, call.inputs[0]);
    const ConvertedView scale(call.queue, DType::f32, call.inputs[1]);
    const ConvertedView zero(call.queue, DType::i32, call.input(2));
    const DType precision =
        call.attributes.has("precision") ? dtypeOf(call.attributes, "precision") : call.inputs[1].dtype;
    withQuantized(call.outputs[0].dtype, [&](auto none) {
        using T = decltype(none);
        forEach(call.queue, call.outputs[0].elementCount(),
                Quantize<T>{ScalePlaces(call), x.as<float>(), scale.as<float>(), zero.as<std::int32_t>(),
                            precision, call.outputs[0].as<T>()});
    });
}

/// X is i32, or f32 for narrow dtypes. The difference of two i32 may need 64 bits.
template <class T, class X> struct Dequantize {
    using Difference = std::conditional_t<std::is_same_v<X, float>, float, std::int64_t>;
    ScalePlaces places;
    const X* x;
    const float* scale;
    const X* zero;
    T* y;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t at = places.of(i);
        const Difference shifted = Difference{x[i]} - (zero ? zero[at] : X{0});
        y[i] = stored<T>(static_cast<float>(shifted) * scale[at]);
    }
};

template <class X> void dequantizeFrom(const KernelCall& call) {
    const ConvertedView x(call.queue, DTypeOf<X>::value, call.inputs[0]);
    const ConvertedView scale(call.queue, DType::f32, call.inputs[1]);
    const ConvertedView zero(call.queue, DTypeOf<X>::value, call.input(2));
    withStoredFloat(call.outputs[0].dtype, [&](auto none) {
        using T = decltype(none);
        if constexpr (!std::is_same_v<T, double>)
            forEach(call.queue, call.outputs[0].elementCount(),
                    Dequantize<T, X>{ScalePlaces(call), x.as<X>(), scale.as<float>(), zero.as<X>(),
                                     call.outputs[0].as<T>()});
    });
}

void dequantizeKernel(const KernelCall& call) {
    isNarrow(call.inputs[0].dtype) ? dequantizeFrom<float>(call) : dequantizeFrom<std::int32_t>(call);
}

// DynamicQuantizeLinear

struct Extent {
    float low = 0, high = 0;
};

struct WidenExtent {
    TWB_HOST_DEVICE void merge(Extent& state, const Extent& other) const {
        if (other.low < state.low) state.low = other.low;
        if (other.high > state.high) state.high = other.high;
    }
};

/// The range is extended to include 0, which is then exact. An empty range gets scale 1.
struct FindExtent {
    const float* x;
    std::int64_t count, part;
    Extent* extents;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        Extent own;
        const std::int64_t end = (row + 1) * part < count ? (row + 1) * part : count;
        for (std::int64_t i = row * part + team.index(); i < end; i += team.size())
            WidenExtent{}.merge(own, {x[i], x[i]});
        own = team.merged(WidenExtent{}, own);
        if (team.isFirst()) extents[row] = own;
    }
};

struct StoreScale {
    const Extent* extents;
    std::int64_t parts;
    float* scale;
    std::uint8_t* zero;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t) const {
        Extent own;
        for (std::int64_t i = team.index(); i < parts; i += team.size()) WidenExtent{}.merge(own, extents[i]);
        own = team.merged(WidenExtent{}, own);
        if (!team.isFirst()) return;
        *scale = own.high == own.low ? 1.0F : (own.high - own.low) / 255.0F;
        *zero = saturate<std::uint8_t>(-own.low / *scale);
    }
};

struct QuantizeDynamically {
    const float *x, *scale;
    const std::uint8_t* zero;
    std::uint8_t* y;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        y[i] = saturate<std::uint8_t>(std::nearbyint(x[i] / *scale) + static_cast<float>(*zero));
    }
};

void dynamicKernel(const KernelCall& call) {
    const ConvertedView x(call.queue, DType::f32, call.inputs[0]);
    const std::int64_t count = x.view().elementCount();
    constexpr std::int64_t part = 16384;
    const std::int64_t parts = std::max<std::int64_t>((count + part - 1) / part, 1);
    const Scratch extents(call.queue, static_cast<std::size_t>(parts) * sizeof(Extent));
    auto* const scale = call.outputs[1].as<float>();
    auto* const zero = call.outputs[2].as<std::uint8_t>();
    forEachRow(call.queue, parts, part, FindExtent{x.as<float>(), count, part, extents.as<Extent>()});
    forEachRow(call.queue, 1, parts, StoreScale{extents.as<Extent>(), parts, scale, zero});
    forEach(call.queue, count,
            QuantizeDynamically{x.as<float>(), scale, zero, call.outputs[0].as<std::uint8_t>()});
}

} // namespace

void addQuantizationKernels(KernelMap& table) {
    add(table, "QuantizeLinear", quantizeKernel);
    add(table, "DequantizeLinear", dequantizeKernel, supportsAll);
    add(table, "DynamicQuantizeLinear", dynamicKernel);
}

} // namespace twb::cuda
