#pragma once

#include "runtime/plan.h"

namespace twb {

/// Assigns a memory slot to every value of a plan. Values of one stream whose lifetimes do not overlap share
/// slots (best fit). An op that can work in place takes its input's slot if it is the input's only consumer.
/// Values that cross streams, are kept, or are sized at run time have their own slots. Sets Step::inPlaceOf.
void planMemory(Plan& plan, bool share);

/// Sets producers, waits, carriedWaits and recorded from the reads and writes on each stream. A blocking copy
/// (`blocking`, by step) delays all later work, as PyTorch's `.to()` blocks the host.
void planWaits(Plan& plan, const std::vector<bool>& blocking);

} // namespace twb
