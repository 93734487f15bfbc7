#pragma once

#include "backends/backend.h"

#include <memory>

namespace twb::test {

/// A device with its own memory space that runs the GPU kernels compiled for the host. It supports the same
/// ops as the plugin.
std::shared_ptr<Backend> makeCudaHostBackend(Device device);

} // namespace twb::test
