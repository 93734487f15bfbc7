#pragma once

#include "backends/device_profile.h"

#include <cuda_runtime_api.h>

namespace twb::cuda {

/// The theoretical figures of a GPU: cores × clock, bus width × memory clock, and the link of its generation.
/// An estimate for predictions before the first run; `twb calibrate` measures.
DeviceProfile estimatedProfile(int index, const cudaDeviceProp& properties);

} // namespace twb::cuda
