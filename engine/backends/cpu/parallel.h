#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace twb {

/// Work with fewer element operations than this stays on one thread: a second thread would have to wake up,
/// and would spin at the end while other streams need its core.
inline constexpr std::int64_t kParallelElements = 131072;

/// Carries the first exception out of a parallel region, which no exception may leave by itself.
class RegionException {
public:
    /// Calls body(), unless an exception was caught before.
    template <class Body> void run(const Body& body) noexcept {
        if (m_caught.load(std::memory_order_relaxed)) return;
        try {
            body();
        } catch (...) {
            if (!m_caught.exchange(true)) m_exception = std::current_exception();
        }
    }
    /// To be called after the region.
    void rethrow() const {
        if (m_exception) std::rethrow_exception(m_exception);
    }

private:
    std::atomic<bool> m_caught{false};
    std::exception_ptr m_exception; ///< written by the one thread that set m_caught
};

/// Distributes the numbers [0, total) over threads. Each thread takes the numbers of its own share in order,
/// and then what is left of the other threads' shares, so that a delayed thread does not stall all.
class WorkShares {
public:
    WorkShares(std::int64_t total, int threads) : m_count(std::clamp(threads, 1, kMost)) {
        for (int i = 0; i < m_count; ++i) {
            m_shares[static_cast<std::size_t>(i)].next = total * i / m_count;
            m_shares[static_cast<std::size_t>(i)].end = total * (i + 1) / m_count;
        }
    }
    /// Takes numbers on thread `thread` until none is left, and calls body(number) for each.
    template <class Body> void run(int thread, const Body& body) {
        for (int i = 0; i < m_count; ++i) {
            Share& share = m_shares[static_cast<std::size_t>((thread + i) % m_count)];
            for (;;) {
                const std::int64_t number = share.next.fetch_add(1, std::memory_order_relaxed);
                if (number >= share.end) break;
                body(number);
            }
        }
    }

private:
    static constexpr int kMost = 64;
    struct alignas(64) Share { // a cache line each
        std::atomic<std::int64_t> next;
        std::int64_t end = 0;
    };
    std::array<Share, kMost> m_shares;
    int m_count;
};

/// Calls body(begin, end) for ranges that cover [0, total) in multiples of `grain`, in parallel if `work` (in
/// element operations) is large enough. The result of body must not depend on the ranges, since the number of
/// threads determines them. Throws the first exception that a body throws, once all threads have stopped;
/// some ranges may not have been started then.
template <class Body>
void parallelRanges(std::int64_t total, [[maybe_unused]] std::int64_t work,
                    [[maybe_unused]] std::int64_t grain, const Body& body) {
#ifdef _OPENMP
    if (work > kParallelElements && total > grain) {
        const std::int64_t wanted = std::min<std::int64_t>(work / (kParallelElements / 4), 256);
        const std::int64_t steps = (total + grain - 1) / grain;
        const std::int64_t length = (steps + wanted - 1) / wanted * grain;
        const std::int64_t ranges = (total + length - 1) / length;
        RegionException exception;
        WorkShares shares(ranges, omp_get_max_threads());
#pragma omp parallel
        shares.run(omp_get_thread_num(), [&](std::int64_t r) {
            exception.run([&] { body(r * length, std::min(total, (r + 1) * length)); });
        });
        exception.rethrow();
        return;
    }
#endif
    if (total > 0) body(std::int64_t{0}, total);
}

} // namespace twb
