#pragma once

#include "backends/cpu/host_backend.h"

#include <functional>
#include <memory>

namespace twb::test {

/// Called on the stream of a step, so that what they do holds the stream back. From several threads at once.
struct StepHooks {
    std::function<void(std::uint32_t step)> before;
    std::function<void(std::uint32_t step)> after; ///< may be empty
};

/// A simulated accelerator, or the cpu, with hooks around its launches and copies: the test decides which
/// step overtakes which, and only events keep the order.
std::shared_ptr<Backend> makeHookedBackend(Device device, StepHooks hooks);

} // namespace twb::test
