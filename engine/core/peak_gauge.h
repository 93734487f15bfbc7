#pragma once

#include "core/buffer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace twb {

/// The bytes that an allocator has handed out, and their peak since begin(). Only buffers that were handed
/// out since then count towards the peak, so a run's peak does not depend on tensors that earlier runs have
/// left behind. Not thread-safe.
class PeakGauge {
public:
    /// One allocation, and the period that it counts towards.
    struct Share {
        std::size_t bytes = 0;
        std::uint64_t period = 0;
    };

    /// Begins a period, in which nothing has been handed out yet.
    void begin() noexcept {
        ++m_period;
        m_now = m_peak = 0;
    }
    Share add(std::size_t bytes) noexcept {
        m_used += bytes;
        count(bytes);
        return {bytes, m_period};
    }
    void remove(const Share& share) noexcept {
        m_used -= share.bytes;
        if (share.period == m_period) m_now -= share.bytes;
    }
    /// Moves an allocation of an earlier period to this one.
    void renew(Share& share) noexcept {
        if (share.period == m_period) return;
        share.period = m_period;
        count(share.bytes);
    }

    std::size_t used() const noexcept { return m_used; } ///< of all periods
    std::size_t peak() const noexcept { return m_peak; } ///< of this period

private:
    void count(std::size_t bytes) noexcept {
        m_now += bytes;
        m_peak = std::max(m_peak, m_now);
    }

    std::uint64_t m_period = 0;
    std::size_t m_used = 0;
    std::size_t m_now = 0; ///< of the buffers that count towards this period
    std::size_t m_peak = 0;
};

/// A buffer of an allocator that has a PeakGauge.
class GaugedBuffer : public Buffer {
public:
    /// Counts the buffer towards the present period: a run uses a tensor that an earlier run has made.
    virtual void renew() noexcept = 0;

protected:
    using Buffer::Buffer;
};

} // namespace twb
