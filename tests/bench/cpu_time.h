#pragma once

#include <ctime>

namespace twb {

/// The processor's time of this thread in ms: a busy machine does not count.
inline double cpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

} // namespace twb
