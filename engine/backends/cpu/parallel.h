#pragma once

#include <algorithm>
#include <cstdint>

namespace twb {

/// Fewer element operations than this are not worth a second thread: it would have to wake up, and it would
/// spin at the end while other streams want its core.
inline constexpr std::int64_t kParallelElements = 131072;

/// Calls body(begin, end) for ranges that cover [0, total) in steps that are multiples of `grain`, in
/// parallel when `work`, in element operations, is worth it. body must not throw, and its result must not
/// depend on how the ranges fall: the number of threads decides that.
template <class Body>
void parallelRanges(std::int64_t total, [[maybe_unused]] std::int64_t work,
                    [[maybe_unused]] std::int64_t grain, const Body& body) {
#ifdef _OPENMP
    if (work > kParallelElements && total > grain) {
        const std::int64_t wanted = std::min<std::int64_t>(work / (kParallelElements / 4), 256);
        const std::int64_t steps = (total + grain - 1) / grain;
        const std::int64_t length = (steps + wanted - 1) / wanted * grain;
        const std::int64_t ranges = (total + length - 1) / length;
#pragma omp parallel for schedule(static)
        for (std::int64_t r = 0; r < ranges; ++r) body(r * length, std::min(total, (r + 1) * length));
        return;
    }
#endif
    if (total > 0) body(std::int64_t{0}, total);
}

} // namespace twb
