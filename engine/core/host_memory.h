#pragma once

#include <cstddef>

namespace twb {

/// Bytes of memory of this machine, or of this container's limit if it is lower.
std::size_t systemMemoryBytes();

/// Bytes that can still be allocated before the system would run out of memory. `promised`: bytes that this
/// process has allocated. Linux commits memory at the first write, so MemAvailable still includes bytes that
/// were allocated but not yet written.
std::size_t freeHostMemory(std::size_t promised);

} // namespace twb
