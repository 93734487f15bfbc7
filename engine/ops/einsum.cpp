#include "backends/cpu/strided.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/einsum_equation.h"
#include "ops/families.h"
#include "ops/matmul.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace twb {
namespace {

using Labels = std::vector<EinsumLabel>;
using Sizes = std::map<EinsumLabel, std::int64_t>;

bool has(const Labels& labels, EinsumLabel label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// The size of each label: axes of one label are equal or 1.
template <class Fail>
Sizes sizesOf(const EinsumEquation& equation, const std::vector<Shape>& shapes, const Fail& fail) {
    Sizes sizes;
    for (std::size_t n = 0; n < shapes.size(); ++n)
        for (int axis = 0; axis < shapes[n].rank(); ++axis) {
            const std::int64_t size = shapes[n][axis];
            const auto [at, isNew] =
                sizes.emplace(equation.operands[n][static_cast<std::size_t>(axis)], size);
            std::int64_t& known = at->second;
            if (isNew || known == size || size == 1) continue;
            if (known == 1 || known == kUnknownDim)
                known = size == kUnknownDim && known != 1 ? known : size;
            else if (size != kUnknownDim)
                fail(static_cast<int>(n),
                     fmt::format(
                         "einsum(): operands do not broadcast with remapped shapes [original->remapped]: "
                         "dimension {} of operand {} has size {}, which does not broadcast with {}",
                         axis, n, size, known));
        }
    return sizes;
}

std::vector<int> ranksOf(const std::vector<Shape>& shapes) {
    std::vector<int> ranks;
    for (const Shape& shape : shapes) ranks.push_back(shape.rank());
    return ranks;
}

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
    const Sizes sizes = sizesOf(equation, shapes, [&](int port, const std::string& sentence) {
        ctx.fail("shape-mismatch", port, sentence);
    });
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : equation.result) dims.push_back(sizes.at(label));
    ctx.output(0, {ctx.input(0)->dtype, Shape(std::move(dims))});
}

/// Two operations for each combination of labels, as if everything were summed at once: operands are in fact
/// contracted two by two, which is never more.
Cost einsumCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                const Attributes& attributes) {
    Cost cost = streamingCost(inputs, outputs, 0);
    std::vector<Shape> shapes;
    for (const TensorType& type : inputs) shapes.push_back(type.shape);
    const EinsumEquation equation = parseEinsum(attributes.text("equation"), ranksOf(shapes));
    const Sizes sizes = sizesOf(equation, shapes, [](int, const std::string&) {});
    double count = 2;
    for (const auto& [label, size] : sizes) count *= static_cast<double>(size);
    cost.flops = count;
    return cost;
}

/// An operand on its way: no label twice.
struct Term {
    Tensor keep;
    TensorView view;
    Labels labels;
};

/// Axes of one label become its diagonal.
Term diagonalOf(const TensorView& view, const Labels& labels) {
    Term term{{}, {view.data, view.dtype, {}, {}}, {}};
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::int64_t size = view.shape[static_cast<int>(i)];
        const auto at = static_cast<std::size_t>(
            std::find(term.labels.begin(), term.labels.end(), labels[i]) - term.labels.begin());
        if (at == term.labels.size()) {
            term.labels.push_back(labels[i]);
            dims.push_back(size);
            term.view.strides.push_back(size == 1 ? 0 : view.strides[i]);
        } else {
            dims[at] = dims[at] == 1 ? size : dims[at];
            if (size != 1) term.view.strides[at] += view.strides[i];
        }
    }
    term.view.shape = Shape(std::move(dims));
    return term;
}

/// The term seen with these labels in this order; those that it lacks or has with size 1 repeat it.
TensorView arranged(const Term& term, const Labels& labels, const Sizes& sizes) {
    TensorView out{term.view.data, term.view.dtype, {}, {}};
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : labels) {
        const auto at = std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin();
        const bool own = at < static_cast<std::ptrdiff_t>(term.labels.size()) &&
                         term.view.shape[static_cast<int>(at)] != 1;
        dims.push_back(sizes.at(label));
        out.strides.push_back(own ? term.view.strides[static_cast<std::size_t>(at)] : 0);
    }
    out.shape = Shape(std::move(dims));
    return out;
}

/// Sums over the labels that nobody else needs. One that the term has with size 1 but others with more is
/// left for these.
template <class T> void sumOut(Term& term, const Labels& needed) {
    std::array<bool, kMaxRank> reduced{};
    Labels left;
    bool any = false;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
        reduced[i] = !has(needed, term.labels[i]);
        any = any || reduced[i];
        if (!reduced[i]) left.push_back(term.labels[i]);
    }
    if (!any) return;
    Tensor sums = Tensor::onHost({term.view.dtype, reducedShape(term.view.shape, reduced, false)});
    T* const out = static_cast<T*>(sums.data());
    reduce(splitAxes(term.view, reduced), SumRule<T>{},
           [out](std::int64_t i, Wide<T> sum) { out[i] = static_cast<T>(sum); });
    term = {sums, sums.view(), std::move(left)};
}

std::int64_t countOf(const Labels& labels, const Sizes& sizes) {
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : labels) dims.push_back(sizes.at(label));
    return Shape(std::move(dims)).elementCount();
}

Labels joined(std::initializer_list<const Labels*> parts) {
    Labels out;
    for (const Labels* part : parts) out.insert(out.end(), part->begin(), part->end());
    return out;
}

/// A dense (batch, rows, columns) copy of a term.
Tensor stacked(const Term& term, const Labels& labels, const Sizes& sizes, const Shape& as) {
    const TensorView view = arranged(term, labels, sizes);
    const Tensor dense = Tensor::onHost({view.dtype, view.shape});
    copyElements(view, dense.view());
    return {dense.buffer(), {view.dtype, as}};
}

/// Two terms are one batch of matrix products: labels of both that are still needed are the batch, those of
/// both that are not are summed, and each term's own are rows and columns.
template <class T>
Term contract(Term a, Term b, const Labels& needed, const Sizes& sizes, const Attributes& attributes) {
    sumOut<T>(a, joined({&needed, &b.labels}));
    sumOut<T>(b, joined({&needed, &a.labels}));
    Labels batch;
    Labels inner;
    Labels rows;
    Labels columns;
    for (EinsumLabel label : a.labels)
        (!has(b.labels, label) ? rows : has(needed, label) ? batch : inner).push_back(label);
    for (EinsumLabel label : b.labels)
        if (!has(a.labels, label)) columns.push_back(label);
    const std::int64_t n = countOf(batch, sizes);
    const std::int64_t m = countOf(rows, sizes);
    const std::int64_t k = countOf(inner, sizes);
    const std::int64_t p = countOf(columns, sizes);
    const Tensor left = stacked(a, joined({&batch, &rows, &inner}), sizes, {n, m, k});
    const Tensor right = stacked(b, joined({&batch, &inner, &columns}), sizes, {n, k, p});
    const Tensor product = Tensor::onHost({a.view.dtype, {n, m, p}});
    const std::array inputs{left.view(), right.view()};
    const std::array outputs{product.view()};
    matMulKernel({inputs, outputs, attributes, nullptr});
    const Labels labels = joined({&batch, &rows, &columns});
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : labels) dims.push_back(sizes.at(label));
    const Tensor shaped(product.buffer(), {a.view.dtype, Shape(std::move(dims))});
    return {shaped, shaped.view(), labels};
}

template <class T>
void einsum(const KernelContext& ctx, std::span<const TensorView> views, const TensorView& out) {
    std::vector<Shape> shapes;
    for (const TensorView& view : views) shapes.push_back(view.shape);
    const EinsumEquation equation = parseEinsum(ctx.attributes.text("equation"), ranksOf(shapes));
    const Sizes sizes = sizesOf(equation, shapes, [](int, const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
    Term term = diagonalOf(views[0], equation.operands[0]);
    for (std::size_t n = 1; n < views.size(); ++n) {
        Labels needed = equation.result;
        for (std::size_t later = n + 1; later < views.size(); ++later)
            needed = joined({&needed, &equation.operands[later]});
        term = contract<T>(std::move(term), diagonalOf(views[n], equation.operands[n]), needed, sizes,
                           ctx.attributes);
    }
    sumOut<T>(term, equation.result);
    copyElements(arranged(term, equation.result, sizes), out);
}

/// Integers narrower than BLAS-like products take are widened; wrapping, the low bits are the same.
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

} // namespace

void addEinsum(std::vector<Op>& table) {
    Op op = makeOp("Einsum", "Linear algebra", 12,
                   "Sums of products over named axes: products, traces, transposes in one notation",
                   "ij, jk → ik is the matrix product");
    op.inputs = {variadicPort("Inputs", "operands", kNumbers, "T")};
    op.outputs = {port("Output", "", kNumbers, "T")};
    AttributeSpec equation;
    equation.name = "equation";
    equation.type = AttributeType::text;
    equation.defaultValue = std::string("...ij, ...jk -> ...ik");
    equation.doc =
        "A letter for each axis; axes of one letter go together, and those not in the result are summed";
    op.attributes = {std::move(equation)};
    op.tolerance = {1e-5, 1e-5};
    op.infer = inferEinsum;
    op.cost = einsumCost;
    op.kernel = viaFloat<einsumKernel>;
    table.push_back(std::move(op));
}

} // namespace twb
