#include "graph/simplify.h"

#include "core/error.h"
#include "core/format.h"
#include "graph/bodies.h"
#include "graph/composed_ops.h"
#include "graph/constant_node.h"
#include "graph/difference.h"
#include "graph/folding.h"
#include "graph/known_branches.h"
#include "graph/rewrite.h"
#include "ops/opaque.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_set>

namespace twb {
namespace {

/// Computed tensors up to this size may be larger than the tensors that they are computed from.
constexpr std::int64_t kSmallBytes = std::int64_t{64} << 10;
/// The largest growth of all Files together, as a share of their bytes.
constexpr double kMostGrowth = 0.05;
/// Longer Constants are shared.
constexpr std::size_t kMostCopiedElements = 64;

template <std::size_t N> bool isAmong(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Ops that give the elements of their input in the same order.
bool reshapes(std::string_view op) {
    static constexpr std::array<std::string_view, 4> kReshaping{"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    return isAmong(op, kReshaping);
}

bool hasTraining(const Graph& graph) {
    for (const Frame& frame : graph.frames())
        if (frame.loss != NodeId::none) return true;
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (node.forward != NodeId::none || (op && !op->updates.empty())) return true;
    }
    return false;
}

/// Nodes whose effect is not only the tensors that others read.
bool hasEffect(const Node& node, const Op* op) {
    return !op || op->role == OpRole::sink || op->role == OpRole::control || op->role == OpRole::state ||
           op->name == "Input" || isOpaque(*op) || op->category == "Training" || node.disabled ||
           !node.breakpoints.empty();
}

/// A host value as the attribute that stands for it; nothing if the attribute cannot hold it exactly.
std::optional<AttributeValue> attributeOf(const AttributeSpec& spec, const Tensor& value) {
    const bool isFloat = holdsFractions(value.dtype());
    const bool isSingle = value.elementCount() == 1;
    const auto isExact = [&](std::int64_t i) { return std::abs(value.at(i)) < 0x1p53; };
    switch (spec.type) {
    case AttributeType::integers:
    case AttributeType::shape:
        if (isFloat || value.shape().rank() > 1) return std::nullopt;
        return value.toIntegers();
    case AttributeType::integer:
        if (isFloat || !isSingle) return std::nullopt;
        return value.toIntegers()[0];
    case AttributeType::flag:
        if (value.dtype() != DType::boolean || !isSingle) return std::nullopt;
        return value.at(0) != 0;
    case AttributeType::number:
        if (!isSingle || (!isFloat && !isExact(0))) return std::nullopt;
        return value.at(0);
    case AttributeType::numbers: {
        if (value.shape().rank() > 1) return std::nullopt;
        std::vector<double> numbers;
        for (std::int64_t i = 0; i < value.elementCount(); ++i) {
            if (!isFloat && !isExact(i)) return std::nullopt;
            numbers.push_back(value.at(i));
        }
        return numbers;
    }
    default:
        return std::nullopt;
    }
}

/// Whether everything that is known of a type is also known of the type that replaces it.
bool isAsKnown(const TensorType& now, const TensorType& before) {
    if (now.dtype != before.dtype || now.shape.rank() != before.shape.rank()) return false;
    for (int axis = 0; axis < now.shape.rank(); ++axis)
        if (before.shape[axis] != kUnknownDim && now.shape[axis] != before.shape[axis]) return false;
    return true;
}

struct Counts {
    int branches = 0;   ///< Ifs with a known condition
    int folded = 0;     ///< nodes whose results became constants
    int unread = 0;     ///< nodes without a consumer
    int attributes = 0; ///< host values that became attributes
    int neutral = 0;    ///< scales of ones and biases of zeros
    int passing = 0;
    int merged = 0;
    int shared = 0; ///< Constants that were shared
    int copies = 0; ///< additional Constants
};

class Simplification {
public:
    Simplification(const Graph& graph, const SimplifyOptions& options)
        : m_options(options), m_graph(graph), m_names(graph) {
        const auto hasOutput = [&](const Node& node) {
            const Op* op = findOp(node.op);
            return op && op->role == OpRole::sink;
        };
        if (std::none_of(graph.nodes().begin(), graph.nodes().end(), hasOutput))
            for (const Node& node : graph.nodes())
                if (graph.outgoing(node.id).empty()) m_results.insert(node.id);
    }

    Graph run();
    const Counts& counts() const noexcept { return m_counts; }
    const ReplacedByOp& replaced() const noexcept { return m_replaced; }

private:
    /// One pass from the results to the sources, which removes, folds and merges nodes.
    class Sweep;
    using Replacement = ReplacedByOp (*)(const Graph&, const KnownTensors&, Rewrite&);

    void takeBranches();
    void sweep();
    void replace(Replacement replacement);
    void copySharedConstants();

    const SimplifyOptions& m_options;
    Graph m_graph;
    UniqueNames m_names;
    std::unordered_set<NodeId> m_results; ///< of a graph without sinks
    std::vector<NodeId> m_constants;      ///< new sources
    Counts m_counts;
    ReplacedByOp m_replaced;
};

class Simplification::Sweep {
public:
    explicit Sweep(Simplification& of)
        : m_of(of), m_graph(of.m_graph), m_known(m_graph, of.m_options.files, of.m_options.free),
          m_bodies(m_graph), m_rewrite(m_graph) {
        for (const Node& node : m_graph.nodes())
            if (const TensorType* type = node.op == "File" ? m_known.type({node.id, 0}) : nullptr)
                m_growth += kMostGrowth * static_cast<double>(type->byteCount());
    }

    Graph run() {
        const std::vector<NodeId> order = topologicalOrder(m_graph);
        for (auto id = order.rbegin(); id != order.rend(); ++id) visit(*m_graph.find(*id));
        Graph out = m_graph;
        m_rewrite.applyTo(out);
        return out;
    }

private:
    void visit(const Node& node) {
        throwIfCancelled(m_of.m_options.isCancelled);
        const Op* op = findOp(node.op);
        const bool isRead = m_readers.contains(node.id);
        const bool isFree = mayChange(node);
        if (isFree && !isRead && !m_of.m_results.contains(node.id)) {
            m_rewrite.remove(node.id);
            ++m_of.m_counts.unread;
            return;
        }
        if (isFree && isRead) {
            if (fold(node, *op)) return;
            setAttributes(node, *op);
            disconnectNeutral(node);
            if (passOn(node, *op)) return;
            merge(node);
        }
        for (std::size_t port = 0; port < m_graph.inputs(node.id).size(); ++port)
            if (const auto from = m_rewrite.sourceOf({node.id, static_cast<std::int32_t>(port)})) read(*from);
    }

    /// Whether the node is outside all bodies and has known attributes and no effect of its own.
    bool mayChange(const Node& node) const {
        return !m_bodies.around(node.id) && !hasEffect(node, findOp(node.op)) && m_known.attributes(node.id);
    }

    void read(PortRef output) { m_readers[output.node].insert(output.port); }

    bool isOnLaneOf(const Node& node, PortRef source) const {
        return m_graph.find(source.node)->lane == node.lane;
    }

    /// Makes a node with a known result a source.
    bool fold(const Node& node, const Op& op) {
        if (op.role != OpRole::compute) return false;
        const PortRef output{node.id, 0};
        const Tensor* value = m_known.value(output);
        const bool isCopy = op.name == "Identity"; // a large tensor is not stored twice
        if (value && isCopy && value->byteCount() > kSmallBytes) return false;
        if (!value || (!fitsConstant(*value) && !m_of.m_options.hold)) return false;
        const std::vector<std::optional<PortRef>>& inputs = m_graph.inputs(node.id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port] && !op.readsTypesOnly && !op.inputAt(static_cast<int>(port)).hostValue &&
                !isOnLaneOf(node, *inputs[port]))
                return false;
        const auto bytes = static_cast<double>(value->byteCount());
        const bool isSmall = value->byteCount() <= kSmallBytes || bytes <= m_known.storedBytes(output);
        if (!isSmall && bytes > m_growth) return false;
        if (!isSmall) m_growth -= bytes;
        Node source = node;
        source.attributes = {};
        if (fitsConstant(*value))
            makeConstant(source, *value);
        else
            m_of.m_options.hold(source, *value);
        m_rewrite.change(std::move(source));
        for (std::size_t port = 0; port < inputs.size(); ++port)
            m_rewrite.connect({node.id, static_cast<std::int32_t>(port)}, std::nullopt);
        m_of.m_constants.push_back(node.id);
        ++m_of.m_counts.folded;
        return true;
    }

    /// Makes known host values attributes.
    void setAttributes(const Node& node, const Op& op) {
        const std::vector<std::optional<PortRef>>& inputs = m_graph.inputs(node.id);
        for (std::size_t port = 0; port < std::min(inputs.size(), op.inputs.size()); ++port) {
            const PortSpec& spec = op.inputAt(static_cast<int>(port));
            const AttributeSpec* attribute = op.attribute(spec.name);
            if (!inputs[port] || !spec.hostValue || !attribute) continue;
            std::optional<AttributeValue> value;
            if (const Tensor* known = m_known.value(*inputs[port]))
                value = attributeOf(*attribute, *known);
            else if (op.name == "Reshape")
                value = m_known.shapeOfReshape(node.id);
            if (value) setAttribute(node, op, static_cast<std::int32_t>(port), spec.name, *value);
        }
    }

    void setAttribute(const Node& node, const Op& op, std::int32_t port, const std::string& name,
                      AttributeValue value) {
        Node changed = m_rewrite.node(node.id);
        changed.attributes.set(name, std::move(value));
        std::vector<std::optional<PortRef>> inputs;
        for (std::size_t i = 0; i < m_graph.inputs(node.id).size(); ++i)
            inputs.push_back(m_rewrite.sourceOf({node.id, static_cast<std::int32_t>(i)}));
        inputs[static_cast<std::size_t>(port)].reset();
        try {
            const auto types = m_known.infer(op, completeAttributes(op, changed.attributes), inputs);
            if (!types) return;
            for (std::size_t i = 0; i < types->size(); ++i) {
                const TensorType* before = m_known.type({node.id, static_cast<std::int32_t>(i)});
                if (!before || !isAsKnown((*types)[i], *before)) return;
            }
        } catch (const Error&) {
            return; // a value that the attribute does not allow
        }
        m_rewrite.change(std::move(changed));
        m_rewrite.connect({node.id, port}, std::nullopt);
        ++m_of.m_counts.attributes;
    }

    /// Disconnects a LayerNormalization's Scale of ones and its B of zeros.
    void disconnectNeutral(const Node& node) {
        if (node.op != "LayerNormalization") return;
        for (const auto& [port, neutral] : {std::pair(1, 1.0), std::pair(2, 0.0)}) {
            const auto from = m_rewrite.sourceOf({node.id, port});
            const Tensor* value = from ? m_known.value(*from) : nullptr;
            if (!value || !isFilledWith(*value, neutral)) continue;
            m_rewrite.connect({node.id, port}, std::nullopt);
            ++m_of.m_counts.neutral;
        }
    }

    static bool isFilledWith(const Tensor& tensor, double value) {
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
            if (tensor.at(i) != value) return false;
        return true;
    }

    /// Connects the consumers of a node that returns its input unchanged to its source.
    bool passOn(const Node& node, const Op& op) {
        const auto from = m_rewrite.sourceOf({node.id, 0});
        if (!from || m_of.m_results.contains(node.id) || !isOnLaneOf(node, *from) ||
            m_readers.at(node.id) != std::set<std::int32_t>{0} || !passesOn(node, op, *from))
            return false;
        m_rewrite.replace({node.id, 0}, *from);
        m_rewrite.remove(node.id);
        read(*from);
        ++m_of.m_counts.passing;
        return true;
    }

    /// Whether a Dropout has the ratio 0, so that it drops nothing even in training mode.
    bool dropsNothing(const Node& node) const {
        return !m_rewrite.sourceOf({node.id, 1}) && m_rewrite.node(node.id).attributes.has("ratio") &&
               m_rewrite.node(node.id).attributes.number("ratio") == 0;
    }

    bool passesOn(const Node& node, const Op& op, PortRef from) const {
        static constexpr std::array<std::string_view, 8> kSameIfEqual{
            "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Slice", "Pad"};
        if (op.name == "Identity") return true;
        if (op.name == "Dropout") return dropsNothing(node);
        std::size_t connected = 0;
        for (std::size_t port = 0; port < m_graph.inputs(node.id).size(); ++port)
            connected += m_rewrite.sourceOf({node.id, static_cast<std::int32_t>(port)}) ? 1 : 0;
        if (connected != 1) return false; // host values that are not known
        if (op.name == "Concat") return true;
        const TensorType* in = m_known.type(from);
        const TensorType* out = m_known.type({node.id, 0});
        if (!in || !out) return false;
        if (op.name == "Cast") return in->dtype == out->dtype;
        const Attributes& attributes = m_rewrite.node(node.id).attributes;
        const auto all = [&](const char* name, const auto& holds) {
            if (!attributes.has(name)) return true;
            const auto list = attributes.integers(name);
            return std::all_of(list.begin(), list.end(), holds);
        };
        if (op.name == "Transpose") {
            std::int64_t axis = 0;
            return attributes.has("perm") && all("perm", [&](std::int64_t of) { return of == axis++; });
        }
        if (!isAmong(op.name, kSameIfEqual) || in->shape.rank() != out->shape.rank()) return false;
        for (int axis = 0; axis < in->shape.rank(); ++axis)
            if (!m_known.isSameSize(from, axis, {node.id, 0}, axis)) return false;
        if (op.name == "Slice") return all("steps", [](std::int64_t step) { return step > 0; });
        if (op.name == "Pad") return all("pads", [](std::int64_t pad) { return pad == 0; });
        return true;
    }

    /// Reads past a Reshape or a Transpose that only this node reads.
    void merge(const Node& node) {
        const auto from = m_rewrite.sourceOf({node.id, 0});
        const Node* inner = from && from->port == 0 ? m_graph.find(from->node) : nullptr;
        const auto source = inner ? m_graph.sourceOf({inner->id, 0}) : std::nullopt;
        if (!source || m_graph.outgoing(inner->id).size() != 1 || !mayChange(*inner) ||
            inner->lane != node.lane || !isOnLaneOf(*inner, *source))
            return;
        Node after = m_rewrite.node(node.id);
        if (node.op == "Reshape" && reshapes(inner->op)) {
            if (m_rewrite.sourceOf({node.id, 1}) || !after.attributes.has("shape")) return;
            const auto shape = after.attributes.integers("shape");
            if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return; // copies a size of `inner`
        } else if (node.op == "Transpose" && inner->op == "Transpose") {
            const auto first = permutation(*inner);
            const auto second = permutation(after);
            if (first.empty() || first.size() != second.size()) return;
            std::vector<std::int64_t> both;
            for (const std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
            after.attributes.set("perm", both);
            m_rewrite.change(std::move(after));
        } else {
            return;
        }
        m_rewrite.connect({node.id, 0}, source);
        ++m_of.m_counts.merged;
    }

    /// Empty if the attribute is absent or wrong.
    static std::vector<std::int64_t> permutation(const Node& transpose) {
        if (!transpose.attributes.has("perm")) return {};
        std::vector<std::int64_t> perm = transpose.attributes.integers("perm");
        std::vector<std::int64_t> sorted = perm;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < sorted.size(); ++i)
            if (sorted[i] != static_cast<std::int64_t>(i)) return {};
        return perm;
    }

    Simplification& m_of;
    const Graph& m_graph;
    KnownTensors m_known;
    Bodies m_bodies;
    Rewrite m_rewrite;
    std::unordered_map<NodeId, std::set<std::int32_t>> m_readers; ///< the output ports that are read
    double m_growth = 0; ///< bytes by which computed tensors may still exceed the stored ones
};

/// One call for each level of nested Ifs.
void Simplification::takeBranches() {
    const auto mayGo = [&](const Node& node) {
        return !node.disabled && node.breakpoints.empty() && !m_results.contains(node.id);
    };
    for (int taken = 1; taken > 0; m_counts.branches += taken) {
        throwIfCancelled(m_options.isCancelled);
        const Graph before = m_graph;
        taken = takeKnownBranches(m_graph, KnownTensors(before, m_options.files, m_options.free), mayGo);
    }
}

void Simplification::sweep() { m_graph = Sweep(*this).run(); }

void Simplification::replace(Replacement replacement) {
    throwIfCancelled(m_options.isCancelled);
    const KnownTensors known(m_graph, m_options.files, m_options.free);
    Rewrite rewrite(m_graph);
    for (const auto& [op, count] : replacement(m_graph, known, rewrite)) {
        m_replaced[op].times += count.times;
        m_replaced[op].nodes += count.nodes;
    }
    Graph after = m_graph;
    rewrite.applyTo(after);
    m_graph = std::move(after);
}

/// A Constant with several consumers becomes one per consumer, drawn on the consumer's card.
void Simplification::copySharedConstants() {
    const Bodies bodies(m_graph);
    Rewrite rewrite(m_graph);
    for (const Node& node : m_graph.nodes()) {
        const std::vector<Edge>& readers = m_graph.outgoing(node.id);
        const AttributeValue* value = node.attributes.find("value");
        if (node.op != "Constant" || readers.size() < 2 || !value || bodies.around(node.id) ||
            hasEffect(node, findOp(node.op)))
            continue;
        const auto* numbers = std::get_if<std::vector<double>>(value);
        const auto* integers = std::get_if<std::vector<std::int64_t>>(value);
        const std::size_t length = numbers ? numbers->size() : integers ? integers->size() : 1;
        if (length > kMostCopiedElements) continue;
        bool isFirst = true; // the first consumer keeps the node itself
        for (const Edge& edge : readers) {
            const Node& reader = *m_graph.find(edge.to.node);
            if (bodies.around(reader.id)) continue;
            Node own = node;
            own.frame = reader.frame;
            own.folded = true;
            if (isFirst) {
                rewrite.change(std::move(own));
                ++m_counts.shared;
            } else {
                own.name = m_names.take(node.name);
                rewrite.connect(edge.to, PortRef{rewrite.add(std::move(own)), 0});
                ++m_counts.copies;
            }
            isFirst = false;
        }
    }
    Graph after = m_graph;
    rewrite.applyTo(after);
    m_graph = std::move(after);
}

Graph Simplification::run() {
    takeBranches();
    sweep();
    sweep(); // neighbours of a node that went
    replace(replaceComposedOps);
    sweep();
    replace(replaceAttention);
    replace(replaceSlices);
    replace(replaceLinearLayers); // after attention, which may have an Add of a mask after a MatMul
    sweep();
    copySharedConstants();
    std::erase_if(m_constants, [&](NodeId id) { return !m_graph.find(id); });
    m_graph.apply(fold(m_graph, m_constants));
    return m_graph;
}

std::vector<std::string> remarksOn(const Graph& before, const Graph& after, const Counts& counts,
                                   const ReplacedByOp& replaced) {
    std::vector<std::string> out{
        fmt::format("Simplified from {} to {} nodes", before.nodes().size(), after.nodes().size())};
    for (const auto& [op, count] : replaced)
        out.push_back(fmt::format("Replaced {} by {} {}", counted(count.nodes, "node"), count.times, op));
    if (counts.branches > 0)
        out.push_back(fmt::format("Replaced {} with a known condition by the nodes of the branch that runs",
                                  counted(counts.branches, "If")));
    if (counts.folded > 0)
        out.push_back(fmt::format("Computed the constant results of {}", counted(counts.folded, "node")));
    if (counts.attributes > 0)
        out.push_back(
            fmt::format("Replaced {} of sizes and axes by attributes", counted(counts.attributes, "input")));
    if (counts.neutral > 0)
        out.push_back(fmt::format("Disconnected {} of LayerNormalization, since they are scales of ones and "
                                  "biases of zeros",
                                  counted(counts.neutral, "input")));
    if (counts.passing > 0)
        out.push_back(
            fmt::format("Removed {} that passed on an input unchanged", counted(counts.passing, "node")));
    if (counts.merged > 0)
        out.push_back(
            fmt::format("Merged {} into the next Reshape or Transpose", counted(counts.merged, "node")));
    if (counts.unread > 0)
        out.push_back(fmt::format("Removed {} that nothing reads", counted(counts.unread, "node")));
    if (counts.copies > 0)
        out.push_back(fmt::format("Gave the consumers of {} their own copies ({})",
                                  counted(counts.shared, "shared constant"), counts.copies));
    return out;
}

} // namespace

Simplified simplify(const Graph& graph, const SimplifyOptions& options) {
    if (hasTraining(graph)) return {{}, {"Not simplified, because the graph contains a training module"}};
    if (topologicalOrder(graph).size() != graph.nodes().size())
        return {{}, {"Not simplified, because the graph contains a cycle"}};
    Simplification simplification(graph, options);
    const Graph after = simplification.run();
    Simplified out;
    out.delta = difference(graph, after, "Simplify");
    if (!out.delta.empty())
        out.remarks = remarksOn(graph, after, simplification.counts(), simplification.replaced());
    return out;
}

} // namespace twb
