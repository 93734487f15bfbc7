#pragma once

#include <atomic>
#include <sched.h>

namespace twb {

/// How often a thread looks for news before it sleeps. On a single core, the thread that it waits for could
/// not run meanwhile.
inline int spins(int wanted) noexcept {
    static const bool isAlone = [] {
        cpu_set_t cores;
        return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
    }();
    return isAlone ? 0 : wanted;
}

/// Waits until `value` reaches `target`: spins briefly, since most waits are shorter than a system call, then
/// sleeps until `value` notifies.
template <class T> void waitUntilAtLeast(const std::atomic<T>& value, T target) {
    for (int spin = spins(2000); spin > 0; --spin) {
        if (value.load(std::memory_order_acquire) >= target) return;
        __builtin_ia32_pause();
    }
    for (T now = value.load(std::memory_order_acquire); now < target;
         now = value.load(std::memory_order_acquire))
        value.wait(now, std::memory_order_acquire);
}

} // namespace twb
