#pragma once

#include "core/buffer.h"
#include "core/dtype.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace twb {

/// The work of one launch, from which a DeviceProfile's roofline computes a time.
struct Cost {
    double flops = 0;
    double bytes = 0;         ///< read and written
    DType dtype = DType::f32; ///< of the arithmetic; selects the peak rate
    Cost& operator+=(const Cost& o) {
        flops += o.flops;
        bytes += o.bytes;
        return *this;
    }
};

enum class CopyDirection : std::uint8_t { hostToDevice, deviceToHost, peer };

/// The error of a profile's times against measured ones: |predicted - measured| / measured.
struct KnownError {
    double median = 0;
    double worst = 0;
    int count = 0; ///< number of compared times
};

/// A device's figures, from a datasheet or a calibration, in the units of datasheets.
struct DeviceProfile {
    std::string id;     ///< "h200", as in `--device-map cuda:0=simulated:h200`
    std::string name;   ///< "NVIDIA H200"
    std::string link;   ///< "PCIe 5.0 x16"
    std::string source; ///< the datasheet or the calibration, for users
    /// The source of each figure.
    std::map<std::string, std::string> sources;

    std::array<double, kDTypeCount> peakGflops{}; ///< GFLOP/s by DType; 0 if the device has no such units
    double memoryGBps = 0;                        ///< device memory, 10^9 bytes/s
    std::uint64_t memoryBytes = 0;
    double launchUs = 0; ///< least time from the end of a kernel to the start of the next

    double linkPinnedGBps = 0;   ///< host↔device from page-locked memory, 10^9 bytes/s
    double linkPageableGBps = 0; ///< host↔device from pageable memory
    double linkLatencyUs = 0;    ///< of one copy, pinned
    double pageableLatencyUs = 0;
    double peerGBps = 0; ///< device↔device; 0 if copies are staged through the host

    /// Known if the profile was compared with the device; never for a datasheet.
    std::optional<KnownError> copyError;
    std::optional<KnownError> kernelError;

    /// Roofline: launch + max(flops / peak, bytes / memory bandwidth). Unit: nanoseconds.
    /// Williams, Waterman, Patterson: Roofline (CACM 2009).
    double kernelNs(const Cost& cost) const noexcept;
    /// latency + bytes / bandwidth of the link (pinned or pageable). Unit: nanoseconds.
    double copyNs(double bytes, CopyDirection direction, MemoryKind hostMemory) const noexcept;
};

} // namespace twb
