#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_context.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/error.h"
#include "core/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace twb::onednn {
namespace {

/// The key of a primitive; never the contents of tensors.
struct Wanted {
    DType dtype = DType::f32;
    bool hasBias = false;
    bool transposed = false;
    bool xChannelsLast = false;
    bool yChannelsLast = false;
    bool adds = false; ///< a tensor with y's layout
    ProductEnding ending{};
};

/// A convolution for one set of sizes. Safe to run from several threads at a time: every run has its own
/// scratch memory.
struct Prepared {
    bool exists = false; ///< oneDNN has a suitable primitive
    dnnl::primitive primitive;
    bool adds = false;                               ///< the elements that y has before
    memory::desc x, w, bias, y;                      ///< layouts of the given tensors
    memory::desc primitiveX, primitiveW, primitiveY; ///< layouts that the primitive prefers
    dnnl::reorder reorderX, reorderW, reorderAdded, reorderY;
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
        if (adds) reorderAdded = between(y, primitiveY);
        reorderY = between(primitiveY, y);
    } catch (const dnnl::error&) {
        exists = false;
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

/// An activation, after the addition of the elements that y has before. An addition of another tensor would
/// rule out oneDNN's fastest primitives.
dnnl::post_ops opsOf(const ProductEnding& ending, bool adds) {
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
        case ProductActivation::relu:
            return algorithm::eltwise_relu;
        case ProductActivation::clip:
            return algorithm::eltwise_clip;
        case ProductActivation::none:
            break;
        }
        return algorithm::undef;
    }();
    dnnl::post_ops out;
    if (adds) out.append_sum(1);
    if (kind != algorithm::undef) appendActivation(out, kind, ending.alpha, ending.beta);
    return out;
}

/// Whether oneDNN's activation gives a number for NaN: its minimum and maximum do.
bool losesNaN(const ProductEnding& ending) {
    return ending.activation == ProductActivation::relu || ending.activation == ProductActivation::clip;
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
    const Slide slide = slideOf(s.window);
    dnnl::primitive_attr attributes = ownScratch();
    made->adds = wanted.adds;
    attributes.set_post_ops(opsOf(wanted.ending, wanted.adds));
    const auto make = [&](const memory::desc& x, const memory::desc& w, const memory::desc& y) {
        try {
            const auto keep = [&]<class P>(std::in_place_type_t<P>, dnnl::algorithm how) {
                const auto use = dnnl::prop_kind::forward_inference;
                return made->keep<P>(hasBias ? describe<P>(attributes, use, how, x, w, made->bias, y,
                                                           slide.strides, slide.dilations, slide.padBegin,
                                                           slide.padEnd)
                                             : describe<P>(attributes, use, how, x, w, y, slide.strides,
                                                           slide.dilations, slide.padBegin, slide.padEnd));
            };
            return transposed ? keep(std::in_place_type<dnnl::deconvolution_forward>,
                                     dnnl::algorithm::deconvolution_direct)
                              : keep(std::in_place_type<dnnl::convolution_forward>,
                                     dnnl::algorithm::convolution_direct);
        } catch (const dnnl::error&) {
            return false;
        }
    };
    const auto blocked = [&] { return make(anyLayout(made->x), anyLayout(made->w), anyLayout(made->y)); };
    const auto plain = [&] { return make(made->x, made->w, made->y); };
    // A channels-last tensor need not be copied. Only if both are does oneDNN have its fastest primitives.
    const auto channelsLast = [&] {
        return make(transposed ? small(true) : large(true), anyLayout(made->w),
                    transposed ? large(true) : small(true));
    };
    if (wanted.adds) // y must not be copied
        made->exists = channelsLast();
    else if (wanted.xChannelsLast || wanted.yChannelsLast)
        made->exists = channelsLast() || blocked();
    else
        made->exists = copiesPay(s) ? blocked() || plain() : plain() || blocked();
    if (made->exists) made->connect();
    return made;
}

std::shared_ptr<const Prepared> prepared(const Convolution& s, const Wanted& wanted) {
    static Cache<Prepared> cache;
    Key key{static_cast<std::int64_t>(wanted.dtype),
            wanted.hasBias,
            wanted.transposed,
            wanted.xChannelsLast,
            wanted.yChannelsLast,
            wanted.adds,
            static_cast<std::int64_t>(wanted.ending.activation),
            std::bit_cast<std::int32_t>(wanted.ending.alpha),
            std::bit_cast<std::int32_t>(wanted.ending.beta),
            s.batch,
            s.groups,
            s.inChannels,
            s.outChannels};
    append(key, s.window);
    return cache.find(std::move(key), [&] { return prepare(s, wanted); });
}

void copyBytes(const void* from, void* to, std::size_t bytes) {
    const auto total = static_cast<std::int64_t>(bytes);
    parallelRanges(total, total / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                    static_cast<std::size_t>(end - begin));
    });
}

/// A primitive with handles of its memory. Making these takes longer than running a small primitive.
class Convolving final : public NativeConvolution {
public:
    using MakeAlone = std::function<std::unique_ptr<NativeConvolution>()>;

    /// `isWhole`: the primitive does all that was asked for. `makeAlone` makes the direct convolution without
    /// an ending, for tensors with NaN and infinities.
    Convolving(std::shared_ptr<const Prepared> prepared, const ProductEnding& ending, bool isWhole,
               bool constantWeights, MakeAlone makeAlone)
        : m_prepared(std::move(prepared)), m_x(handle(m_prepared->x)), m_w(handle(m_prepared->w)),
          m_bias(handle(m_prepared->bias)), m_y(handle(m_prepared->y)),
          m_scratch(handle(m_prepared->scratch)), m_isWhole(isWhole), m_constantWeights(constantWeights),
          m_losesNaN(losesNaN(ending)), m_makeAlone(std::move(makeAlone)) {
        m_arguments = {{DNNL_ARG_SRC, m_x}, {DNNL_ARG_WEIGHTS, m_w}, {DNNL_ARG_DST, m_y}};
        if (m_bias) m_arguments.emplace(DNNL_ARG_BIAS, m_bias);
        if (m_scratch) m_arguments.emplace(DNNL_ARG_SCRATCHPAD, m_scratch);
    }

    bool run(const Data& data) override {
        if (!m_losesNaN) {
            execute(data);
            return m_isWhole;
        }
        // An earlier op may have set the flags. Only if that happens often is it worth clearing them first.
        if (m_hadNaN) hasMetNaN();
        execute(data);
        if (!m_hadNaN) return m_isWhole;
        if (!m_alone) m_alone = m_makeAlone();
        if (!m_alone) throw Error(ErrorCode::failed, "oneDNN has no primitive for a convolution alone");
        m_alone->runLoaded(data);
        return false;
    }
    bool hasPackedWeights() const override { return m_packed != nullptr; }

private:
    void execute(const Data& data) {
        const Prepared& p = *m_prepared;
        const BufferPtr scratch = room(p.scratch);
        if (scratch) m_scratch.set_data_handle(scratch->data());
        // oneDNN uses one type for both inputs and outputs.
        m_x.set_data_handle(const_cast<void*>(data.x));
        if (!m_packed) m_w.set_data_handle(const_cast<void*>(data.w));
        m_y.set_data_handle(data.y);
        if (m_bias) m_bias.set_data_handle(const_cast<void*>(data.bias));
        if (p.adds && !p.reorderAdded) copyBytes(data.added, data.y, p.y.get_size());
        BufferPtr xCopy;
        BufferPtr wCopy;
        BufferPtr yCopy;
        if (p.reorderX) reorder(p.reorderX, m_x, argument(DNNL_ARG_SRC, p.primitiveX, xCopy));
        if (p.reorderW && !m_packed)
            reorder(p.reorderW, m_w, argument(DNNL_ARG_WEIGHTS, p.primitiveW, wCopy));
        if (p.reorderY) argument(DNNL_ARG_DST, p.primitiveY, yCopy);
        if (p.reorderAdded)
            reorder(p.reorderAdded, memory(p.y, engine(), const_cast<void*>(data.added)),
                    m_arguments[DNNL_ARG_DST]);
        p.primitive.execute(stream(), m_arguments);
        // Now, since a smaller team of threads for the reordering may end some of those that have the flags.
        if (m_losesNaN) m_hadNaN = hasMetNaN();
        if (p.reorderY) reorder(p.reorderY, m_arguments[DNNL_ARG_DST], m_y);
        stream().wait();
        if (m_constantWeights && !m_packed) m_packed = std::move(wCopy);
    }

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
    const bool m_isWhole;
    const bool m_constantWeights;
    const bool m_losesNaN; ///< the ending gives a number for a NaN
    bool m_hadNaN = false; ///< in the last run
    MakeAlone m_makeAlone;
    std::unique_ptr<NativeConvolution> m_alone; ///< null until a NaN is met
};

std::unique_ptr<NativeConvolution> convolving(std::shared_ptr<const Prepared> made,
                                              const ProductEnding& ending, bool isWhole, bool constantWeights,
                                              Convolving::MakeAlone makeAlone = {}) {
    if (!made->exists) return nullptr;
    return std::make_unique<Convolving>(std::move(made), ending, isWhole, constantWeights,
                                        std::move(makeAlone));
}

} // namespace

std::unique_ptr<NativeConvolution>
makeConvolution(const Convolution& sizes, const NativeConvolution::Tensors& t, const ProductEnding& ending) {
    // A view may have both layouts; then the other tensor decides.
    const bool channelsLast = !isDense(t.x) || !isDense(t.y);
    const Wanted alone{.dtype = t.y.dtype,
                       .hasBias = t.bias.data != nullptr,
                       .xChannelsLast = channelsLast && isChannelsLast(t.x),
                       .yChannelsLast = channelsLast && isChannelsLast(t.y)};
    if (sizes.window.rank() > 3) return nullptr;
    Wanted whole = alone;
    whole.adds = t.added.data != nullptr;
    whole.ending = ending;
    const auto makeAlone = [sizes, alone, constant = t.constantWeights] {
        return convolving(prepared(sizes, alone), {}, false, constant);
    };
    if (!whole.adds || (alone.yChannelsLast && isChannelsLast(t.added)))
        if (auto made = convolving(prepared(sizes, whole), ending, true, t.constantWeights, makeAlone))
            return made;
    return makeAlone();
}

bool convolveTransposed(const Convolution& sizes, const float* x, const float* w, const float* bias,
                        float* y) {
    if (sizes.window.rank() > 3) return false;
    const auto convolution =
        convolving(prepared(sizes, {.hasBias = bias != nullptr, .transposed = true}), {}, true, false);
    if (!convolution) return false;
    convolution->run({.x = x, .w = w, .bias = bias, .y = y});
    return true;
}

} // namespace twb::onednn
