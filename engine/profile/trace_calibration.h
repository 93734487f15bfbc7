#pragma once

#include "profile/calibration.h"
#include "profile/kineto_trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace twb {

/// One measured copy.
struct MeasuredCopy {
    double bytes = 0;
    double ns = 0;
};

/// latency + bytes / bandwidth
struct LinkFit {
    double latencyNs = 0;
    double gbPerSecond = 0;

    double ns(double bytes) const { return latencyNs + bytes / gbPerSecond; }
};

/// Fits the line with the least squares of relative errors. Nothing if the copies do not tell a latency from
/// a bandwidth: their sizes must span a factor of 8, and the fit must have positive figures.
std::optional<LinkFit> fitLink(std::span<const MeasuredCopy> copies);

/// A device profile from the copies and kernels of a trace, for `--device-map cuda:0=simulated:FILE`. A
/// figure that the trace does not have is taken from `base`, and its source says so. `base`: a profile of
/// this GPU or of a similar one. The known error is that of the finished profile against every copy and known
/// kernel of the trace. Throws Error(unsupported) if the trace has no activity on `device`.
Calibration calibrateFromTrace(const KinetoTrace& trace, const DeviceProfile& base, std::uint32_t device);

} // namespace twb
