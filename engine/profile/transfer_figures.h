#pragma once

#include "profile/ledger.h"
#include "profile/run_timeline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// The figures of a transfer for reports and tables. A figure without meaning is absent: before the first
/// copy, without the link's rate, or outside the iterations.
struct TransferFigures {
    TransferKind kind = TransferKind::explicitTo;
    CopyDirection direction = CopyDirection::hostToDevice;
    bool setup = false; ///< once, outside the iterations
    bool pinned = false;
    bool modelled = false;
    std::string link;        ///< of a copy to another rank: "25 GbE"; else empty
    std::uint64_t count = 0; ///< copies; 0: there are only bytesPerCopy and predictedNs
    double bytesPerCopy = 0;
    double predictedNs = 0;  ///< per copy
    std::uint64_t bytes = 0; ///< total of all copies
    double lastNs = 0;
    double minNs = 0;
    double medianNs = 0;
    double p95Ns = 0;
    double totalNs = 0;
    std::optional<double> linkPeakGBps;  ///< from the profile of the copying device: pinned, or device to
                                         ///< device; else the link's
    std::optional<double> ofPeakPercent; ///< of the median copy's rate
    std::optional<double> waitNs;        ///< total time in the queue with the tensor ready
    /// The same per copy. Absent for a tensor that was ready before the iterations.
    std::optional<double> queueWaitNs;
    std::optional<double> overlapPercent; ///< share of the time of all copies during which some step computed
    std::optional<double>
        errorPercent; ///< measured median against the prediction; absent for a modelled time

    /// Of one copy: the median, or the prediction before the first copy.
    double typicalNs() const noexcept { return count > 0 ? medianNs : predictedNs; }
    /// 10^9 bytes per second at typicalNs().
    double gbPerSecond() const noexcept { return typicalNs() > 0 ? bytesPerCopy / typicalNs() : 0; }
};

/// By transfer of the plan. Without a ledger no copy was made; without a timeline overlaps are absent.
std::vector<TransferFigures> figuresOf(const Plan& plan, const Ledger* ledger, const RunTimeline* timeline);
/// "host-to-device", "device-to-host", "peer".
std::string_view name(CopyDirection direction) noexcept;

} // namespace twb
