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

/// The weights with which PyTorch averages `from` elements in `to` windows: window i has the elements from
/// ⌊i · from / to⌋ to ⌈(i + 1) · from / to⌉ - 1. Shape [to, from], or transposed.
Value windowWeights(Mapping& m, std::int64_t from, std::int64_t to, bool isTransposed) {
    std::vector<double> weights(static_cast<std::size_t>(from * to), 0);
    for (std::int64_t i = 0; i < to; ++i) {
        const std::int64_t begin = i * from / to;
        const std::int64_t end = ((i + 1) * from + to - 1) / to;
        for (std::int64_t k = begin; k < end; ++k)
            weights[static_cast<std::size_t>(isTransposed ? k * to + i : i * from + k)] =
                1 / static_cast<double>(end - begin);
    }
    return m.make("Constant", {},
                  {{"value", std::move(weights)},
                   {"shape", isTransposed ? Ints{from, to} : Ints{to, from}},
                   {"dtype", std::string(name(m.dtype()))}});
}

/// Windows of different sizes, as products with their weights.
void averageUnevenly(Mapping& m) {
    const Value x = batched(m, 2);
    const Shape& out = m.shape();
    const int last = out.rank() - 1;
    const Value rows = m.make("MatMul", {x, windowWeights(m, x.type.shape[3], out[last], true)});
    const Value y = m.make("MatMul", {windowWeights(m, x.type.shape[2], out[last - 1], false), rows});
    m.give(m.reshape(y, out));
}

template <int spatial> void adaptiveAverage(Mapping& m) {
    constexpr std::int64_t kLargest = 4096; // elements of the larger matrix of weights
    if (spatial == 2 && isFloating(m.dtype()) && m.shape().rank() >= 2) {
        const Shape& out = m.shape();
        const Shape& in = m.tensor("self").type.shape;
        bool isUneven = false;
        bool isSmall = true;
        for (int i = 1; i <= 2 && in.rank() == out.rank(); ++i) {
            const std::int64_t from = in[in.rank() - i];
            const std::int64_t to = out[out.rank() - i];
            isUneven = isUneven || (to > 0 && from > 0 && from % to != 0);
            isSmall = isSmall && from > 0 && to > 0 && from * to <= kLargest;
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
