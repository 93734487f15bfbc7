#include "backends/device_profile.h"

#include <algorithm>

namespace twb {

// 1 GFLOP/s is one flop per nanosecond, 1 GB/s one byte per nanosecond, so no factors are needed below.

double DeviceProfile::kernelNs(const Cost& cost) const noexcept {
    double peak = peakGflops[static_cast<std::size_t>(cost.dtype)];
    // Datasheets have no rates for integers and bools; the f32 rate is used.
    if (peak <= 0) peak = peakGflops[static_cast<std::size_t>(DType::f32)];
    const double arithmetic = peak > 0 ? cost.flops / peak : 0;
    const double memory = memoryGBps > 0 ? cost.bytes / memoryGBps : 0;
    return launchUs * 1e3 + std::max(arithmetic, memory);
}

double DeviceProfile::copyNs(double bytes, CopyDirection direction, MemoryKind hostMemory) const noexcept {
    if (direction == CopyDirection::peer && peerGBps > 0) return linkLatencyUs * 1e3 + bytes / peerGBps;
    const bool pinned = hostMemory == MemoryKind::pinned;
    const double rate = pinned ? linkPinnedGBps : linkPageableGBps;
    const double latency = (pinned ? linkLatencyUs : pageableLatencyUs) * 1e3;
    const double once = latency + (rate > 0 ? bytes / rate : 0);
    return direction == CopyDirection::peer ? 2 * once : once; // staged through the host
}

} // namespace twb
