#include "core/buffer.h"

#include "core/caching_allocator.h"
#include "core/host_memory.h"

namespace twb {

Allocator& hostAllocator() {
    // Leaked on purpose: tensors held by static objects may be freed after main() returns.
    static auto* const allocator =
        new CachingAllocator(Device::cpu(), MemoryKind::pageable, systemMemoryBytes());
    return *allocator;
}

} // namespace twb
