#pragma once

#include "backends/backend.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// One figure as it was measured.
struct CalibrationRow {
    std::string what;   ///< "link, pinned, host→device", "product, f32"
    std::string size;   ///< "4.10 kB", "1024 × 1024"
    double ns = 0;      ///< the best of `count`
    std::string figure; ///< "12.3 GB/s", "1.2 TFLOP/s"
    int count = 0;
};

struct Calibration {
    DeviceProfile profile;
    std::vector<CalibrationRow> rows;
};

/// How much is spent on it. The defaults take some seconds and up to 1 GB of memory.
struct CalibrationEffort {
    std::size_t mostBytes = std::size_t{256} << 20; ///< of one copy
    std::int64_t mostProduct = 8192;                ///< rows and columns
    double enoughNs = 60e6;                         ///< of each figure
};

/// Measures a device through its streams, with the kernels and copies that a run uses: the link from 4 KiB
/// up, pinned and pageable, both directions; memory by an op that only streams; matrix products by dtype;
/// launches one behind the other. The cpu's "link" is a copy within its memory.
///
/// `date` is written into the profile's sources. Throws Error.
Calibration calibrate(Backend& backend, const std::string& date, const CalibrationEffort& effort = {});

} // namespace twb
