#include "core/buffer.h"

#include "core/caching_allocator.h"
#include "core/host_memory.h"
#include "core/uncounted_memory.h"

namespace twb {

namespace {

thread_local int uncounted = 0; ///< UncountedMemory objects of this thread

CachingAllocator* newAllocator() {
    return new CachingAllocator(Device::cpu(), MemoryKind::pageable, systemMemoryBytes());
}

} // namespace

Allocator& hostAllocator() {
    // Leaked on purpose: tensors held by static objects may be freed after main() returns.
    static auto* const counted = newAllocator();
    static auto* const others = newAllocator();
    return uncounted > 0 ? *others : *counted;
}

UncountedMemory::UncountedMemory() noexcept { ++uncounted; }
UncountedMemory::~UncountedMemory() { --uncounted; }

} // namespace twb
