#include "ops/einsum_terms.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {

bool hasLabel(const EinsumLabels& labels, EinsumLabel label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
}

EinsumLabels joinedLabels(std::initializer_list<const EinsumLabels*> parts) {
    EinsumLabels out;
    for (const EinsumLabels* part : parts) out.insert(out.end(), part->begin(), part->end());
    return out;
}

EinsumSizes einsumSizes(const EinsumEquation& equation, const std::vector<Shape>& shapes,
                        const std::function<void(int, const std::string&)>& fail) {
    EinsumSizes sizes;
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

EinsumTerm einsumTerm(const TensorView& view, const EinsumLabels& labels) {
    EinsumTerm term{{view.data, view.dtype, {}, {}}, {}};
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

TensorView arranged(const EinsumTerm& term, const EinsumLabels& labels, const EinsumSizes& sizes) {
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

EinsumLabels neededFrom(const EinsumEquation& equation, std::size_t n) {
    EinsumLabels needed = equation.result;
    for (std::size_t later = n; later < equation.operands.size(); ++later)
        needed = joinedLabels({&needed, &equation.operands[later]});
    return needed;
}

Shape einsumShape(const EinsumLabels& labels, const EinsumSizes& sizes) {
    std::vector<std::int64_t> dims;
    for (EinsumLabel label : labels) dims.push_back(sizes.at(label));
    return Shape(std::move(dims));
}

EinsumContraction::EinsumContraction(const EinsumTerm& a, const EinsumTerm& b, const EinsumLabels& needed,
                                     const EinsumSizes& sizes) {
    for (EinsumLabel label : a.labels)
        (!hasLabel(b.labels, label) ? rows : hasLabel(needed, label) ? batch : inner).push_back(label);
    for (EinsumLabel label : b.labels)
        if (!hasLabel(a.labels, label)) columns.push_back(label);
    n = einsumShape(batch, sizes).elementCount();
    m = einsumShape(rows, sizes).elementCount();
    k = einsumShape(inner, sizes).elementCount();
    p = einsumShape(columns, sizes).elementCount();
}

} // namespace twb
