#pragma once

#include "profile/overlay.h"
#include "widgets/run_preparation.h"

#include <QString>

#include <memory>

namespace twb {

/// The profile of another program, laid over a graph.
struct OverlaidProfile {
    QString file;
    std::shared_ptr<const Analysis> analysis;
    std::shared_ptr<const Plan> plan; ///< its matched transfers count as measured
    Overlay overlay;
    bool copiesWrongOperands = false; ///< the graph has mismatches, which the profiled program did not have

    /// Whether nothing of the profile fits the graph.
    bool isOfAnotherModel() const noexcept { return overlay.records.empty(); }
    /// Whether all steps and transfers of the graph, and all ops of the profile, are matched.
    bool isWhole() const noexcept;
    /// "t.json: 12 of 14 steps and 2 of 2 transfers match ops of PyTorch's profiler (NVIDIA A100); …".
    QString sentence() const;
};

/// Reads a profile and matches it with the graph of `request`, as `twb overlay` does. May be called from any
/// thread. Throws Error if the file cannot be read or the graph cannot run; `progress` may throw.
OverlaidProfile readOverlay(const RunRequest& request, const QString& file, const ReadProgress& progress);

} // namespace twb
