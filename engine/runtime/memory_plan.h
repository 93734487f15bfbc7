#pragma once

#include "runtime/plan.h"

namespace twb {

/// Gives every value of a plan a slot. Values of one stream whose lives do not overlap share one (best fit);
/// an op that may work in place takes over its input's slot when it is the input's only reader. Values that
/// cross streams, are kept, or are sized at run time have slots of their own. Sets Step::inPlaceOf.
void planMemory(Plan& plan, bool share);

/// Fills in producers, waits, carriedWaits and recorded from who reads and writes what on which stream. A
/// blocking copy
/// (`blocking`, by step) holds back all work submitted after it, as PyTorch's `.to()` holds back the host.
void planWaits(Plan& plan, const std::vector<bool>& blocking);

} // namespace twb
