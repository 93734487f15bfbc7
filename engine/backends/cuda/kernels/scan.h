#pragma once

#include "backends/cuda/kernels/queue.h"

#include <cstdint>

namespace twb::cuda {

/// Each of `count` numbers that lie side by side becomes the sum of those up to it.
void sumUpTo(Queue& queue, std::int64_t* numbers, std::int64_t count);

} // namespace twb::cuda
