#pragma once

#include "profile/report.h"

#include <optional>
#include <string_view>
#include <vector>

namespace twb {

/// Figures of a transfer for reports and tables, derived from its row of the ledger. A figure without meaning
/// is absent: before the first copy, without the link's rate, or outside the iterations.
struct TransferFigures {
    CopyDirection direction = CopyDirection::hostToDevice;
    std::optional<double>
        linkPeakGBps; ///< from the profile of the copying device: pinned, or device to device
    std::optional<double> ofPeakPercent; ///< of the median copy's rate
    /// Per copy, in ns: time in the queue with the tensor ready. Absent for a tensor that was ready before
    /// the iterations.
    std::optional<double> queueWaitNs;
    std::optional<double> overlapPercent; ///< share of the time of all copies during which some step computed
    std::optional<double>
        errorPercent; ///< measured median against the prediction; absent for a modelled time
};

/// By transfer of the plan. Reads only `plan`, `ledger` and `timeline` of the report.
std::vector<TransferFigures> figuresOf(const RunReport& report);
/// "host-to-device", "device-to-host", "peer".
std::string_view name(CopyDirection direction) noexcept;

} // namespace twb
