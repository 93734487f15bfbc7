#pragma once

#include <cstddef>

namespace twb {

/// Bytes of memory that this machine has, or lets this process have (a container's limit).
std::size_t systemMemoryBytes();

/// Bytes that may still be promised without the system having to kill somebody for them. `promised` is what
/// this process has been given already: Linux gives memory when it is first written to, so what it shows as
/// available still has in it what was promised and not yet written.
std::size_t freeHostMemory(std::size_t promised);

} // namespace twb
