#pragma once

#include <ctime>

namespace twb {

/// The CPU time of this thread in ms, which does not depend on other load.
inline double cpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

} // namespace twb
