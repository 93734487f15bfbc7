#include "backends/cpu/onednn_context.h"

#include "core/tensor.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <unordered_map>
#include <xmmintrin.h>

namespace twb::onednn {

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

dnnl::stream& stream() {
    static thread_local dnnl::stream own(engine());
    return own;
}

memory::data_type typeOf(DType dtype) {
    return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

bool isServed(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

BufferPtr room(const memory::desc& desc) {
    const std::size_t bytes = desc.get_size();
    return bytes == 0 ? nullptr : hostAllocator().allocate(bytes, MemoryKind::pageable);
}

memory::desc anyLayout(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    return {desc.get_dims(), desc.get_data_type(), memory::format_tag::any};
#else
    return {desc.dims(), desc.data_type(), memory::format_tag::any};
#endif
}

dnnl::primitive_attr ownScratch() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

void appendActivation(dnnl::post_ops& ops, dnnl::algorithm kind, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(kind, alpha, beta);
#else
    ops.append_eltwise(1, kind, alpha, beta);
#endif
}

bool isReference(std::string_view implementation) {
    return implementation.starts_with("ref") || implementation.find("_ref") != std::string_view::npos;
}

bool hasMetNaN() {
    constexpr unsigned kFlags = _MM_EXCEPT_INVALID | _MM_EXCEPT_OVERFLOW;
    int flags = 0;
#ifdef _OPENMP
#pragma omp parallel reduction(| : flags)
#endif
    {
        const unsigned now = _mm_getcsr();
        flags |= static_cast<int>(now & kFlags);
        if (now & kFlags) _mm_setcsr(now & ~kFlags);
    }
    return flags != 0;
}

memory::desc planes(std::int64_t batch, std::int64_t channels, const memory::dims& sizes,
                    memory::data_type type, bool channelsLast) {
    memory::dims dims{batch, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return {dims, type, channelsLast ? channelsLastStrides(Shape(dims)) : denseStrides(Shape(dims))};
}

memory::dims dimsOf(const Window& window, std::int64_t WindowAxis::*member) {
    memory::dims dims;
    for (const WindowAxis& axis : window.axes) dims.push_back(axis.*member);
    return dims;
}

Slide slideOf(const Window& window) {
    Slide slide{dimsOf(window, &WindowAxis::stride),
                dimsOf(window, &WindowAxis::dilation),
                dimsOf(window, &WindowAxis::padBegin),
                {}};
    for (auto& dilation : slide.dilations) --dilation;
    for (const WindowAxis& axis : window.axes)
        slide.padEnd.push_back((axis.out - 1) * axis.stride + axis.reach() - axis.in - axis.padBegin);
    return slide;
}

void append(Key& key, const Window& window) {
    for (const WindowAxis& axis : window.axes)
        key.insert(key.end(), {axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.padBegin});
}

void Ready::run(const std::map<int, const void*>& data) const {
    std::unordered_map<int, memory> arguments;
    // oneDNN uses one type for both inputs and outputs.
    for (const auto& [which, address] : data)
        arguments.emplace(which, memory(m_arguments.at(which), engine(), const_cast<void*>(address)));
    const BufferPtr scratch = room(m_scratch);
    if (scratch) arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(m_scratch, engine(), scratch->data()));
    m_primitive.execute(stream(), arguments);
    stream().wait();
}

} // namespace twb::onednn
