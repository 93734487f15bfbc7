#include "backends/cpu/low_precision.h"
#include "backends/cpu/onednn_context.h"
#include "backends/cpu/parallel.h"
#include "core/tensor.h"

#include <unordered_map>
#include <utility>

namespace twb {
namespace {

using dnnl::memory;
using namespace onednn;

memory::data_type lowType(DType dtype) {
    switch (dtype) {
    case DType::u8:
        return memory::data_type::u8;
    case DType::i8:
        return memory::data_type::s8;
    case DType::i32:
        return memory::data_type::s32;
    default:
        return typeOf(dtype);
    }
}

/// A primitive with constant weights, and the reorders between the given layouts and its own.
class Packed final : public LowPrecisionKernel {
public:
    /// `w` and `bias` are copied. Throws dnnl::error.
    template <class Primitive>
    Packed(std::in_place_type_t<Primitive>, const typename Primitive::primitive_desc& described,
           const memory::desc& x, const memory::desc& y, const memory::desc& w, const void* weights,
           const memory::desc& b, const void* bias)
        : m_primitive(described), m_x(handle(x)), m_y(handle(y)) {
        const memory::desc ownX = described.src_desc();
        const memory::desc ownY = described.dst_desc();
        m_scratchDesc = described.scratchpad_desc();
        const memory packed = copyOf(w, weights, described.weights_desc());
        m_arguments = {{DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_SRC, m_x}, {DNNL_ARG_DST, m_y}};
        if (bias) m_arguments.emplace(DNNL_ARG_BIAS, copyOf(b, bias, b));
        if (!(x == ownX)) m_reorderX = reorderBetween(x, ownX);
        if (!(y == ownY)) m_reorderY = reorderBetween(ownY, y);
        m_ownX = ownX;
        m_ownY = ownY;
    }

    void run(const void* x, void* y) override {
        m_x.set_data_handle(const_cast<void*>(x)); // oneDNN uses one type for inputs and outputs
        m_y.set_data_handle(y);
        const BufferPtr scratch = room(m_scratchDesc);
        if (scratch) m_arguments[DNNL_ARG_SCRATCHPAD] = memory(m_scratchDesc, engine(), scratch->data());
        const BufferPtr copyX = m_reorderX ? room(m_ownX) : nullptr;
        const BufferPtr copyY = m_reorderY ? room(m_ownY) : nullptr;
        if (copyX) {
            m_arguments[DNNL_ARG_SRC] = memory(m_ownX, engine(), copyX->data());
            m_reorderX.execute(stream(), m_x, m_arguments[DNNL_ARG_SRC]);
        }
        if (copyY) m_arguments[DNNL_ARG_DST] = memory(m_ownY, engine(), copyY->data());
        m_primitive.execute(stream(), m_arguments);
        if (copyY) m_reorderY.execute(stream(), m_arguments[DNNL_ARG_DST], m_y);
        stream().wait();
    }

private:
    static memory handle(const memory::desc& desc) { return {desc, engine(), nullptr}; }
    static dnnl::reorder reorderBetween(const memory::desc& from, const memory::desc& to) {
        return dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
    }
    /// A copy in another layout, which this object owns.
    memory copyOf(const memory::desc& desc, const void* data, const memory::desc& layout) {
        m_owned.push_back(room(layout));
        memory given(desc, engine(), const_cast<void*>(data)); // oneDNN uses one type for inputs and outputs
        memory copy(layout, engine(), m_owned.back()->data());
        dnnl::reorder(given, copy).execute(stream(), given, copy);
        stream().wait();
        return copy;
    }

    dnnl::primitive m_primitive;
    memory m_x, m_y; ///< layouts of the given tensors
    memory::desc m_ownX, m_ownY, m_scratchDesc;
    dnnl::reorder m_reorderX, m_reorderY;
    std::unordered_map<int, memory> m_arguments;
    std::vector<BufferPtr> m_owned;
};

/// A product of bytes whose zero point is subtracted afterwards: with a zero point, oneDNN adds in f32, where
/// large sums are rounded.
class ShiftedProduct final : public LowPrecisionKernel {
public:
    /// `w` as in ConstantProduct.
    ShiftedProduct(std::unique_ptr<LowPrecisionKernel> product, const ConstantProduct& p,
                   const std::int8_t* w)
        : m_product(std::move(product)), m_rows(p.rows), m_shift(static_cast<std::size_t>(p.columns), 0) {
        for (std::int64_t k = 0; k < p.inner; ++k)
            for (std::int64_t n = 0; n < p.columns; ++n)
                m_shift[static_cast<std::size_t>(n)] += p.xZero * w[k * p.rowStride + n * p.columnStride];
    }

    void run(const void* x, void* y) override {
        m_product->run(x, y);
        const auto columns = static_cast<std::int64_t>(m_shift.size());
        const std::int32_t* const shift = m_shift.data();
        parallelRanges(m_rows, m_rows * columns, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                auto* const to = static_cast<std::int32_t*>(y) + row * columns;
#pragma omp simd
                for (std::int64_t n = 0; n < columns; ++n) to[n] -= shift[n];
            }
        });
    }

private:
    std::unique_ptr<LowPrecisionKernel> m_product;
    std::int64_t m_rows;
    std::vector<std::int32_t> m_shift; ///< by column
};

/// Whether oneDNN uses these instructions: its sets are bits, and each contains those of its predecessors.
bool hasInstructions(dnnl::cpu_isa wanted) {
    const auto bits = static_cast<unsigned>(wanted);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

#if DNNL_VERSION_MAJOR < 3
memory::desc weightsOf(const Convolution& s) {
    memory::dims dims{s.groups, s.outChannels, s.inChannels};
    for (const WindowAxis& axis : s.window.axes) dims.push_back(axis.kernel);
    if (s.groups == 1) dims.erase(dims.begin());
    return {dims, memory::data_type::s8, denseStrides(Shape(dims))};
}
#endif

} // namespace

bool hasBFloat16Products() {
    static const bool has = hasInstructions(dnnl::cpu_isa::avx512_core_bf16);
    return has;
}

bool hasByteProducts() {
    static const bool has =
        hasInstructions(dnnl::cpu_isa::avx2_vnni) || hasInstructions(dnnl::cpu_isa::avx512_core_vnni);
    return has;
}

#if DNNL_VERSION_MAJOR >= 3
/// oneDNN 3 scales the sums before it adds the bias, which rounds otherwise than ONNX; it has no primitive
/// with the bias in the sums.
std::unique_ptr<LowPrecisionKernel> makeKernel(const ByteConvolution&, const std::int8_t*,
                                               const std::int32_t*) {
    return nullptr;
}
#else
std::unique_ptr<LowPrecisionKernel> makeKernel(const ByteConvolution& c, const std::int8_t* w,
                                               const std::int32_t* bias) try {
    const Convolution& s = c.sizes;
    if (!hasByteProducts() || s.window.rank() > 3 || s.inChannels < 1 || s.outChannels < 1) return nullptr;
    const memory::dims in = dimsOf(s.window, &WindowAxis::in);
    const memory::dims out = dimsOf(s.window, &WindowAxis::out);
    const std::int64_t channels = s.groups * s.outChannels;
    const auto x = [&](bool last) {
        return planes(s.batch, s.groups * s.inChannels, in, lowType(c.x), last);
    };
    const auto y = [&](bool last) { return planes(s.batch, channels, out, lowType(c.y), last); };
    const memory::desc weights = weightsOf(s);
    const memory::desc b =
        bias ? memory::desc({channels}, memory::data_type::s32, memory::format_tag::a) : memory::desc();
    const Slide slide = slideOf(s.window);
    dnnl::primitive_attr attributes = ownScratch();
    attributes.set_output_scales(c.scales.size() > 1 ? 1 << 1 : 0, c.scales);
    if (c.xZero != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {c.xZero});
    if (c.yZero != 0) {
        // oneDNN rounds after it adds the zero point, which would move halves to the other even number.
        dnnl::post_ops rounding;
        appendActivation(rounding, dnnl::algorithm::eltwise_round, 0, 0);
        attributes.set_post_ops(rounding);
        attributes.set_zero_points(DNNL_ARG_DST, 0, {c.yZero});
    }
    using P = dnnl::convolution_forward;
    const auto use = dnnl::prop_kind::forward_inference;
    const auto kind = dnnl::algorithm::convolution_direct;
    // Primitives for bytes work on channels-last tensors.
    const auto described = bias ? describe<P>(attributes, use, kind, x(true), anyLayout(weights), b, y(true),
                                              slide.strides, slide.dilations, slide.padBegin, slide.padEnd)
                                : describe<P>(attributes, use, kind, x(true), anyLayout(weights), y(true),
                                              slide.strides, slide.dilations, slide.padBegin, slide.padEnd);
    if (isReference(described.impl_info_str())) return nullptr;
    return std::make_unique<Packed>(std::in_place_type<P>, described, x(c.xChannelsLast), y(c.yChannelsLast),
                                    weights, w, b, bias);
} catch (const dnnl::error&) {
    return nullptr;
}
#endif

std::unique_ptr<LowPrecisionKernel> makeKernel(const ConstantProduct& p, const void* w,
                                               const float* bias) try {
    const bool isBFloat16 = p.x == DType::bf16;
    if (!(isBFloat16 ? hasBFloat16Products() : hasByteProducts())) return nullptr;
    if (p.rows < 1 || p.inner < 1 || p.columns < 1) return nullptr;
    // oneDNN multiplies i8 as u8 and corrects the sums in f32, which rounds those from 2^24 on.
    if (p.x == DType::i8 && p.inner > (1 << 24) / (255 * 128)) return nullptr;
    const memory::desc x({p.rows, p.inner}, lowType(p.x), memory::format_tag::ab);
    const memory::desc weights({p.inner, p.columns}, lowType(isBFloat16 ? DType::bf16 : DType::i8),
                               memory::dims{p.rowStride, p.columnStride});
    const memory::desc y({p.rows, p.columns}, lowType(isBFloat16 ? DType::bf16 : DType::i32),
                         memory::format_tag::ab);
    dnnl::primitive_attr attributes = ownScratch();
    using P = dnnl::matmul;
    const memory::desc b =
        bias ? memory::desc({1, p.columns}, memory::data_type::f32, memory::format_tag::ab) : memory::desc();
    const auto described = bias ? describe<P>(attributes, x, anyLayout(weights), b, y)
                                : describe<P>(attributes, x, anyLayout(weights), y);
    if (isReference(described.impl_info_str())) return nullptr;
    auto product = std::make_unique<Packed>(std::in_place_type<P>, described, x, y, weights, w, b, bias);
    if (p.xZero == 0) return product;
    return std::make_unique<ShiftedProduct>(std::move(product), p, static_cast<const std::int8_t*>(w));
} catch (const dnnl::error&) {
    return nullptr;
}

} // namespace twb
