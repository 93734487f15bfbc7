#pragma once

#include "backends/device_profile.h"

#include <cuda_runtime_api.h>

namespace twb::cuda {

/// What a GPU's own figures say it should do: cores × clock, bus width × memory clock, and what its
/// generation's link carries. An estimate that prices work before the first run; `twb calibrate` measures.
DeviceProfile estimatedProfile(int index, const cudaDeviceProp& properties);

} // namespace twb::cuda
