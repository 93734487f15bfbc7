#include "graph/bodies.h"
#include "graph/composed_ops.h"
#include "graph/op_matcher.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// A Slice along one axis, without gaps.
struct Part {
    const Node* node = nullptr;
    int axis = 0;
    std::int64_t start = 0;
    std::int64_t size = 0;
};

std::optional<Part> partOf(const Graph& graph, const KnownTensors& known, const Node& node) {
    const Attributes* attributes = known.attributes(node.id);
    const auto from = graph.sourceOf({node.id, 0});
    const TensorType* in = from ? known.type(*from) : nullptr;
    const TensorType* out = known.type({node.id, 0});
    for (std::size_t port = 1; port < graph.inputs(node.id).size(); ++port)
        if (graph.inputs(node.id)[port]) return std::nullopt;
    if (!attributes || !in || !out || !attributes->has("starts") || !attributes->has("axes"))
        return std::nullopt;
    const auto starts = attributes->integers("starts");
    const auto axes = attributes->integers("axes");
    const auto steps =
        attributes->has("steps") ? attributes->integers("steps") : std::vector<std::int64_t>{1};
    if (starts.size() != 1 || axes.size() != 1 || steps != std::vector<std::int64_t>{1}) return std::nullopt;
    const auto axis = normalizeAxis(axes[0], in->shape.rank());
    if (!axis) return std::nullopt;
    const std::int64_t length = in->shape[*axis];
    const std::int64_t size = out->shape[*axis];
    if (length == kUnknownDim || size <= 0) return std::nullopt;
    const std::int64_t start = starts[0] < 0 ? starts[0] + length : starts[0];
    return Part{&node, *axis, std::max<std::int64_t>(start, 0), size};
}

/// Whether the parts, which are sorted, are the whole axis.
bool arePartition(const std::vector<Part>& parts, std::int64_t length) {
    std::int64_t at = 0;
    for (const Part& part : parts) {
        if (part.start != at) return false;
        at += part.size;
    }
    return at == length;
}

} // namespace

ReplacedByOp replaceSlices(const Graph& graph, const KnownTensors& known, Rewrite& rewrite) {
    const Bodies bodies(graph);
    UniqueNames names(graph);
    const auto mayReplace = [&](const Node& node, LaneId lane) {
        return node.op == "Slice" && node.lane == lane && !node.disabled && node.breakpoints.empty() &&
               !bodies.around(node.id);
    };
    ReplacedByOp out;
    for (const Node& source : graph.nodes()) {
        std::map<std::pair<std::int32_t, int>, std::vector<Part>> byAxis; // of each output
        for (const Edge& edge : graph.outgoing(source.id)) {
            const Node& reader = *graph.find(edge.to.node);
            if (edge.to.port != 0 || !mayReplace(reader, source.lane)) continue;
            if (const auto part = partOf(graph, known, reader))
                byAxis[{edge.from.port, part->axis}].push_back(*part);
        }
        for (auto& [at, parts] : byAxis) {
            std::sort(parts.begin(), parts.end(),
                      [](const Part& a, const Part& b) { return a.start < b.start; });
            const std::int64_t length = known.type({source.id, at.first})->shape[at.second];
            if (parts.size() < 2 || !arePartition(parts, length)) continue;
            Node split = *parts[0].node;
            std::vector<std::int64_t> sizes;
            for (const Part& part : parts) sizes.push_back(part.size);
            split.name = names.take(nameWithOp(split, "Split"));
            split.op = "Split";
            split.attributes = {{"axis", std::int64_t{at.second}},
                                {"num_outputs", static_cast<std::int64_t>(parts.size())},
                                {"split", std::move(sizes)}};
            for (std::size_t i = 1; i < parts.size(); ++i) {
                rewrite.replace({parts[i].node->id, 0}, {split.id, static_cast<std::int32_t>(i)});
                rewrite.remove(parts[i].node->id);
            }
            ReplacedNodes& count = out["Split"];
            ++count.times;
            count.nodes += static_cast<int>(parts.size());
            rewrite.change(std::move(split));
        }
    }
    return out;
}

} // namespace twb
