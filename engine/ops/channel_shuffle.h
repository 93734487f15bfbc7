#pragma once

#include "backends/kernel.h"

namespace twb {

/// Interleaves the channels (axis 1) of inputs with equal shapes: channel c of the result is channel
/// first + c / n of input c mod n, for n inputs and the integer attribute "first". Any layouts.
void channelShuffleKernel(const KernelContext& context);

} // namespace twb
