#pragma once

#include "backends/cpu/host_backend.h"

#include <functional>
#include <memory>
#include <string_view>

namespace twb::test {

/// Called on a step's stream, which waits for them. They may run on several threads at once.
struct StepHooks {
    std::function<void(std::uint32_t step)> before;
    std::function<void(std::uint32_t step)> after; ///< may be empty
    /// Which ops the device has a kernel for; empty: all.
    std::function<bool(std::string_view op)> supports = {};
};

/// A simulated accelerator or the cpu, with hooks around its launches and copies. The test decides which step
/// overtakes which, so only events keep the order.
std::shared_ptr<Backend> makeHookedBackend(Device device, StepHooks hooks);

} // namespace twb::test
