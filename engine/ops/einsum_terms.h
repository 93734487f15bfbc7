#pragma once

#include "core/tensor.h"
#include "ops/einsum_equation.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace twb {

// How an einsum is worked out, two operands after two: as one batch of matrix products each. What is done to
// views is here; the sums and products are the backends' own.

using EinsumLabels = std::vector<EinsumLabel>;
using EinsumSizes = std::map<EinsumLabel, std::int64_t>;

bool hasLabel(const EinsumLabels& labels, EinsumLabel label);
EinsumLabels joinedLabels(std::initializer_list<const EinsumLabels*> parts);

/// The size of each label: axes of one label are equal or 1. Calls fail(operand, sentence) where they are
/// neither.
EinsumSizes einsumSizes(const EinsumEquation& equation, const std::vector<Shape>& shapes,
                        const std::function<void(int, const std::string&)>& fail);
std::vector<int> ranksOf(const std::vector<Shape>& shapes);

/// An operand on its way: no label twice.
struct EinsumTerm {
    TensorView view;
    EinsumLabels labels;
};

/// Axes of one label become its diagonal.
EinsumTerm einsumTerm(const TensorView& view, const EinsumLabels& labels);
/// The term seen with these labels in this order; those that it lacks or has with size 1 repeat it.
TensorView arranged(const EinsumTerm& term, const EinsumLabels& labels, const EinsumSizes& sizes);
/// The labels of operand `n` and those after it, and of the result: what sums before must keep.
EinsumLabels neededFrom(const EinsumEquation& equation, std::size_t n);

/// Two terms as one batch of matrix products: labels of both that are still needed are the batch, those of
/// both that are not are summed, and each term's own are rows and columns.
struct EinsumContraction {
    EinsumLabels batch, inner, rows, columns;
    std::int64_t n, m, k, p; ///< the sizes of these

    EinsumContraction(const EinsumTerm& a, const EinsumTerm& b, const EinsumLabels& needed,
                      const EinsumSizes& sizes);
    EinsumLabels left() const { return joinedLabels({&batch, &rows, &inner}); }
    EinsumLabels right() const { return joinedLabels({&batch, &inner, &columns}); }
    EinsumLabels product() const { return joinedLabels({&batch, &rows, &columns}); }
};

/// The shape of an operand with these labels.
Shape einsumShape(const EinsumLabels& labels, const EinsumSizes& sizes);

} // namespace twb
