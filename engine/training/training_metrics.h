#pragma once

#include "core/tensor.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// A parameter in the last step of an epoch. The norms are Euclidean, over all elements.
struct ParameterFigures {
    std::string name;
    double gradientNorm = 0; ///< before clipping
    double weightNorm = 0;   ///< after the step
    /// Of the change by the step; nothing if it was the first of the training.
    std::optional<double> updateNorm;

    /// The update-to-weight ratio. Nothing without an update norm, or for a parameter of zeros.
    std::optional<double> updateRatio() const noexcept {
        return updateNorm && weightNorm != 0 ? std::optional(*updateNorm / weightNorm) : std::nullopt;
    }
    bool operator==(const ParameterFigures&) const = default;
};

/// `before` and `after`: the parameter around the step; `before` may be null. All tensors are on the host,
/// with one shape.
ParameterFigures figuresOf(std::string name, const Tensor& gradient, const Tensor* before,
                           const Tensor& after);

/// The rows of a classifier, counted by label and prediction.
struct ConfusionMatrix {
    static constexpr std::int64_t kMostClasses = 100;

    std::int64_t classes = 0;         ///< 0: there is no matrix
    std::vector<std::int64_t> counts; ///< classes × classes: a row per label, a column per prediction

    std::int64_t at(std::int64_t label, std::int64_t prediction) const {
        return counts.at(static_cast<std::size_t>(label * classes + prediction));
    }
    /// Adds the counts that a run has left in LabelCounts::confusion, on the host.
    void add(const Tensor& counted);
    bool operator==(const ConfusionMatrix&) const = default;
};

/// Outputs that count the labels of a classifier over the iterations of a run, as i64. They have to be kept.
/// Labels of the loss's ignore_index do not count.
struct LabelCounts {
    PortRef correct; ///< one number: the labels whose class has the highest score
    PortRef labels;  ///< one number: all labels
    /// By label and prediction, for ConfusionMatrix::add(). Nothing with more than
    /// ConfusionMatrix::kMostClasses classes, or if their number is unknown.
    std::optional<PortRef> confusion;
};

/// Adds the nodes that count. Nothing if the loss is not a cross-entropy.
std::optional<LabelCounts> addLabelCounts(DeltaBuilder& builder, const Analysis& analysis, NodeId loss);

} // namespace twb
