#pragma once

#include "backends/cpu/spin_wait.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace twb {

/// Calls body(member, members) on up to `most` threads at the same time. Each member must be called for the
/// others to finish, if they wait for each other; body must not throw.
template <class Body> void runTeam([[maybe_unused]] std::int64_t most, const Body& body) {
#ifdef _OPENMP
    [[maybe_unused]] const int threads = static_cast<int>(most);
#pragma omp parallel num_threads(threads)
    body(std::int64_t{omp_get_thread_num()}, std::int64_t{omp_get_num_threads()});
#else
    body(std::int64_t{0}, std::int64_t{1});
#endif
}

/// The parts of a work that the members of a team have finished, for works in which every member needs the
/// results of all others after each part. Cheaper than the barrier of OpenMP, which makes a system call each
/// time, and with OMP_WAIT_POLICY=passive sleeps.
class TeamProgress {
public:
    explicit TeamProgress(std::int64_t most) : m_finished(static_cast<std::size_t>(most)) {}

    /// Says that this member has finished a part, and waits until all members have.
    void finish(std::int64_t member, std::int64_t members) {
        std::atomic<std::int64_t>& own = m_finished[static_cast<std::size_t>(member)].parts;
        const std::int64_t parts = own.load(std::memory_order_relaxed) + 1;
        own.store(parts, std::memory_order_release);
        own.notify_all();
        for (std::int64_t i = 0; i < members; ++i)
            waitUntilAtLeast(m_finished[static_cast<std::size_t>(i)].parts, parts);
    }

private:
    struct alignas(64) Finished { // a cache line each
        std::atomic<std::int64_t> parts{0};
    };
    std::vector<Finished> m_finished;
};

} // namespace twb
