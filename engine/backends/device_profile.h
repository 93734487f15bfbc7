#pragma once

#include "core/buffer.h"
#include "core/dtype.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace twb {

/// The work of one launch: what the roofline of a DeviceProfile turns into a time.
struct Cost {
    double flops = 0;
    double bytes = 0;         ///< read and written
    DType dtype = DType::f32; ///< of the arithmetic, picks the peak rate
    Cost& operator+=(const Cost& o) {
        flops += o.flops;
        bytes += o.bytes;
        return *this;
    }
};

enum class CopyDirection : std::uint8_t { hostToDevice, deviceToHost, peer };

/// How far the times by a profile were from those measured on the device: |predicted - measured| / measured.
struct KnownError {
    double median = 0;
    double worst = 0;
    int count = 0; ///< of times compared
};

/// A device's figures, from a datasheet or a calibration, in the units that datasheets use.
struct DeviceProfile {
    std::string id;     ///< "h200", as in `--device-map cuda:0=simulated:h200`
    std::string name;   ///< "NVIDIA H200"
    std::string link;   ///< "PCIe 5.0 x16"
    std::string source; ///< the datasheet or the calibration, for people
    /// By figure: where it comes from.
    std::map<std::string, std::string> sources;

    std::array<double, kDTypeCount> peakGflops{}; ///< GFLOP/s by DType; 0 where the device has no such units
    double memoryGBps = 0;                        ///< device memory, 10^9 bytes/s
    std::uint64_t memoryBytes = 0;
    double launchUs = 0; ///< from one kernel's end to the next one's start, at the least

    double linkPinnedGBps = 0;   ///< host↔device from page-locked memory, 10^9 bytes/s
    double linkPageableGBps = 0; ///< host↔device from pageable memory
    double linkLatencyUs = 0;    ///< of one copy, pinned
    double pageableLatencyUs = 0;
    double peerGBps = 0; ///< device↔device; 0 when copies are staged through the host

    /// Where somebody compared it with the device; a datasheet's figures were compared with nothing.
    std::optional<KnownError> copyError;
    std::optional<KnownError> kernelError;

    /// Roofline: launch + max(flops / peak, bytes / memory bandwidth). Unit: nanoseconds.
    /// Williams, Waterman, Patterson: Roofline (CACM 2009).
    double kernelNs(const Cost& cost) const noexcept;
    /// latency + bytes / bandwidth of the link (pinned or pageable). Unit: nanoseconds.
    double copyNs(double bytes, CopyDirection direction, MemoryKind hostMemory) const noexcept;
};

} // namespace twb
