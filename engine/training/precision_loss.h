#pragma once

#include "core/cancel.h"
#include "training/sample_runs.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// What one result of a graph loses in a lower precision, over all samples.
struct OutputLoss {
    std::string name; ///< of the sink, or of the node whose result has no consumer
    PortRef output;
    double maxError = 0; ///< the largest absolute difference
    /// √(Σ difference² / Σ result²); 0 for equal results, infinite if only the results before are 0.
    double relativeError = 0;
    /// Of the rows along the last axis, if there are several elements in a row: the share whose largest
    /// element is at the same place. For integers and bool: the share of equal elements.
    std::optional<double> agreement{};
    /// The results themselves, if they have one element; of the last sample.
    std::optional<double> before{}, after{};

    /// Signal-to-quantization-noise ratio in dB; infinite for equal results, −∞ for an infinite
    /// relativeError.
    double sqnr() const;
};

struct PrecisionLoss {
    std::vector<OutputLoss> outputs;
    double nsBefore = 0; ///< per iteration, with the first sample
    double nsAfter = 0;
    bool isModelled = false; ///< both times
};

/// Runs both graphs with each sample, and measures the time of an iteration of both in turn. Both compute
/// their results at the same nodes. `isCancelled` as for observeRanges().
PrecisionLoss comparePrecision(const Graph& before, const Graph& after, const RunSetup& setup,
                               const Samples& samples, const IsCancelled& isCancelled);

} // namespace twb
