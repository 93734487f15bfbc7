#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace twb {

/// The union of spans of time. How much of any interval it covers is found by binary search.
class BusyTime {
public:
    /// The spans must be added in the order of their starts; they may overlap.
    void add(std::int64_t startNs, std::int64_t endNs) {
        if (endNs <= startNs) return;
        if (!m_spans.empty() && startNs <= m_spans.back().endNs) {
            const std::int64_t more = std::max<std::int64_t>(endNs - m_spans.back().endNs, 0);
            m_spans.back().endNs += more;
            m_totalNs += more;
            return;
        }
        m_spans.push_back({startNs, endNs, m_totalNs});
        m_totalNs += endNs - startNs;
    }
    std::int64_t totalNs() const noexcept { return m_totalNs; }
    /// The part of the interval that is covered; 0 for an empty one.
    std::int64_t overlapNs(std::int64_t startNs, std::int64_t endNs) const {
        return endNs <= startNs ? 0 : before(endNs) - before(startNs);
    }

private:
    struct Span {
        std::int64_t startNs = 0;
        std::int64_t endNs = 0;
        std::int64_t beforeNs = 0; ///< covered before it
    };

    /// The time covered before a moment.
    std::int64_t before(std::int64_t ns) const {
        const auto next =
            std::upper_bound(m_spans.begin(), m_spans.end(), ns,
                             [](std::int64_t at, const Span& span) { return at < span.startNs; });
        if (next == m_spans.begin()) return 0;
        const Span& last = *std::prev(next);
        return last.beforeNs + std::min(ns, last.endNs) - last.startNs;
    }

    std::vector<Span> m_spans;
    std::int64_t m_totalNs = 0;
};

} // namespace twb
