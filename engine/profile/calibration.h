#pragma once

#include "backends/backend.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// One measured figure.
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

/// The limits of a calibration. The defaults take some seconds and up to 1 GB of memory.
struct CalibrationEffort {
    std::size_t mostBytes = std::size_t{256} << 20; ///< of one copy
    std::int64_t mostProduct = 8192;                ///< rows and columns
    double enoughNs = 60e6;                         ///< of measuring time for each figure
};

/// The id of a profile of a device: "AMD EPYC 7B13" and "measured" are "amd-epyc-7b13-measured".
std::string profileId(std::string_view device, std::string_view suffix);

/// Measures a device through its streams, with the kernels and copies of real runs: the link from 4 KiB up,
/// pinned and pageable, in both directions; memory, by a memory-bound op; matrix products by dtype;
/// consecutive launches. The "link" of the cpu is a copy within its memory.
///
/// `date` is written into the profile's sources. Throws Error.
Calibration calibrate(Backend& backend, const std::string& date, const CalibrationEffort& effort = {});

} // namespace twb
