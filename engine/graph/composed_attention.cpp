#include "graph/composed_ops.h"
#include "graph/op_matcher.h"

#include <utility>

namespace twb {
namespace {

using Axes = std::vector<std::int64_t>;

/// softmax(scale · q × kᵀ + mask) × v.
struct Parts {
    PortRef q, v;
    const Node* keys = nullptr; ///< the Transpose that gives kᵀ
    std::optional<PortRef> mask{};
    PortRef scores{}; ///< before the mask
    double scale = 1;
};

/// Multiplies `scale` by the numbers by which `output` is scaled; returns the tensor before that.
PortRef withoutScale(const OpMatcher& match, PortRef output, double& scale, std::set<NodeId>& inner) {
    while (true) {
        const Node* node = match.find(output, "Mul");
        const bool divides = !node && (node = match.find(output, "Div"));
        if (!node || match.graph().outgoing(node->id).size() != 1) return output;
        auto from = match.input(*node, 0);
        auto number = match.number(match.input(*node, 1));
        if (!divides && !number) {
            from = match.input(*node, 1);
            number = match.number(match.input(*node, 0));
        }
        if (!from || !number || (divides && *number == 0)) return output;
        scale = divides ? scale / *number : scale * *number;
        inner.insert(node->id);
        output = *from;
    }
}

bool findScores(const OpMatcher& match, PortRef scores, Parts& parts, std::set<NodeId>& inner) {
    std::set<NodeId> visited;
    double scale = 1;
    const Node* product = match.find(withoutScale(match, scores, scale, visited), "MatMul");
    const auto q = product ? match.input(*product, 0) : std::nullopt;
    const auto k = product ? match.input(*product, 1) : std::nullopt;
    if (!q || !k) return false;
    visited.insert(product->id);
    parts.q = withoutScale(match, *q, scale, visited);
    parts.keys = match.find(withoutScale(match, *k, scale, visited), "Transpose");
    if (!parts.keys) return false;
    visited.insert(parts.keys->id);
    parts.scores = scores;
    parts.scale = scale;
    inner.merge(visited);
    return true;
}

Axes permutation(const OpMatcher& match, const Node& transpose) {
    const Attributes* attributes = match.known().attributes(transpose.id);
    return attributes && attributes->has("perm") ? attributes->integers("perm") : Axes();
}

/// Whether two sizes are equal; both may be unknown.
bool same(const Shape& a, const Shape& b, int axis) { return a[axis] == b[axis]; }

/// Attention and Add treat a mask with fewer keys than the scores differently.
bool maskFits(const OpMatcher& match, const Parts& parts) {
    if (!parts.mask) return true;
    const TensorType* mask = match.type(parts.mask);
    const TensorType* scores = match.type(parts.scores);
    if (!mask || !scores || mask->dtype != scores->dtype) return false;
    const int rank = mask->shape.rank();
    return rank >= 1 && rank <= (scores->shape.rank() == 4 ? 4 : 2) &&
           mask->shape[rank - 1] == scores->shape[scores->shape.rank() - 1];
}

/// Three axes, of which the last one holds all heads.
struct Flat {
    PortRef from;
    std::int64_t heads = 0;
};

/// Whether a Reshape from or to three axes keeps the first two; if it keeps one of them, it keeps the other.
bool keepsRows(const OpMatcher& match, PortRef before, PortRef after) {
    return match.known().isSameSize(before, 0, after, 0) || match.known().isSameSize(before, 1, after, 1);
}

/// If `transpose` splits heads off a flat tensor (Reshape to batch × length × heads × size, then Transpose
/// with `order`): that flat tensor and its number of heads.
std::optional<Flat> flatten(const OpMatcher& match, const Node* transpose, const Axes& order,
                            std::set<NodeId>& inner) {
    if (!transpose || permutation(match, *transpose) != order) return std::nullopt;
    const Node* reshape = match.find(match.input(*transpose), "Reshape");
    const auto from = reshape ? match.input(*reshape) : std::nullopt;
    const TensorType* flat = match.type(from);
    const TensorType* split = reshape ? match.type(PortRef{reshape->id, 0}) : nullptr;
    if (!flat || !split || flat->shape.rank() != 3 || split->shape.rank() != 4) return std::nullopt;
    const Shape& a = flat->shape;
    const Shape& b = split->shape;
    const bool isSplit = a[2] != kUnknownDim && b[2] > 0 && b[3] > 0 && a[2] == b[2] * b[3];
    if (!isSplit || !keepsRows(match, *from, {reshape->id, 0})) return std::nullopt;
    inner.insert({transpose->id, reshape->id});
    return Flat{*from, b[2]};
}

/// Replaces the reshapes around the attention, too, if the inputs and the output have their heads in the last
/// axis.
bool replaceFlat(OpMatcher& match, const Node& product, const Parts& parts, ComposedOp found) {
    const auto q = flatten(match, match.find(parts.q, "Transpose"), {0, 2, 1, 3}, found.inner);
    const auto k = flatten(match, parts.keys, {0, 2, 3, 1}, found.inner);
    const auto v = flatten(match, match.find(parts.v, "Transpose"), {0, 2, 1, 3}, found.inner);
    if (!q || !k || !v || q->heads != k->heads || q->heads != v->heads) return false;
    const Node* transpose = match.onlyReader(product, "Transpose");
    const Node* reshape = transpose ? match.onlyReader(*transpose, "Reshape") : nullptr;
    if (!reshape || permutation(match, *transpose) != Axes{0, 2, 1, 3}) return false;
    const PortRef split{transpose->id, 0};
    const PortRef joined{reshape->id, 0};
    const TensorType* from = match.type(split);
    const TensorType* to = match.type(joined);
    if (!from || !to || to->shape.rank() != 3 || to->shape[2] == kUnknownDim || from->shape[2] <= 0 ||
        to->shape[2] != from->shape[2] * from->shape[3] || !keepsRows(match, split, joined))
        return false;
    found.inner.insert({product.id, transpose->id});
    found.last = reshape->id;
    found.attributes.set("q_num_heads", q->heads);
    found.attributes.set("kv_num_heads", q->heads);
    found.inputs[0] = q->from;
    found.inputs[1] = k->from;
    found.inputs[2] = v->from;
    for (std::size_t i = 0; i < 3; ++i) found.types[i] = *match.type(found.inputs[i]);
    return match.replace(found);
}

void attention(OpMatcher& match, Rewrite& rewrite, const Node& product) {
    ComposedOp found;
    found.op = "Attention";
    found.last = product.id;
    const Node* softmax = match.find(match.input(product), "Softmax");
    const auto v = match.input(product, 1);
    const auto logits = softmax ? match.input(*softmax) : std::nullopt;
    const Attributes* attributes = softmax ? match.known().attributes(softmax->id) : nullptr;
    const TensorType* type = match.type(logits);
    if (!v || !type || !attributes) return;
    const int rank = type->shape.rank();
    const auto axis = normalizeAxis(attributes->integer("axis"), rank);
    if ((rank != 3 && rank != 4) || axis != rank - 1) return;
    found.inner.insert(softmax->id);

    Parts parts;
    parts.v = *v;
    if (!findScores(match, *logits, parts, found.inner)) {
        const Node* sum = match.find(*logits, "Add");
        const auto a = sum ? match.input(*sum, 0) : std::nullopt;
        const auto b = sum ? match.input(*sum, 1) : std::nullopt;
        if (!a || !b) return;
        found.inner.insert(sum->id);
        if (findScores(match, *a, parts, found.inner))
            parts.mask = b;
        else if (findScores(match, *b, parts, found.inner))
            parts.mask = a;
        else
            return;
    }
    const auto k = match.input(*parts.keys);
    Axes order = permutation(match, *parts.keys);
    const TensorType* queries = match.type(parts.q);
    const TensorType* transposed = match.type(PortRef{parts.keys->id, 0});
    const TensorType* values = match.type(parts.v);
    if (!k || !queries || !transposed || !values || order.size() != static_cast<std::size_t>(rank) ||
        queries->shape.rank() != rank || transposed->shape.rank() != rank || values->shape.rank() != rank ||
        !maskFits(match, parts))
        return;
    for (int i = 0; i < rank - 2; ++i) // MatMul would broadcast them
        if (!same(queries->shape, transposed->shape, i) || !same(queries->shape, values->shape, i)) return;
    TensorType keys = *transposed;
    std::swap(keys.shape[rank - 2], keys.shape[rank - 1]);
    std::swap(order[order.size() - 2], order.back());

    found.attributes.set("scale", parts.scale);
    if (rank == 3) { // one head
        found.attributes.set("q_num_heads", std::int64_t{1});
        found.attributes.set("kv_num_heads", std::int64_t{1});
    }
    found.inputs = {parts.q, *k, parts.v};
    found.types = {*queries, keys, *values};
    if (parts.mask) {
        found.inputs.push_back(*parts.mask);
        found.types.push_back(*match.type(parts.mask));
    }
    if (rank == 4 && replaceFlat(match, product, parts, found)) return;
    bool isInOrder = true;
    for (std::size_t i = 0; i < order.size(); ++i)
        isInOrder = isInOrder && order[i] == static_cast<std::int64_t>(i);
    if (isInOrder) {
        match.replace(found);
        return;
    }
    // The Transpose stays, with another order.
    found.inputs[1] = {parts.keys->id, 0};
    found.kept = parts.keys->id;
    if (!match.replace(found)) return;
    Node transpose = rewrite.node(parts.keys->id);
    transpose.attributes.set("perm", order);
    rewrite.change(std::move(transpose));
}

} // namespace

ReplacedByOp replaceAttention(const Graph& graph, const KnownTensors& known, Rewrite& rewrite) {
    OpMatcher match(graph, known, rewrite);
    for (const Node& node : graph.nodes())
        if (node.op == "MatMul" && match.mayReplace(node)) attention(match, rewrite, node);
    return match.replaced();
}

} // namespace twb
