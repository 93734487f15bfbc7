#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_context.h"
#include "backends/cpu/strided.h"
#include "core/tensor.h"

#include <bit>
#include <string_view>
#include <unordered_map>

namespace twb::onednn {
namespace {

/// The key of a primitive; never the contents of tensors.
struct Wanted {
    DType dtype = DType::f32;
    bool hasBias = false;
    bool transposed = false;
    bool xChannelsLast = false;
    bool yChannelsLast = false;
};

/// A convolution for one set of sizes. Safe to run from several threads at a time: every run has its own
/// scratch memory.
struct Prepared {
    bool exists = false; ///< oneDNN has a suitable primitive
    dnnl::primitive primitive;
    memory::desc x, w, bias, y;                      ///< layouts of the given tensors
    memory::desc primitiveX, primitiveW, primitiveY; ///< layouts that the primitive prefers
    dnnl::reorder reorderX, reorderW, reorderY;
    memory::desc scratch;

    /// Whether the primitive is better than a reference loop, and is kept.
    template <class Primitive> bool keep(const typename Primitive::primitive_desc& described) {
        if (isReference(described.impl_info_str())) return false;
        primitive = Primitive(described);
        primitiveX = described.src_desc();
        primitiveW = described.weights_desc();
        primitiveY = described.dst_desc();
        scratch = described.scratchpad_desc();
        return true;
    }
    /// Makes the reorders between the layouts.
    void connect() try {
        const auto between = [&](const memory::desc& from, const memory::desc& to) {
            if (from == to) return dnnl::reorder();
            const dnnl::reorder::primitive_desc described(engine(), from, engine(), to, ownScratch());
            if (described.scratchpad_desc().get_size() > scratch.get_size())
                scratch = described.scratchpad_desc();
            return dnnl::reorder(described);
        };
        reorderX = between(x, primitiveX);
        reorderW = between(w, primitiveW);
        reorderY = between(primitiveY, y);
    } catch (const dnnl::error&) {
        exists = false;
    }
    static dnnl::primitive_attr ownScratch() {
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return attributes;
    }
};

/// w of convolution.h. oneDNN expects the channels of the result first; for the transpose these are the inner
/// ones.
memory::desc weights(const Convolution& s, memory::data_type type, bool transposed) {
    memory::dims dims{s.groups, s.outChannels, s.inChannels};
    for (const WindowAxis& axis : s.window.axes) dims.push_back(axis.kernel);
    memory::dims strides = denseStrides(Shape(dims));
    if (transposed) {
        std::swap(dims[1], dims[2]);
        std::swap(strides[1], strides[2]);
    }
    if (s.groups == 1) {
        dims.erase(dims.begin());
        strides.erase(strides.begin());
    }
    return {dims, type, strides};
}

memory::desc anyLayout(const memory::desc& desc) {
    return {desc.dims(), desc.data_type(), memory::format_tag::any};
}

/// Whether blocked layouts, which require copies of the tensors, save more time than the copies cost. With
/// plain layouts the convolution runs as a matrix product, which costs a share of the arithmetic; the copies
/// cost a share of the memory traffic.
bool copiesPay(const Convolution& s) {
    const auto product = [](auto... f) { return (static_cast<double>(f) * ...); };
    const double x = product(s.batch, s.groups, s.inChannels, s.window.inCount());
    const double y = product(s.batch, s.groups, s.outChannels, s.window.outCount());
    const double w = product(s.groups, s.outChannels, s.inChannels, s.window.tapCount());
    const double work = y * product(s.inChannels, s.window.tapCount());
    // With few channels per group the matrices are too thin for a product.
    if (s.inChannels * s.window.tapCount() < 32 || s.outChannels < 8) return true;
    return work > 64 * (x + y + w);
}

std::shared_ptr<const Prepared> prepare(const Convolution& s, const Wanted& wanted) {
    auto made = std::make_shared<Prepared>();
    const auto type = typeOf(wanted.dtype);
    const bool transposed = wanted.transposed;
    const bool hasBias = wanted.hasBias;
    const std::int64_t outer = s.groups * s.outChannels;
    const std::int64_t inner = s.groups * s.inChannels;
    const auto small = [&](bool last) {
        return planes(s.batch, outer, dimsOf(s.window, &WindowAxis::out), type, last);
    };
    const auto large = [&](bool last) {
        return planes(s.batch, inner, dimsOf(s.window, &WindowAxis::in), type, last);
    };
    made->x = transposed ? small(wanted.xChannelsLast) : large(wanted.xChannelsLast);
    made->y = transposed ? large(wanted.yChannelsLast) : small(wanted.yChannelsLast);
    made->w = weights(s, type, transposed);
    if (hasBias) made->bias = {{transposed ? inner : outer}, type, memory::format_tag::a};
    memory::dims dilations = dimsOf(s.window, &WindowAxis::dilation);
    for (auto& dilation : dilations) --dilation;
    const memory::dims strides = dimsOf(s.window, &WindowAxis::stride);
    const memory::dims padBegin = dimsOf(s.window, &WindowAxis::padBegin);
    // The elements that are read after the end. Windows may leave the last elements unread, which is a
    // negative pad.
    memory::dims padEnd;
    for (const WindowAxis& axis : s.window.axes)
        padEnd.push_back((axis.out - 1) * axis.stride + axis.reach() - axis.in - axis.padBegin);
    const dnnl::primitive_attr attributes = Prepared::ownScratch();
    const auto make = [&](const memory::desc& x, const memory::desc& w, const memory::desc& y) {
        using Inference = dnnl::prop_kind;
        try {
            if (transposed) {
                using P = dnnl::deconvolution_forward;
                const auto kind = dnnl::algorithm::deconvolution_direct;
                const P::desc desc = hasBias ? P::desc(Inference::forward_inference, kind, x, w, made->bias,
                                                       y, strides, dilations, padBegin, padEnd)
                                             : P::desc(Inference::forward_inference, kind, x, w, y, strides,
                                                       dilations, padBegin, padEnd);
                return made->keep<P>({desc, attributes, engine()});
            }
            using P = dnnl::convolution_forward;
            const auto kind = dnnl::algorithm::convolution_direct;
            const P::desc desc = hasBias ? P::desc(Inference::forward_inference, kind, x, w, made->bias, y,
                                                   strides, dilations, padBegin, padEnd)
                                         : P::desc(Inference::forward_inference, kind, x, w, y, strides,
                                                   dilations, padBegin, padEnd);
            return made->keep<P>({desc, attributes, engine()});
        } catch (const dnnl::error&) {
            return false;
        }
    };
    const auto blocked = [&] { return make(anyLayout(made->x), anyLayout(made->w), anyLayout(made->y)); };
    const auto plain = [&] { return make(made->x, made->w, made->y); };
    // A channels-last tensor need not be copied.
    const auto channelsLast = [&] {
        return make(wanted.xChannelsLast ? made->x : anyLayout(made->x), anyLayout(made->w),
                    wanted.yChannelsLast ? made->y : anyLayout(made->y));
    };
    if (wanted.xChannelsLast || wanted.yChannelsLast)
        made->exists = channelsLast() || blocked();
    else
        made->exists = copiesPay(s) ? blocked() || plain() : plain() || blocked();
    if (made->exists) made->connect();
    return made;
}

dnnl::post_ops opsOf(const ProductEnding& ending) {
    using dnnl::algorithm;
    const auto kind = [&] {
        switch (ending.activation) {
        case ProductActivation::gelu:
            return algorithm::eltwise_gelu_erf;
        case ProductActivation::geluTanh:
            return algorithm::eltwise_gelu_tanh;
        case ProductActivation::swish:
            return algorithm::eltwise_swish;
        case ProductActivation::hardSwish:
            return algorithm::eltwise_hardswish;
        case ProductActivation::leakyRelu:
            return algorithm::eltwise_relu;
        case ProductActivation::none:
            break;
        }
        return algorithm::undef;
    }();
    dnnl::post_ops out;
    if (kind != algorithm::undef) out.append_eltwise(1, kind, ending.alpha, 0);
    return out;
}

/// A product as a convolution with windows of one element: rows are the positions of a channels-last image.
std::shared_ptr<const Prepared> prepare(const WeightedProduct& s) try {
    auto made = std::make_shared<Prepared>();
    const auto type = memory::data_type::f32;
    made->x = planes(1, s.inner, {s.rows}, type, true);
    made->y = planes(1, s.columns, {s.rows}, type, true);
    const memory::dims strides = s.transposed ? memory::dims{s.stride, 1, 1} : memory::dims{1, s.stride, 1};
    made->w = {{s.columns, s.inner, 1}, type, strides};
    if (s.hasBias) made->bias = {{s.columns}, type, memory::format_tag::a};
    using P = dnnl::convolution_forward;
    const auto use = dnnl::prop_kind::forward_inference;
    const auto kind = dnnl::algorithm::convolution_direct;
    const memory::desc w = anyLayout(made->w);
    const P::desc desc = s.hasBias ? P::desc(use, kind, made->x, w, made->bias, made->y, {1}, {0}, {0})
                                   : P::desc(use, kind, made->x, w, made->y, {1}, {0}, {0});
    dnnl::primitive_attr attributes = Prepared::ownScratch();
    attributes.set_post_ops(opsOf(s.ending));
    made->exists = made->keep<P>({desc, attributes, engine()});
    if (made->exists) made->connect();
    return made;
} catch (const dnnl::error&) {
    return std::make_shared<Prepared>();
}

std::shared_ptr<const Prepared> prepared(const Convolution& s, const Wanted& wanted) {
    static Cache<Prepared> cache;
    Key key{static_cast<std::int64_t>(wanted.dtype),
            wanted.hasBias,
            wanted.transposed,
            wanted.xChannelsLast,
            wanted.yChannelsLast,
            s.batch,
            s.groups,
            s.inChannels,
            s.outChannels};
    append(key, s.window);
    return cache.find(std::move(key), [&] { return prepare(s, wanted); });
}

/// A primitive with handles of its memory. Making these takes longer than running a small primitive.
class Convolving final : public NativeConvolution {
public:
    explicit Convolving(std::shared_ptr<const Prepared> prepared)
        : m_prepared(std::move(prepared)), m_x(handle(m_prepared->x)), m_w(handle(m_prepared->w)),
          m_bias(handle(m_prepared->bias)), m_y(handle(m_prepared->y)),
          m_scratch(handle(m_prepared->scratch)) {
        m_arguments = {{DNNL_ARG_SRC, m_x}, {DNNL_ARG_WEIGHTS, m_w}, {DNNL_ARG_DST, m_y}};
        if (m_bias) m_arguments.emplace(DNNL_ARG_BIAS, m_bias);
        if (m_scratch) m_arguments.emplace(DNNL_ARG_SCRATCHPAD, m_scratch);
    }

    void run(const void* x, const void* w, const void* bias, void* y, bool constantWeights) override {
        const Prepared& p = *m_prepared;
        const BufferPtr scratch = room(p.scratch);
        if (scratch) m_scratch.set_data_handle(scratch->data());
        // oneDNN uses one type for both inputs and outputs.
        m_x.set_data_handle(const_cast<void*>(x));
        m_w.set_data_handle(const_cast<void*>(w));
        m_y.set_data_handle(y);
        if (bias) m_bias.set_data_handle(const_cast<void*>(bias));
        BufferPtr xCopy;
        BufferPtr wCopy;
        BufferPtr yCopy;
        if (p.reorderX) reorder(p.reorderX, m_x, argument(DNNL_ARG_SRC, p.primitiveX, xCopy));
        if (p.reorderW && !m_packed)
            reorder(p.reorderW, m_w, argument(DNNL_ARG_WEIGHTS, p.primitiveW, wCopy));
        if (p.reorderY) argument(DNNL_ARG_DST, p.primitiveY, yCopy);
        p.primitive.execute(stream(), m_arguments);
        if (p.reorderY) reorder(p.reorderY, m_arguments[DNNL_ARG_DST], m_y);
        stream().wait();
        if (constantWeights && !m_packed) m_packed = std::move(wCopy);
    }

private:
    /// A handle without memory; null for an empty descriptor.
    static memory handle(const memory::desc& desc) {
        return desc.get_size() == 0 ? memory() : memory(desc, engine(), nullptr);
    }
    /// Passes `copy` to the primitive as an argument.
    const memory& argument(int which, const memory::desc& desc, BufferPtr& copy) {
        copy = room(desc);
        return m_arguments[which] = memory(desc, engine(), copy->data());
    }
    void reorder(const dnnl::reorder& how, const memory& from, const memory& to) {
        std::unordered_map<int, memory> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
        if (m_scratch) arguments.emplace(DNNL_ARG_SCRATCHPAD, m_scratch);
        how.execute(stream(), arguments);
    }

    std::shared_ptr<const Prepared> m_prepared;
    memory m_x, m_w, m_bias, m_y, m_scratch; ///< layouts of the given tensors
    std::unordered_map<int, memory> m_arguments;
    BufferPtr m_packed; ///< constant weights in the primitive's layout
};

std::unique_ptr<NativeConvolution> convolving(std::shared_ptr<const Prepared> made) {
    return made->exists ? std::make_unique<Convolving>(std::move(made)) : nullptr;
}

std::unique_ptr<NativeConvolution> make(const Convolution& sizes, const Wanted& wanted) {
    return sizes.window.rank() > 3 ? nullptr : convolving(prepared(sizes, wanted));
}

} // namespace

std::unique_ptr<NativeConvolution> makeConvolution(const Convolution& sizes, const TensorView& x,
                                                   const TensorView& bias, const TensorView& y) {
    // A view may have both layouts; then the other tensor decides.
    const bool channelsLast = !isDense(x) || !isDense(y);
    return make(sizes, {.dtype = y.dtype,
                        .hasBias = bias.data != nullptr,
                        .xChannelsLast = channelsLast && isChannelsLast(x),
                        .yChannelsLast = channelsLast && isChannelsLast(y)});
}

std::unique_ptr<NativeConvolution> makeProduct(const WeightedProduct& s) {
    static Cache<Prepared> cache;
    Key key{s.rows,
            s.inner,
            s.columns,
            s.stride,
            s.transposed,
            s.hasBias,
            static_cast<std::int64_t>(s.ending.activation),
            std::bit_cast<std::int32_t>(s.ending.alpha)};
    return convolving(cache.find(std::move(key), [&] { return prepare(s); }));
}

bool convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y) {
    const auto convolution = make(sizes, {.hasBias = bias != nullptr, .transposed = true});
    if (!convolution) return false;
    convolution->run(x, w, bias, y, false);
    return true;
}

} // namespace twb::onednn
