#pragma once

#include "core/tensor.h"
#include "ops/einsum_equation.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace twb {

// Computes an einsum by pairs of operands, each pair as one batch of matrix products. This file prepares the
// views; the backends sum and multiply.

using EinsumLabels = std::vector<EinsumLabel>;
using EinsumSizes = std::map<EinsumLabel, std::int64_t>;

bool hasLabel(const EinsumLabels& labels, EinsumLabel label);
EinsumLabels joinedLabels(std::initializer_list<const EinsumLabels*> parts);

/// The size of each label: axes with the same label have equal sizes or size 1. Calls fail(operand, sentence)
/// for any other axis.
EinsumSizes einsumSizes(const EinsumEquation& equation, const std::vector<Shape>& shapes,
                        const std::function<void(int, const std::string&)>& fail);
std::vector<int> ranksOf(const std::vector<Shape>& shapes);

/// An intermediate operand. No label occurs twice.
struct EinsumTerm {
    TensorView view;
    EinsumLabels labels;
};

/// Replaces axes with the same label by their diagonal.
EinsumTerm einsumTerm(const TensorView& view, const EinsumLabels& labels);
/// The term with these labels in this order. Labels that it lacks, or has with size 1, are broadcast.
TensorView arranged(const EinsumTerm& term, const EinsumLabels& labels, const EinsumSizes& sizes);
/// The labels of the result and of the operands from number `n` on, which earlier sums must keep.
EinsumLabels neededFrom(const EinsumEquation& equation, std::size_t n);

/// Two terms as one batch of matrix products. Of the labels that both have, those needed later form the batch
/// and the others are summed. Labels of one term only are its rows or columns.
struct EinsumContraction {
    EinsumLabels batch, inner, rows, columns;
    std::int64_t n, m, k, p; ///< their sizes

    EinsumContraction(const EinsumTerm& a, const EinsumTerm& b, const EinsumLabels& needed,
                      const EinsumSizes& sizes);
    EinsumLabels left() const { return joinedLabels({&batch, &rows, &inner}); }
    EinsumLabels right() const { return joinedLabels({&batch, &inner, &columns}); }
    EinsumLabels product() const { return joinedLabels({&batch, &rows, &columns}); }
};

/// The shape of an operand with these labels.
Shape einsumShape(const EinsumLabels& labels, const EinsumSizes& sizes);

} // namespace twb
