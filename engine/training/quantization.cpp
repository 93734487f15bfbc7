#include "training/quantization.h"

#include "core/error.h"
#include "graph/arrange.h"
#include "graph/constant_node.h"
#include "graph/difference.h"
#include "graph/rewrite.h"
#include "graph/unique_names.h"
#include "training/quantization_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace twb {
namespace {

bool isFinite(const ValueRange& range) { return std::isfinite(range.least) && std::isfinite(range.most); }

/// The scale and zero point of a u8 tensor.
struct ByteScale {
    float scale = 1;
    std::int32_t zero = 0;
};

ByteScale byteScaleOf(const ValueRange& range) {
    const float least = std::min(range.least, 0.0F);
    const float most = std::max(range.most, 0.0F);
    // In double, since the difference of two large numbers may be infinite in f32.
    const auto scale = static_cast<float>((static_cast<double>(most) - static_cast<double>(least)) / 255);
    if (!(scale >= std::numeric_limits<float>::min())) return {};
    return {scale, static_cast<std::int32_t>(std::clamp(std::nearbyint(-least / scale), 0.0F, 255.0F))};
}

/// A matrix or a kernel in i8, with the scale of each output channel.
struct ByteWeights {
    Tensor elements;
    std::vector<float> scales;
};

/// `given` has one row of `length` elements per channel. `biases` (one per channel, or empty) must fit i32
/// with the scale of x.
ByteWeights quantizeRows(const float* given, std::int64_t channels, std::int64_t length, bool perChannel,
                         const std::vector<float>& biases, float scaleX, const Shape& shape) {
    ByteWeights out{Tensor::onHost({DType::i8, shape}), {}};
    for (std::int64_t c = 0; c < channels; ++c) {
        double scale = 0;
        for (std::int64_t i = c * length; i < (c + 1) * length; ++i)
            scale = std::max(scale, std::abs(static_cast<double>(given[i])) / 127);
        if (!biases.empty()) // a large bias of small weights would not fit
            scale = std::max(scale, std::abs(static_cast<double>(biases[static_cast<std::size_t>(c)])) /
                                        (0x1p30 * static_cast<double>(scaleX)));
        out.scales.push_back(static_cast<float>(scale));
    }
    if (!perChannel) std::ranges::fill(out.scales, *std::ranges::max_element(out.scales));
    for (float& scale : out.scales) // a channel of zeros
        if (scale < std::numeric_limits<float>::min()) scale = 1;
    auto* const to = static_cast<std::int8_t*>(out.elements.data());
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = c * length; i < (c + 1) * length; ++i)
            to[i] = static_cast<std::int8_t>(std::clamp(
                std::nearbyint(given[i] / out.scales[static_cast<std::size_t>(c)]), -127.0F, 127.0F));
    if (!perChannel) out.scales.resize(1);
    return out;
}

/// The transpose of a dense rows × columns matrix.
template <class T> Tensor transposed(const Tensor& given, std::int64_t rows, std::int64_t columns) {
    Tensor out = Tensor::onHost({given.dtype(), Shape{columns, rows}});
    const auto* const from = static_cast<const T*>(given.data());
    auto* const to = static_cast<T*>(out.data());
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
    return out;
}

bool hasOnlyFinite(const Tensor& tensor) {
    const auto values = tensor.values<float>();
    return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// The elements of a tensor by value, in bins of one width over its range.
class Histogram {
public:
    explicit Histogram(const ValueRange& range)
        : m_least(static_cast<double>(range.least)),
          m_width((static_cast<double>(range.most) - m_least) / static_cast<double>(kBins)), m_counts(kBins) {
    }

    void add(const Tensor& tensor) {
        for (const float x : tensor.values<float>()) {
            const double at = m_width > 0 ? (static_cast<double>(x) - m_least) / m_width : 0;
            ++m_counts[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)))];
            ++m_total;
        }
    }
    /// The range that holds this share of the elements, without half of the rest on each side.
    ValueRange holding(double percentile) const {
        const double cut = (1 - percentile / 100) / 2 * static_cast<double>(m_total);
        std::size_t first = 0;
        std::size_t last = kBins;
        for (double below = 0; first + 1 < last && below + m_counts[first] <= cut;)
            below += m_counts[first++];
        for (double above = 0; first + 1 < last && above + m_counts[last - 1] <= cut;)
            above += m_counts[--last];
        return {static_cast<float>(m_least + static_cast<double>(first) * m_width),
                static_cast<float>(m_least + static_cast<double>(last) * m_width)};
    }

private:
    static constexpr std::size_t kBins = 2048;
    double m_least, m_width;
    std::vector<double> m_counts;
    std::int64_t m_total = 0;
};

/// Replaces candidates by their quantized forms.
class Quantizer {
public:
    Quantizer(const Graph& graph, const CandidateFinder& finder, const ValueRanges& ranges,
              const HoldTensor& hold, bool perChannel)
        : m_graph(graph), m_finder(finder), m_ranges(ranges), m_hold(hold), m_perChannel(perChannel),
          m_rewrite(graph), m_names(graph) {}

    LowerPrecision run(const std::vector<Candidate>& candidates, int others) {
        m_out.skipped = others;
        for (const Candidate& candidate : candidates) {
            if (candidate.kind == Candidate::Kind::pool)
                pool(candidate);
            else if (candidate.kind == Candidate::Kind::convolution)
                ++(convolve(candidate) ? m_out.convolutions : m_out.skipped);
            else
                ++(multiply(candidate) ? m_out.products : m_out.skipped);
        }
        if (m_out.convolutions + m_out.products == 0) return std::move(m_out);
        Graph after = m_graph;
        m_rewrite.applyTo(after);
        removeUnread(after, m_graph);
        m_out.delta = arrangedDifference(m_graph, std::move(after), "Quantize to int8");
        return std::move(m_out);
    }

private:
    /// A tensor in u8 and its scale.
    struct Bytes {
        PortRef port;
        ByteScale scale;
        bool isComputed = false; ///< by an op in bytes, rather than converted
    };

    const ValueRange* rangeOf(PortRef output) const {
        const auto range = m_ranges.find(output);
        return range == m_ranges.end() || !isFinite(range->second) ? nullptr : &range->second;
    }

    NodeId add(const std::string& op, const std::string& name, const Node& like, Attributes attributes,
               const std::vector<std::optional<PortRef>>& inputs) {
        Node node;
        node.op = op;
        node.name = m_names.take(name);
        node.lane = like.lane;
        node.frame = like.frame;
        node.position = like.position;
        node.source = like.source;
        node.attributes = std::move(attributes);
        const NodeId id = m_rewrite.add(node);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            m_rewrite.connect({id, static_cast<std::int32_t>(port)}, inputs[port]);
        return id;
    }

    /// A source with these elements on the card of its reader.
    PortRef source(const std::string& name, const Node& like, const Tensor& tensor) {
        Node node;
        node.name = m_names.take(name);
        node.lane = like.lane;
        node.frame = like.frame;
        node.position = like.position;
        node.folded = true;
        if (fitsConstant(tensor))
            makeConstant(node, tensor);
        else
            m_hold(node, tensor);
        return {m_rewrite.add(node), 0};
    }
    PortRef number(const std::string& name, const Node& like, float value) {
        return source(name, like, Tensor::of<float>(Shape{}, {value}));
    }
    template <class T> PortRef zeroPoint(const std::string& name, const Node& like, std::int32_t zero) {
        return source(name, like, Tensor::of<T>(Shape{}, {static_cast<T>(zero)}));
    }
    PortRef list(const std::string& name, const Node& like, const std::vector<float>& values) {
        const Shape shape = values.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
        return source(name, like, Tensor::of<float>(shape, std::span<const float>(values)));
    }

    /// The tensor in u8 for a reader, on whose lane it is quantized.
    Bytes bytesOf(PortRef tensor, const Node& reader) {
        const auto made = m_bytes.find({tensor, reader.lane});
        if (made != m_bytes.end()) return made->second;
        const ByteScale scale = byteScaleOf(*rangeOf(tensor));
        const std::string name = m_graph.find(tensor.node)->name;
        const NodeId id = add("QuantizeLinear", name + " as u8", reader, {},
                              {tensor, number(name + " scale", reader, scale.scale),
                               zeroPoint<std::uint8_t>(name + " zero point", reader, scale.zero)});
        return m_bytes[{tensor, reader.lane}] = {{id, 0}, scale, false};
    }

    std::vector<float> floatsOf(const Tensor& tensor) const {
        const auto values = tensor.values<float>();
        return {values.begin(), values.end()};
    }

    bool convolve(const Candidate& candidate) {
        const Node node = *m_graph.find(candidate.facts->id);
        const ValueRange* const outRange = rangeOf(candidate.output);
        if (!rangeOf(candidate.input) || !outRange) return false;
        const Tensor weight = m_finder.fixed().read(candidate.weight);
        const Tensor bias = candidate.bias ? m_finder.fixed().read(*candidate.bias) : Tensor();
        if (!hasOnlyFinite(weight) || (bias && !hasOnlyFinite(bias))) return false;
        const Bytes x = bytesOf(candidate.input, node);
        const std::int64_t channels = weight.shape()[0];
        const ByteWeights w = quantizeRows(
            weight.values<float>().data(), channels, weight.elementCount() / channels, m_perChannel,
            bias ? floatsOf(bias) : std::vector<float>(), x.scale.scale, weight.shape());
        const ByteScale y = byteScaleOf(*outRange);
        const std::string& name = node.name;
        const std::vector<std::optional<PortRef>> inputs{
            x.port,
            number(name + " x scale", node, x.scale.scale),
            zeroPoint<std::uint8_t>(name + " x zero point", node, x.scale.zero),
            source(name + " weight", node, w.elements),
            list(name + " weight scale", node, w.scales),
            zeroPoint<std::int8_t>(name + " weight zero point", node, 0),
            number(name + " y scale", node, y.scale),
            zeroPoint<std::uint8_t>(name + " y zero point", node, y.zero),
            bias ? std::optional(wholeBias(name, node, bias, x.scale.scale, w)) : std::nullopt};
        count(weight, bias, w);
        // The last node keeps its consumers, which get f32 again. It goes if all of them take bytes.
        const PortRef result = convolution(node, candidate, inputs);
        dequantize(candidate.output, {result, y, true});
        return true;
    }

    /// Writes the QLinearConv: the node itself if a bound follows, which then dequantizes.
    PortRef convolution(const Node& node, const Candidate& candidate,
                        const std::vector<std::optional<PortRef>>& inputs) {
        if (candidate.bound == NodeId::none)
            return {add("QLinearConv", node.name + " in u8", node, node.attributes, inputs), 0};
        Node after = node;
        after.op = "QLinearConv";
        m_rewrite.change(after);
        reconnect(node.id, inputs);
        return {node.id, 0};
    }

    /// Makes the node of `tensor` its conversion from bytes.
    void dequantize(PortRef tensor, const Bytes& bytes) {
        Node node = m_rewrite.node(tensor.node);
        node.op = "DequantizeLinear";
        node.attributes = {};
        m_rewrite.change(node);
        m_bytes[{tensor, node.lane}] = bytes;
        reconnect(node.id, {bytes.port, number(node.name + " scale", node, bytes.scale.scale),
                            zeroPoint<std::uint8_t>(node.name + " zero point", node, bytes.scale.zero)});
    }

    /// Replaces all inputs of a node.
    void reconnect(NodeId id, const std::vector<std::optional<PortRef>>& inputs) {
        const std::size_t before = m_graph.inputs(id).size();
        for (std::size_t port = 0; port < std::max(inputs.size(), before); ++port)
            m_rewrite.connect({id, static_cast<std::int32_t>(port)},
                              port < inputs.size() ? inputs[port] : std::nullopt);
    }

    PortRef wholeBias(const std::string& name, const Node& node, const Tensor& bias, float scaleX,
                      const ByteWeights& w) {
        Tensor whole = Tensor::onHost({DType::i32, bias.shape()});
        const auto to = whole.values<std::int32_t>();
        for (std::size_t c = 0; c < to.size(); ++c) {
            const double scale = static_cast<double>(scaleX) * w.scales[w.scales.size() == 1 ? 0 : c];
            to[c] = static_cast<std::int32_t>(std::clamp(
                std::nearbyint(bias.at(static_cast<std::int64_t>(c)) / scale), -0x1p31, 0x1p31 - 1));
        }
        return source(name + " bias", node, whole);
    }

    /// A MaxPool of bytes, and its way back to f32.
    void pool(const Candidate& candidate) {
        const Node node = *m_graph.find(candidate.facts->id);
        const auto made = m_bytes.find({candidate.input, node.lane});
        if (made == m_bytes.end() || !made->second.isComputed) return;
        const Bytes bytes = made->second;
        const NodeId id = add("MaxPool", node.name + " in u8", node, node.attributes, {bytes.port});
        dequantize({node.id, 0}, {{id, 0}, bytes.scale, true});
    }

    bool multiply(const Candidate& candidate) {
        const Node node = *m_graph.find(candidate.facts->id);
        if (!rangeOf(candidate.input)) return false;
        const Tensor weight = m_finder.fixed().read(candidate.weight);
        if (!hasOnlyFinite(weight)) return false;
        const Attributes& attributes = candidate.facts->attributes;
        const bool isGemm = node.op == "Gemm";
        const bool isByColumn = isGemm && attributes.flag("transB"); // one row per result column
        const std::int64_t inner = weight.shape()[isByColumn ? 1 : 0];
        const std::int64_t columns = weight.shape()[isByColumn ? 0 : 1];
        const Tensor byColumn = isByColumn ? weight : transposed<float>(weight, inner, columns);
        const Bytes x = bytesOf(candidate.input, node);
        ByteWeights w = quantizeRows(byColumn.values<float>().data(), columns, inner, m_perChannel, {},
                                     x.scale.scale, Shape{columns, inner});
        w.elements = transposed<std::int8_t>(w.elements, columns, inner);
        const auto alpha = isGemm ? static_cast<float>(attributes.number("alpha")) : 1.0F;
        std::vector<float> scales;
        for (const float scale : w.scales) scales.push_back(scale * x.scale.scale * alpha);
        const std::string& name = node.name;
        const NodeId sums = add("MatMulInteger", name + " in i8", node, {},
                                {x.port, source(name + " weight", node, w.elements),
                                 zeroPoint<std::uint8_t>(name + " zero point", node, x.scale.zero)});
        Node last = node; // keeps the name and the consumers
        last.attributes = {};
        std::vector<std::optional<PortRef>> inputs;
        const std::vector<std::optional<PortRef>> dequantized{PortRef{sums, 0},
                                                              list(name + " scale", node, scales)};
        if (candidate.bias) {
            const NodeId product =
                add("DequantizeLinear", name + " as f32", node, {{"axis", std::int64_t{-1}}}, dequantized);
            last.op = "Add";
            inputs = {PortRef{product, 0}, candidate.bias};
        } else {
            last.op = "DequantizeLinear";
            last.attributes = {{"axis", std::int64_t{-1}}};
            inputs = dequantized;
        }
        m_rewrite.change(last);
        reconnect(node.id, inputs);
        count(weight, Tensor(), w);
        return true;
    }

    void count(const Tensor& weight, const Tensor& bias, const ByteWeights& w) {
        m_out.bytesBefore += static_cast<double>(weight.byteCount());
        m_out.bytesAfter +=
            static_cast<double>(w.elements.byteCount()) + 4.0 * static_cast<double>(w.scales.size());
        if (!bias) return;
        m_out.bytesBefore += static_cast<double>(bias.byteCount());
        m_out.bytesAfter += static_cast<double>(bias.byteCount());
    }

    const Graph& m_graph;
    const CandidateFinder& m_finder;
    const ValueRanges& m_ranges;
    const HoldTensor& m_hold;
    const bool m_perChannel;
    Rewrite m_rewrite;
    UniqueNames m_names;
    std::map<std::pair<PortRef, LaneId>, Bytes> m_bytes; ///< of f32 tensors, by lane
    LowerPrecision m_out;
};

/// The least and the largest element; not a number if one of them is not finite.
ValueRange rangeOf(const Tensor& tensor) {
    ValueRange out;
    for (const float x : tensor.values<float>()) {
        if (!std::isfinite(x)) return {x, x};
        out.least = std::min(out.least, x);
        out.most = std::max(out.most, x);
    }
    return out;
}

} // namespace

Delta arrangedDifference(const Graph& before, Graph after, std::string title) {
    after.apply(arrangeAll(after).delta);
    return difference(before, after, std::move(title));
}

std::set<PortRef> tensorsToObserve(const Graph& graph, const RunSetup& setup) {
    int others = 0;
    std::set<PortRef> out;
    const CandidateFinder finder(graph, setup);
    for (const Candidate& candidate : finder.find(others)) {
        if (candidate.kind == Candidate::Kind::pool) continue;
        out.insert(candidate.input);
        if (candidate.kind == Candidate::Kind::convolution) out.insert(candidate.output);
    }
    return out;
}

ValueRanges observeRanges(const Graph& graph, const RunSetup& setup, const Samples& samples,
                          const IsCancelled& isCancelled, double percentile) {
    ValueRanges out;
    const std::set<PortRef> tensors = tensorsToObserve(graph, setup);
    if (tensors.empty()) return out;
    SampleRuns runs(graph, setup, tensors);
    for (std::size_t i = 0; i < samples.count(); ++i) {
        throwIfCancelled(isCancelled);
        for (const auto& [output, tensor] : runs.run(samples.read(i))) {
            const ValueRange now = rangeOf(tensor);
            const auto [at, isNew] = out.emplace(output, now);
            ValueRange& all = at->second;
            if (isNew || !isFinite(all)) continue;
            all = isFinite(now) ? ValueRange{std::min(all.least, now.least), std::max(all.most, now.most)}
                                : now;
        }
    }
    if (percentile >= 100) return out;
    std::map<PortRef, Histogram> histograms;
    for (const auto& [output, range] : out)
        if (isFinite(range)) histograms.emplace(output, range);
    for (std::size_t i = 0; i < samples.count(); ++i) {
        throwIfCancelled(isCancelled);
        for (const auto& [output, tensor] : runs.run(samples.read(i)))
            if (const auto at = histograms.find(output); at != histograms.end()) at->second.add(tensor);
    }
    for (const auto& [output, histogram] : histograms) out[output] = histogram.holding(percentile);
    return out;
}

LowerPrecision quantize(const Graph& graph, const RunSetup& setup, const ValueRanges& ranges,
                        const HoldTensor& hold, const QuantizationOptions& options) {
    const CandidateFinder finder(graph, setup);
    int others = 0;
    std::vector<Candidate> candidates = finder.find(others);
    if (options.keepsFirstAndLast) {
        const auto isLayer = [](const Candidate& candidate) {
            return candidate.kind != Candidate::Kind::pool;
        };
        for (int end = 0; end < 2; ++end) { // from the front, then from the back
            const auto layer = std::ranges::find_if(candidates, isLayer);
            if (layer != candidates.end()) {
                candidates.erase(layer);
                ++others;
            }
            std::ranges::reverse(candidates);
        }
    }
    return Quantizer(graph, finder, ranges, hold, options.perChannel).run(candidates, others);
}

} // namespace twb
