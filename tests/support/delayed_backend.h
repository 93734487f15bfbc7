#pragma once

#include "backends/cpu/host_backend.h"

#include <deque>
#include <functional>
#include <memory>

namespace twb::test {

/// How long a step is held back on its stream before it runs, in µs. Called by the submitting thread.
using DelayOfStep = std::function<int(std::uint32_t step)>;

/// A simulated accelerator whose launches and copies finish late, as `delay` says: what overtakes what is up
/// to the test, and only events keep the order.
std::shared_ptr<Backend> makeDelayedBackend(Device device, DelayOfStep delay);

/// The cpu with the same delays.
std::shared_ptr<Backend> makeDelayedCpu(DelayOfStep delay);

} // namespace twb::test
