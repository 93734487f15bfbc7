#include "core/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>

namespace twb {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

std::size_t pageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// The memory limit of the container's control group (version 2, then 1).
std::size_t containerLimit() {
    for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream in(file);
        if (std::size_t bytes = 0; in >> bytes) return bytes;
    }
    return kUnlimited;
}

/// MemAvailable of /proc/meminfo: free memory and reclaimable caches.
std::size_t availableBytes() {
    std::ifstream in("/proc/meminfo");
    std::string word;
    while (in >> word)
        if (std::size_t kib = 0; word == "MemAvailable:" && in >> kib) return kib * 1024;
    return kUnlimited;
}

/// Resident anonymous memory of this process.
std::size_t residentBytes() {
    std::ifstream in("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    std::size_t shared = 0;
    in >> total >> resident >> shared;
    return in ? (resident - std::min(shared, resident)) * pageBytes() : 0;
}

} // namespace

std::size_t systemMemoryBytes() {
    return std::min(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * pageBytes(), containerLimit());
}

std::size_t freeHostMemory(std::size_t promised) {
    const std::size_t resident = residentBytes();
    const std::size_t limit = containerLimit();
    const std::size_t free = std::min(availableBytes(), limit - std::min(limit, resident));
    const std::size_t unwritten = promised - std::min(promised, resident);
    return free - std::min(free, unwritten);
}

} // namespace twb
