#pragma once

#include "profile/report.h"

#include <optional>
#include <string_view>
#include <vector>

namespace twb {

/// What follows from a transfer's row of the ledger, for reports and tables. A figure that means nothing is
/// not there: before the first copy, without a link's figure, outside of the iterations.
struct TransferFigures {
    CopyDirection direction = CopyDirection::hostToDevice;
    std::optional<double> linkPeakGBps;  ///< of the profile of who copies: pinned, or device to device
    std::optional<double> ofPeakPercent; ///< the rate of the median copy
    /// Of one copy, in ns: its tensor was there and the queue was busy. Nothing for a tensor that was there
    /// before the iterations: since when it waited has no answer.
    std::optional<double> queueWaitNs;
    std::optional<double> overlapPercent; ///< of the time of all copies: some step computed meanwhile
    std::optional<double> errorPercent;   ///< measured median against prediction; of a modelled one nothing
};

/// By transfer of the plan; asks the report for `plan`, `ledger` and `timeline` only.
std::vector<TransferFigures> figuresOf(const RunReport& report);
/// "host-to-device", "device-to-host", "peer".
std::string_view name(CopyDirection direction) noexcept;

} // namespace twb
