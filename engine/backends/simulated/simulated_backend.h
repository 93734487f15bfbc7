#pragma once

#include "backends/backend.h"

namespace twb {

/// An accelerator that is not there: its own memory space with the profile's size as its budget, real worker
/// threads as streams, numerics by the host kernels, and a virtual clock on which each launch and each copy
/// takes what the profile says. Allocates host memory only for what is asked for.
std::shared_ptr<Backend> makeSimulatedBackend(Device device, DeviceProfile profile);

} // namespace twb
