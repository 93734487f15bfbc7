#pragma once

#include "backends/backend.h"

namespace twb {

/// A simulated accelerator: its own memory space with the profile's size as budget, worker threads as
/// streams, results from the host kernels, and a virtual clock on which each launch and copy takes the
/// profile's time. Allocates only the host memory that is requested.
std::shared_ptr<Backend> makeSimulatedBackend(Device device, DeviceProfile profile);

} // namespace twb
