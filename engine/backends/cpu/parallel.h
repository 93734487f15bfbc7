#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

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
#pragma omp parallel for schedule(static)
        for (std::int64_t r = 0; r < ranges; ++r)
            exception.run([&] { body(r * length, std::min(total, (r + 1) * length)); });
        exception.rethrow();
        return;
    }
#endif
    if (total > 0) body(std::int64_t{0}, total);
}

} // namespace twb
