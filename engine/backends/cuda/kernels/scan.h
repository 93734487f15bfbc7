#pragma once

#include "backends/cuda/kernels/queue.h"

#include <cstdint>

namespace twb::cuda {

/// Replaces each of `count` contiguous numbers by the sum of the numbers up to and including it.
void sumUpTo(Queue& queue, std::int64_t* numbers, std::int64_t count);

} // namespace twb::cuda
