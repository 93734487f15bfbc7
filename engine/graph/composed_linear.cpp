#include "graph/composed_ops.h"
#include "graph/op_matcher.h"

namespace twb {
namespace {

/// Whether the tensor has `columns` elements, all in its last axis.
bool isRow(const Shape& shape, std::int64_t columns) {
    if (columns == kUnknownDim || shape.rank() == 0 || shape[shape.rank() - 1] != columns) return false;
    for (int axis = 0; axis < shape.rank() - 1; ++axis)
        if (shape[axis] != 1) return false;
    return true;
}

/// Replaces the product `output` and `sum`, which adds `bias` to it.
void linearLayer(OpMatcher& match, const Node& sum, PortRef output, PortRef bias) {
    if (bias.node == output.node) return; // a product that is added to itself
    const Node* product = match.find(output, "MatMul");
    const auto a = product ? match.input(*product, 0) : std::nullopt;
    const auto b = product ? match.input(*product, 1) : std::nullopt;
    const TensorType* x = match.type(a);
    const TensorType* weight = match.type(b);
    const TensorType* added = match.type(bias);
    if (!x || !weight || !added || weight->shape.rank() != 2 || added->shape.rank() > x->shape.rank() ||
        !isRow(added->shape, weight->shape[1]))
        return;
    match.replace({.last = sum.id,
                   .inner = {product->id},
                   .op = "Gemm",
                   .inputs = {*a, *b, bias},
                   .types = {*x, *weight, *added}});
}

} // namespace

ReplacedByOp replaceLinearLayers(const Graph& graph, const KnownTensors& known, Rewrite& rewrite) {
    OpMatcher match(graph, known, rewrite);
    for (const Node& node : graph.nodes()) {
        if (node.op != "Add" || !match.mayReplace(node)) continue;
        const auto a = match.input(node, 0);
        const auto b = match.input(node, 1);
        if (!a || !b) continue;
        linearLayer(match, node, *a, *b);
        if (match.mayReplace(node)) linearLayer(match, node, *b, *a);
    }
    return match.replaced();
}

} // namespace twb
