#pragma once

#include "backends/backend.h"

#include <memory>

namespace twb::test {

/// A device of its own memory space that runs nothing but the GPU's kernels, as the host's compiler made
/// them: what the plugin supports, it supports.
std::shared_ptr<Backend> makeCudaHostBackend(Device device);

} // namespace twb::test
