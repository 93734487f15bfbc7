#include "backends/cpu/host_threads.h"

#include <algorithm>
#include <atomic>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace twb {
namespace {

std::atomic<int>& chosen() noexcept {
    static std::atomic<int> count{0};
    return count;
}

} // namespace

int regionThreads() noexcept {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int hostThreads() noexcept {
    const int count = chosen().load(std::memory_order_relaxed);
    return std::max(1, count > 0 ? count : regionThreads());
}

void setHostThreads(int count) noexcept { chosen().store(std::max(0, count), std::memory_order_relaxed); }

void useHostThreads() noexcept {
#ifdef _OPENMP
    if (const int count = chosen().load(std::memory_order_relaxed); count > 0) omp_set_num_threads(count);
#endif
}

} // namespace twb
