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
    /// Adds the counts that a run has left in the output of addConfusionMatrix(), on the host.
    void add(const Tensor& counted);
    bool operator==(const ConfusionMatrix&) const = default;
};

/// Adds nodes that count, over the iterations of a run, the labels of a loss by label and prediction; labels
/// of its ignore_index do not count. Returns the output that holds the counts, which has to be kept. Nothing
/// if the loss is not a cross-entropy, or if it has more than kMostClasses classes.
std::optional<PortRef> addConfusionMatrix(DeltaBuilder& builder, const Analysis& analysis, NodeId loss);

} // namespace twb
