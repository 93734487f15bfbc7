#include "backends/cpu/strided.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/einsum_terms.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/matmul.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

namespace twb {
namespace {

void inferEinsum(InferContext& ctx) {
    std::vector<Shape> shapes;
    for (int i = 0; i < ctx.inputCount(); ++i) {
        if (!ctx.input(i)) ctx.fail("missing-input", i, fmt::format("operand {} of Einsum is missing", i));
        shapes.push_back(ctx.input(i)->shape);
    }
    EinsumEquation equation;
    try {
        equation = parseEinsum(ctx.attributes().text("equation"), ranksOf(shapes));
    } catch (const Error& wrong) {
        ctx.fail("attribute", -1, wrong.what());
    }
    const EinsumSizes sizes = einsumSizes(equation, shapes, [&](int port, const std::string& sentence) {
        ctx.fail("shape-mismatch", port, sentence);
    });
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : equation.result) dims.push_back(sizes.at(label));
    ctx.output(0, {ctx.input(0)->dtype, Shape(std::move(dims))});
}

/// Two operations for each combination of labels, as if all operands were multiplied at once. The pairwise
/// contractions never take more.
Cost einsumCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                const Attributes& attributes) {
    Cost cost = streamingCost(inputs, outputs, 0);
    std::vector<Shape> shapes;
    for (const TensorType& type : inputs) shapes.push_back(type.shape);
    const EinsumEquation equation = parseEinsum(attributes.text("equation"), ranksOf(shapes));
    const EinsumSizes sizes = einsumSizes(equation, shapes, [](int, const std::string&) {});
    double count = 2;
    for (const auto& [label, size] : sizes) count *= static_cast<double>(size);
    cost.flops = count;
    return cost;
}

/// An intermediate operand, with its memory if it is a copy.
struct Held : EinsumTerm {
    Tensor keep;
};

/// Sums over the labels that neither another operand nor the result has. Labels of size 1 here that are
/// larger in other operands stay for those.
template <class T> void sumOut(Held& term, const EinsumLabels& needed) {
    std::array<bool, kMaxRank> reduced{};
    EinsumLabels left;
    bool any = false;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
        reduced[i] = !hasLabel(needed, term.labels[i]);
        any = any || reduced[i];
        if (!reduced[i]) left.push_back(term.labels[i]);
    }
    if (!any) return;
    Tensor sums = Tensor::onHost({term.view.dtype, reducedShape(term.view.shape, reduced, false)});
    T* const out = static_cast<T*>(sums.data());
    reduce(splitAxes(term.view, reduced), SumRule<T>{},
           [out](std::int64_t i, Wide<T> sum) { out[i] = static_cast<T>(sum); });
    term = {{sums.view(), std::move(left)}, sums};
}

/// A dense copy of a term as (batch, rows, columns).
Tensor stacked(const EinsumTerm& term, const EinsumLabels& labels, const EinsumSizes& sizes,
               const Shape& as) {
    const TensorView view = arranged(term, labels, sizes);
    const Tensor dense = Tensor::onHost({view.dtype, view.shape});
    copyElements(view, dense.view());
    return {dense.buffer(), {view.dtype, as}};
}

template <class T>
Held contract(Held a, Held b, const EinsumLabels& needed, const EinsumSizes& sizes,
              const Attributes& attributes) {
    sumOut<T>(a, joinedLabels({&needed, &b.labels}));
    sumOut<T>(b, joinedLabels({&needed, &a.labels}));
    const EinsumContraction c(a, b, needed, sizes);
    const Tensor left = stacked(a, c.left(), sizes, {c.n, c.m, c.k});
    const Tensor right = stacked(b, c.right(), sizes, {c.n, c.k, c.p});
    const Tensor product = Tensor::onHost({a.view.dtype, {c.n, c.m, c.p}});
    const std::array inputs{left.view(), right.view()};
    const std::array outputs{product.view()};
    matMulKernel({inputs, outputs, attributes, nullptr});
    const Tensor shaped(product.buffer(), {a.view.dtype, einsumShape(c.product(), sizes)});
    return {{shaped.view(), c.product()}, shaped};
}

template <class T>
void einsum(const KernelContext& ctx, std::span<const TensorView> views, const TensorView& out) {
    std::vector<Shape> shapes;
    for (const TensorView& view : views) shapes.push_back(view.shape);
    const EinsumEquation equation = parseEinsum(ctx.attributes.text("equation"), ranksOf(shapes));
    const EinsumSizes sizes = einsumSizes(equation, shapes, [](int, const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
    Held term{einsumTerm(views[0], equation.operands[0]), {}};
    for (std::size_t n = 1; n < views.size(); ++n)
        term = contract<T>(std::move(term), {einsumTerm(views[n], equation.operands[n]), {}},
                           neededFrom(equation, n + 1), sizes, ctx.attributes);
    sumOut<T>(term, equation.result);
    copyElements(arranged(term, equation.result, sizes), out);
}

/// Integers narrower than the matrix product's types are widened; with wraparound the low bits are the same.
void einsumKernel(const KernelContext& ctx) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    const bool narrow = isInteger(out.dtype) && sizeOf(out.dtype) < 4;
    if (!narrow)
        return withMatrixType(out.dtype, [&](auto zero) { einsum<decltype(zero)>(ctx, ctx.inputs, out); });
    std::vector<Tensor> wide;
    std::vector<TensorView> views;
    for (const TensorView& in : ctx.inputs) {
        wide.push_back(Tensor::onHost({DType::i64, in.shape}));
        views.push_back(wide.back().view());
        convertElements(in, views.back());
    }
    const Tensor result = Tensor::onHost({DType::i64, out.shape});
    einsum<std::int64_t>(ctx, views, result.view());
    convertElements(result.view(), out);
}

/// The gradient of an operand is an einsum of the gradient of the result with the other operands. An axis
/// that only this operand has was summed, so the gradient is repeated along it.
void einsumGradient(GradientContext& g) {
    std::vector<int> ranks;
    for (int i = 0; i < g.inputCount(); ++i) ranks.push_back(g.input(i).shape().rank());
    const EinsumEquation equation = parseEinsum(g.attributes().text("equation"), ranks);
    std::map<EinsumLabel, char> letters;
    const auto letterOf = [&](EinsumLabel label) {
        const auto n = static_cast<int>(letters.size());
        if (n == 52 && !letters.contains(label)) g.refuse("Einsum has no gradient for more than 52 axes");
        return letters.try_emplace(label, static_cast<char>(n < 26 ? 'a' + n : 'A' + n - 26)).first->second;
    };
    const auto term = [&](const std::vector<EinsumLabel>& labels) {
        std::string out;
        for (const EinsumLabel label : labels) out += letterOf(label);
        return out;
    };
    for (int i = 0; i < g.inputCount(); ++i) {
        if (!g.isWanted(i)) continue;
        const std::vector<EinsumLabel>& own = equation.operands[static_cast<std::size_t>(i)];
        std::vector<GraphTensor> operands{g.gradient()};
        std::string text = term(equation.result);
        std::set<EinsumLabel> others(equation.result.begin(), equation.result.end());
        for (int other = 0; other < g.inputCount(); ++other) {
            if (other == i) continue;
            const std::vector<EinsumLabel>& labels = equation.operands[static_cast<std::size_t>(other)];
            operands.push_back(g.input(other));
            text += "," + term(labels);
            others.insert(labels.begin(), labels.end());
        }
        // An axis that repeats another one is left out: only the diagonal has a gradient.
        const auto firstAxis = [&](EinsumLabel label) { return std::ranges::find(own, label) - own.begin(); };
        const auto isShared = [&](std::size_t axis) {
            return others.contains(own[axis]) && firstAxis(own[axis]) == static_cast<std::ptrdiff_t>(axis);
        };
        std::vector<EinsumLabel> shared;
        for (std::size_t axis = 0; axis < own.size(); ++axis)
            if (isShared(axis)) shared.push_back(own[axis]);
        GraphTensor out = g.add("Einsum", operands, {{"equation", text + "->" + term(shared)}});
        std::vector<std::int64_t> kept;
        std::vector<std::int64_t> repeated;
        int at = 0;
        for (std::size_t axis = 0; axis < own.size(); ++axis) {
            kept.push_back(isShared(axis) ? out.shape()[at++] : 1);
            repeated.push_back(isShared(axis) ? kept.back() : g.input(i).shape()[static_cast<int>(axis)]);
        }
        out = expand(reshape(out, Shape(std::move(kept))), Shape(std::move(repeated)));
        const auto placesAlong = [&](std::ptrdiff_t axis) {
            return progression(g, DType::i64, out.shape()[static_cast<int>(axis)], 0, 1,
                               out.shape().rank() - 1 - static_cast<int>(axis));
        };
        for (std::size_t axis = 0; axis < own.size(); ++axis)
            if (const auto place = static_cast<std::ptrdiff_t>(axis); firstAxis(own[axis]) != place)
                out = where(isEqual(placesAlong(place), placesAlong(firstAxis(own[axis]))), out);
        g.give(i, out);
    }
}

} // namespace

void addEinsum(std::vector<Op>& table) {
    Op op = makeOp("Einsum", "Linear algebra", 28,
                   "Sum of products over named axes, such as a matrix product, a trace or a transpose",
                   "ij, jk → ik is the matrix product");
    op.inputs = {variadicPort("Inputs", "operands", kNumbers, "T")};
    op.outputs = {port("Output", "", kNumbers, "T")};
    AttributeSpec equation;
    equation.name = "equation";
    equation.type = AttributeType::text;
    equation.defaultValue = std::string("...ij, ...jk -> ...ik");
    equation.doc = "One letter per axis; axes with the same letter are matched, and letters absent from the "
                   "result are summed";
    op.attributes = {std::move(equation)};
    op.tolerance = {1e-5, 1e-5};
    op.infer = inferEinsum;
    op.cost = einsumCost;
    op.kernel = viaFloat<einsumKernel>;
    op.gradient = einsumGradient;
    table.push_back(std::move(op));

    describe(table, "Einsum", "Axes with the same letter have the same size",
             {operand({2, 3}), operand({3, 4})}, {{"equation", std::string("ij, jk -> ik")}});
}

} // namespace twb
