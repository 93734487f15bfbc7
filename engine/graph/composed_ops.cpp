#include "graph/composed_ops.h"

#include "graph/op_matcher.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace twb {
namespace {

/// Both orders of the inputs of an op with two inputs.
std::vector<std::pair<PortRef, PortRef>> bothOrders(const OpMatcher& match, const Node& node) {
    const auto a = match.input(node, 0);
    const auto b = match.input(node, 1);
    if (!a || !b) return {};
    return {{*a, *b}, {*b, *a}};
}

/// The number of last axes over which a ReduceMean reduces if those are all its axes and it keeps them; 0
/// otherwise.
int lastAxes(const OpMatcher& match, const Node& mean) {
    const Attributes* attributes = match.known().attributes(mean.id);
    const TensorType* in = match.type(match.input(mean));
    if (!attributes || !in || match.input(mean, 1) || !attributes->flag("keepdims") ||
        !attributes->has("axes"))
        return 0;
    std::vector<int> axes;
    for (const std::int64_t given : attributes->integers("axes")) {
        const auto axis = normalizeAxis(given, in->shape.rank());
        if (!axis) return 0;
        axes.push_back(*axis);
    }
    std::sort(axes.begin(), axes.end());
    const int count = static_cast<int>(axes.size());
    for (int i = 0; i < count; ++i)
        if (axes[static_cast<std::size_t>(i)] != in->shape.rank() - count + i) return 0;
    return count;
}

/// A tensor divided by a root mean square: data / √(mean + epsilon).
struct Quotient {
    PortRef data;
    const Node* mean = nullptr; ///< ReduceMean
    double epsilon = 0;
    std::set<NodeId> inner;
};

std::optional<Quotient> quotientOf(const OpMatcher& match, const Node& node) {
    Quotient out;
    const Node* root = nullptr;
    if (node.op == "Div") {
        root = match.find(match.input(node, 1), "Sqrt");
        const auto data = match.input(node);
        if (!root || !data) return std::nullopt;
        out.data = *data;
    } else if (node.op == "Mul") {
        for (const auto& [data, factor] : bothOrders(match, node)) {
            const Node* inverse = match.find(factor, "Reciprocal");
            if (inverse) {
                root = match.find(match.input(*inverse), "Sqrt");
            } else if ((inverse = match.find(factor, "Div"))) {
                const bool isInverse = match.isNumber(match.input(*inverse), 1, data);
                root = isInverse ? match.find(match.input(*inverse, 1), "Sqrt") : nullptr;
            }
            out.data = data;
            if (!root) continue;
            out.inner.insert(inverse->id);
            break;
        }
    }
    const Node* sum = root ? match.find(match.input(*root), "Add") : nullptr;
    if (!sum) return std::nullopt;
    for (const auto& [mean, epsilon] : bothOrders(match, *sum)) {
        const std::optional<double> number = match.number(epsilon);
        out.mean = match.find(mean, "ReduceMean");
        if (!out.mean || !number || !(*number >= 0)) continue;
        out.epsilon = *number;
        out.inner.insert({root->id, sum->id, out.mean->id});
        return out;
    }
    return std::nullopt;
}

/// The base x if `output` is Pow(x, 2) or Mul(x, x); else nothing. Adds that node to `inner`.
std::optional<PortRef> squaredBy(const OpMatcher& match, std::optional<PortRef> output,
                                 std::set<NodeId>& inner) {
    std::optional<PortRef> base;
    const Node* square = match.find(output, "Pow");
    if (square) {
        base = match.input(*square);
        if (!base || !match.isNumber(match.input(*square, 1), 2, *base)) return std::nullopt;
    } else if ((square = match.find(output, "Mul"))) {
        base = match.input(*square);
        if (base != match.input(*square, 1)) return std::nullopt;
    }
    if (square) inner.insert(square->id);
    return base;
}

/// The tensor x if `output` is x minus its mean over the last `axes` axes; else nothing.
std::optional<PortRef> deviationFrom(const OpMatcher& match, PortRef output, int axes,
                                     std::set<NodeId>& inner) {
    const Node* difference = match.find(output, "Sub");
    const Node* mean = difference ? match.find(match.input(*difference, 1), "ReduceMean") : nullptr;
    if (!mean || match.input(*difference) != match.input(*mean) || lastAxes(match, *mean) != axes)
        return std::nullopt;
    inner.insert({difference->id, mean->id});
    return match.input(*mean);
}

/// The scale or bias that `reader` applies to the node, if it has at most `axes` axes.
std::optional<PortRef> perFeature(const OpMatcher& match, const Node& node, const Node* reader, int axes) {
    const auto given = reader ? match.other(*reader, {node.id, 0}) : std::nullopt;
    const TensorType* type = match.type(given);
    return type && type->shape.rank() <= axes ? given : std::nullopt;
}

/// Replaces a LayerNormalization or RMSNormalization; `node` is its division (Div, or Mul by a reciprocal).
void normalization(OpMatcher& match, const Node& node) {
    auto quotient = quotientOf(match, node);
    if (!quotient) return;
    const int axes = lastAxes(match, *quotient->mean);
    const auto base = squaredBy(match, match.input(*quotient->mean), quotient->inner);
    if (!base || axes == 0) return;

    ComposedOp found;
    found.op = "RMSNormalization";
    found.attributes = {{"axis", std::int64_t{-axes}}, {"epsilon", quotient->epsilon}};
    std::set<NodeId> centred = quotient->inner;
    PortRef x = quotient->data;
    const auto mean = deviationFrom(match, *base, axes, centred);
    const auto same = deviationFrom(match, x, axes, centred);
    if (mean && mean == same) {
        found.op = "LayerNormalization";
        found.inner = std::move(centred);
        x = *mean;
    } else if (*base == x) {
        found.inner = std::move(quotient->inner);
    } else {
        return;
    }
    const Node* scaled = match.onlyReader(node, "Mul");
    const auto weight = perFeature(match, node, scaled, axes);
    if (!weight) return;
    found.inner.insert(node.id);
    found.inputs = {x, *weight};
    found.last = scaled->id;
    if (found.op == "LayerNormalization") {
        const Node* shifted = match.onlyReader(*scaled, "Add");
        if (const auto bias = perFeature(match, *scaled, shifted, axes)) {
            found.inner.insert(scaled->id);
            found.inputs.push_back(*bias);
            found.last = shifted->id;
        }
    }
    for (const PortRef input : found.inputs) {
        const TensorType* type = match.type(input);
        if (!type) return;
        found.types.push_back(*type);
    }
    match.replace(found);
}

void replaceUnary(OpMatcher& match, ComposedOp& found, PortRef x) {
    const TensorType* type = match.type(x);
    if (!type) return;
    found.inputs = {x};
    found.types = {*type};
    match.replace(found);
}

/// Whether `output` is half of x.
bool isHalf(const OpMatcher& match, std::optional<PortRef> output, PortRef x, std::set<NodeId>& inner) {
    const Node* half = match.find(output, "Mul");
    const bool is = half && match.isNumber(match.other(*half, x), 0.5, x);
    if (is) inner.insert(half->id);
    return is;
}

/// Replaces x · ½ · (1 + f(x)), factors in any order; `function` is the node f.
void gelu(OpMatcher& match, const Node& function, PortRef x, ComposedOp found) {
    const Node* sum = match.onlyReader(function, "Add");
    if (!sum || !match.isNumber(match.other(*sum, {function.id, 0}), 1, x)) return;
    const Node* first = match.onlyReader(*sum, "Mul");
    if (!first) return;
    const auto factor = match.other(*first, {sum->id, 0});
    found.op = "Gelu";
    found.inner.insert({function.id, sum->id});
    found.last = first->id;
    if (isHalf(match, factor, x, found.inner)) return replaceUnary(match, found, x);
    const Node* second = match.onlyReader(*first, "Mul");
    if (!second) return;
    const auto last = match.other(*second, {first->id, 0});
    const bool halvesLast = factor == x && match.isNumber(last, 0.5, x);
    const bool halvesFirst = match.isNumber(factor, 0.5, x) && last == x;
    if (!halvesLast && !halvesFirst) return;
    found.inner.insert(first->id);
    found.last = second->id;
    replaceUnary(match, found, x);
}

/// Replaces a Gelu whose erf(x / √2) is `erf`.
void geluOfErf(OpMatcher& match, const Node& erf) {
    const Node* scaled = match.find(match.input(erf), "Div");
    if (const auto x = scaled ? match.input(*scaled) : std::nullopt) {
        if (match.isNumber(match.input(*scaled, 1), std::numbers::sqrt2, *x))
            gelu(match, erf, *x, {.inner = {scaled->id}});
        return;
    }
    scaled = match.find(match.input(erf), "Mul");
    if (!scaled) return;
    for (const auto& [x, factor] : bothOrders(match, *scaled))
        if (match.isNumber(factor, std::numbers::sqrt2 / 2, x))
            return gelu(match, erf, x, {.inner = {scaled->id}});
}

/// A product of numbers and powers of x.
struct Monomial {
    double factor = 1;
    int power = 0;
};

/// Multiplies `out` by the tensor `output`; false if the tensor is not a product of numbers and powers of x.
bool multiply(const OpMatcher& match, PortRef output, PortRef x, Monomial& out, std::set<NodeId>& inner) {
    if (output == x) return ++out.power <= 3;
    if (const auto number = match.number(output)) {
        out.factor *= *number;
        return true;
    }
    if (const Node* power = match.find(output, "Pow")) {
        if (match.input(*power) != x) return false;
        for (const int exponent : {2, 3})
            if (match.isNumber(match.input(*power, 1), exponent, x)) {
                out.power += exponent;
                inner.insert(power->id);
                return out.power <= 3;
            }
        return false;
    }
    const Node* product = match.find(output, "Mul");
    const auto a = product ? match.input(*product, 0) : std::nullopt;
    const auto b = product ? match.input(*product, 1) : std::nullopt;
    if (!a || !b) return false;
    inner.insert(product->id);
    return multiply(match, *a, x, out, inner) && multiply(match, *b, x, out, inner);
}

/// Replaces a Gelu whose tanh(√(2/π) · (x + 0.044715 · x³)) is `tanh`.
void geluOfTanh(OpMatcher& match, const Node& tanh) {
    const Node* scaled = match.find(match.input(tanh), "Mul");
    if (!scaled) return;
    for (const auto& [argument, factor] : bothOrders(match, *scaled)) {
        const Node* sum = match.find(argument, "Add");
        if (!sum || !match.isNumber(factor, std::sqrt(2 / std::numbers::pi), argument)) continue;
        for (const auto& [x, cubic] : bothOrders(match, *sum)) {
            ComposedOp found;
            found.attributes = {{"approximate", std::string("tanh")}};
            found.inner = {scaled->id, sum->id};
            Monomial product;
            if (!multiply(match, cubic, x, product, found.inner) || product.power != 3 ||
                !match.isNear(product.factor, 0.044715, x))
                continue;
            return gelu(match, tanh, x, std::move(found));
        }
    }
}

/// Replaces a Swish, x · sigmoid(alpha · x), whose sigmoid is `sigmoid`.
void swish(OpMatcher& match, const Node& sigmoid) {
    const Node* product = match.onlyReader(sigmoid, "Mul");
    const auto x = product ? match.other(*product, {sigmoid.id, 0}) : std::nullopt;
    if (!x) return;
    ComposedOp found;
    found.op = "Swish";
    found.last = product->id;
    found.inner = {sigmoid.id};
    if (match.input(sigmoid) != x) {
        const Node* scaled = match.find(match.input(sigmoid), "Mul");
        const auto alpha = scaled ? match.number(match.other(*scaled, *x)) : std::nullopt;
        if (!alpha) return;
        found.attributes = {{"alpha", *alpha}};
        found.inner.insert(scaled->id);
    }
    replaceUnary(match, found, *x);
}

} // namespace

ReplacedByOp replaceComposedOps(const Graph& graph, const KnownTensors& known, Rewrite& rewrite) {
    OpMatcher match(graph, known, rewrite);
    for (const Node& node : graph.nodes()) {
        if (!match.mayReplace(node)) continue;
        if (node.op == "Div" || node.op == "Mul")
            normalization(match, node);
        else if (node.op == "Erf")
            geluOfErf(match, node);
        else if (node.op == "Tanh")
            geluOfTanh(match, node);
        else if (node.op == "Sigmoid")
            swish(match, node);
    }
    return match.replaced();
}

} // namespace twb
