#include "formats/pytorch/aten_mapping.h"

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

Ints spread(Ints given, std::size_t rank, const char* what) {
    if (given.size() == 1) given.resize(rank, given[0]);
    if (given.size() != rank) Mapping::refuse(std::string("it must have one ") + what + " per dimension");
    return given;
}

/// The operand with a batch, which PyTorch's pools do not need.
Value batched(Mapping& m, int spatial) {
    const Value x = m.tensor("self");
    const int rank = x.type.shape.rank();
    if (rank == spatial + 2) return x;
    if (rank != spatial + 1) Mapping::refuse("its operand has the wrong number of dimensions");
    return m.unsqueeze(x, 0);
}

Attributes windows(Mapping& m, int spatial) {
    const auto n = static_cast<std::size_t>(spatial);
    const Ints kernel = spread(m.integers("kernel_size"), n, "kernel size");
    Ints stride = m.integers("stride", Ints{});
    stride = stride.empty() ? kernel : spread(stride, n, "stride");
    const Ints padding = spread(m.integers("padding", Ints{0}), n, "padding");
    Ints pads = padding;
    pads.insert(pads.end(), padding.begin(), padding.end());
    return {{"kernel_shape", kernel},
            {"strides", stride},
            {"pads", pads},
            {"ceil_mode", m.flag("ceil_mode", false)}};
}

template <int spatial> void maxPool(Mapping& m) {
    const Value x = batched(m, spatial);
    Attributes attributes = windows(m, spatial);
    attributes.set("dilations", spread(m.integers("dilation", Ints{1}), spatial, "dilation"));
    const auto made = m.makeAll("MaxPool", {x}, attributes);
    m.give(0, m.reshape(made[0], m.shape()));
    if (m.resultCount() < 2) return;
    // ONNX counts through the whole tensor, PyTorch through one plane.
    std::int64_t plane = 1;
    for (int i = 2; i < spatial + 2; ++i) plane *= x.type.shape[i];
    const Value within = m.make("Mod", {made[1], m.constant(static_cast<double>(plane), DType::i64)});
    m.give(1, m.reshape(within, m.shape(1)));
}

template <int spatial> void averagePool(Mapping& m) {
    if (m.has("divisor_override")) Mapping::refuse("it overrides the divisor");
    const Value x = batched(m, spatial);
    Attributes attributes = windows(m, spatial);
    attributes.set("count_include_pad", m.flag("count_include_pad", true));
    m.give(m.reshape(m.make("AveragePool", {x}, attributes), m.shape()));
}

/// Windows of one size that cover the operand; PyTorch's differ in size if the output's size does not divide
/// the input's.
template <int spatial> void adaptivePool(Mapping& m, const char* pool, const char* global) {
    const Value x = batched(m, spatial);
    const Shape& out = m.shape();
    Ints kernel;
    bool isGlobal = true;
    for (int i = 0; i < spatial; ++i) {
        const std::int64_t from = x.type.shape[i + 2];
        const std::int64_t to = out[out.rank() - spatial + i];
        if (to == 0 || from % to != 0) Mapping::refuse("its windows differ in size");
        kernel.push_back(from / to);
        isGlobal = isGlobal && to == 1;
    }
    const Value y =
        isGlobal ? m.make(global, {x}) : m.make(pool, {x}, {{"kernel_shape", kernel}, {"strides", kernel}});
    m.give(0, m.reshape(y, out));
}

/// The means over the windows of PyTorch along an axis: window i has the elements from ⌊i · from / to⌋ to
/// ⌈(i + 1) · from / to⌉ - 1.
Value windowMeans(Mapping& m, const Value& x, int axis, std::int64_t to) {
    const std::int64_t from = x.type.shape[axis];
    Mapping::Inputs means;
    for (std::int64_t i = 0; i < to; ++i) {
        const Value part = m.slice(x, axis, i * from / to, ((i + 1) * from + to - 1) / to);
        means.emplace_back(m.reduce("ReduceMean", part, {axis}, true));
    }
    return m.make("Concat", means, {{"axis", std::int64_t{axis}}});
}

/// Windows of different sizes. The elements of one column or row of a window have one weight, so the mean of
/// a window is the mean of means.
void averageUnevenly(Mapping& m) {
    const Value x = m.cast(batched(m, 2), m.dtype() == DType::f64 ? DType::f64 : DType::f32);
    const Shape& out = m.shape();
    const int last = out.rank() - 1;
    m.give(m.reshape(windowMeans(m, windowMeans(m, x, 3, out[last]), 2, out[last - 1]), out));
}

template <int spatial> void adaptiveAverage(Mapping& m) {
    constexpr std::int64_t kMostWindows = 64; // along an axis: each takes two nodes
    if (spatial == 2 && isFloating(m.dtype()) && m.shape().rank() >= 2) {
        const Shape& out = m.shape();
        const Shape& in = m.tensor("self").type.shape;
        bool isUneven = false;
        bool isSmall = true;
        for (int i = 1; i <= 2 && in.rank() == out.rank(); ++i) {
            const std::int64_t from = in[in.rank() - i];
            const std::int64_t to = out[out.rank() - i];
            isUneven = isUneven || (to > 0 && from > 0 && from % to != 0);
            isSmall = isSmall && from > 0 && to > 0 && to <= kMostWindows;
        }
        if (isUneven && isSmall) return averageUnevenly(m);
    }
    adaptivePool<spatial>(m, "AveragePool", "GlobalAveragePool");
}
template <int spatial> void adaptiveMax(Mapping& m) { adaptivePool<spatial>(m, "MaxPool", "GlobalMaxPool"); }

} // namespace

void addPooling(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    row("max_pool1d", maxPool<1>);
    row("max_pool2d", maxPool<2>);
    row("max_pool3d", maxPool<3>);
    row("mkldnn_max_pool2d", maxPool<2>);
    row("max_pool1d_with_indices", maxPool<1>);
    row("max_pool2d_with_indices", maxPool<2>);
    row("max_pool3d_with_indices", maxPool<3>);
    row("avg_pool1d", averagePool<1>);
    row("avg_pool2d", averagePool<2>);
    row("avg_pool3d", averagePool<3>);
    row("adaptive_avg_pool1d", adaptiveAverage<1>);
    row("adaptive_avg_pool2d", adaptiveAverage<2>);
    row("adaptive_avg_pool3d", adaptiveAverage<3>);
    row("_adaptive_avg_pool2d", adaptiveAverage<2>);
    row("_adaptive_avg_pool3d", adaptiveAverage<3>);
    row("adaptive_max_pool1d", adaptiveMax<1>);
    row("adaptive_max_pool2d", adaptiveMax<2>);
}

} // namespace twb::aten
