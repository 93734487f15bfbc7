#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_context.h"
#include "core/shape.h"

#include <optional>
#include <unordered_map>

namespace twb::onednn {
namespace {

/// One tensor of the primitive: row-major as it is given, and in the primitive's layout.
struct Operand {
    memory::desc given;
    memory::desc wanted{};
    dnnl::reorder reorder{}; ///< between these; empty if they are equal

    explicit Operand(const memory::desc& desc) : given(desc) {}
    memory::desc anyLayout() const { return onednn::anyLayout(given); }
};

/// The gradient of the weights of a convolution. Safe to run from several threads at a time.
class WeightGradient {
public:
    /// Throws dnnl::error if oneDNN does not support the sizes.
    explicit WeightGradient(const Convolution& s)
        : m_x(given(s, s.inChannels, &WindowAxis::in)), m_dy(given(s, s.outChannels, &WindowAxis::out)),
          m_dw(givenWeights(s)) {
        const Slide slide = slideOf(s.window);
        const auto kind = dnnl::algorithm::convolution_direct;
        const dnnl::primitive_attr attributes = ownScratch();
        const memory::desc x = m_x.anyLayout();
        const memory::desc dw = m_dw.anyLayout();
        const memory::desc dy = m_dy.anyLayout();
        using Backward = dnnl::convolution_backward_weights;
        const auto forward = describe<dnnl::convolution_forward>(
            dnnl::primitive_attr(), dnnl::prop_kind::forward_training, kind, x, dw, dy, slide.strides,
            slide.dilations, slide.padBegin, slide.padEnd);
        const auto described = describeBackward<Backward>(forward, attributes, kind, x, dw, dy, slide.strides,
                                                          slide.dilations, slide.padBegin, slide.padEnd);
        m_isFast = !isReference(described.impl_info_str());
        if (!m_isFast) return;
        m_primitive = Backward(described);
        m_scratch = described.scratchpad_desc();
        m_x.wanted = described.src_desc();
        m_dy.wanted = described.diff_dst_desc();
        m_dw.wanted = described.diff_weights_desc();
        const auto connect = [&](Operand& operand, const memory::desc& from, const memory::desc& to) {
            if (from == to) return;
            const dnnl::reorder::primitive_desc reorder(engine(), from, engine(), to, attributes);
            if (reorder.scratchpad_desc().get_size() > m_scratch.get_size())
                m_scratch = reorder.scratchpad_desc();
            operand.reorder = dnnl::reorder(reorder);
        };
        connect(m_x, m_x.given, m_x.wanted);
        connect(m_dy, m_dy.given, m_dy.wanted);
        connect(m_dw, m_dw.wanted, m_dw.given);
    }

    /// Whether the primitive is better than a reference loop.
    bool isFast() const { return m_isFast; }

    void run(const float* x, const float* dy, float* dw) const {
        const BufferPtr scratchRoom = room(m_scratch);
        const memory scratch = scratchRoom ? memory(m_scratch, engine(), scratchRoom->data()) : memory();
        const auto reorder = [&](const Operand& operand, const memory& from, const memory& to) {
            std::unordered_map<int, memory> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
            if (scratch) arguments.emplace(DNNL_ARG_SCRATCHPAD, scratch);
            operand.reorder.execute(stream(), arguments);
        };
        std::vector<BufferPtr> copies;
        const auto inPrimitivesLayout = [&](const Operand& operand, const memory& given) {
            if (!operand.reorder) return given;
            copies.push_back(room(operand.wanted));
            return memory(operand.wanted, engine(), copies.back()->data());
        };
        // oneDNN uses one type for both inputs and outputs.
        const auto input = [&](const Operand& operand, const float* data) {
            const memory given(operand.given, engine(), const_cast<float*>(data));
            memory used = inPrimitivesLayout(operand, given);
            if (operand.reorder) reorder(operand, given, used);
            return used;
        };
        const memory given(m_dw.given, engine(), dw);
        const memory result = inPrimitivesLayout(m_dw, given);
        std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, input(m_x, x)},
                                                  {DNNL_ARG_DIFF_DST, input(m_dy, dy)},
                                                  {DNNL_ARG_DIFF_WEIGHTS, result}};
        if (scratch) arguments.emplace(DNNL_ARG_SCRATCHPAD, scratch);
        m_primitive.execute(stream(), arguments);
        if (m_dw.reorder) reorder(m_dw, result, given);
        stream().wait();
    }

private:
    static Operand given(const Convolution& s, std::int64_t channels, std::int64_t WindowAxis::*size) {
        return Operand(
            planes(s.batch, s.groups * channels, dimsOf(s.window, size), memory::data_type::f32, false));
    }
    static Operand givenWeights(const Convolution& s) {
        memory::dims dims{s.outChannels, s.inChannels};
        if (s.groups > 1) dims.insert(dims.begin(), s.groups);
        for (const WindowAxis& axis : s.window.axes) dims.push_back(axis.kernel);
        return Operand({dims, memory::data_type::f32, denseStrides(Shape(dims))});
    }

    Operand m_x, m_dy, m_dw;
    dnnl::primitive m_primitive;
    memory::desc m_scratch;
    bool m_isFast = false;
};

} // namespace

bool convolutionWeights(const Convolution& s, const float* x, const float* dy, float* dw) {
    if (s.window.rank() > 3) return false;
    static Cache<std::optional<WeightGradient>> cache;
    Key key{s.batch, s.groups, s.inChannels, s.outChannels};
    append(key, s.window);
    const auto gradient = cache.find(std::move(key), [&] {
        auto made = std::make_shared<std::optional<WeightGradient>>();
        try {
            made->emplace(s);
            if (!(*made)->isFast()) made->reset();
        } catch (const dnnl::error&) {
            made->reset();
        }
        return made;
    });
    if (!*gradient) return false;
    (*gradient)->run(x, dy, dw);
    return true;
}

} // namespace twb::onednn
