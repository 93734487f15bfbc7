#include "widgets/run_batch.h"

namespace twb {

void RunBatch::steps(std::uint64_t, std::span<const StepRecord> records) {
    std::unique_lock lock(m_mutex);
    m_taken.wait(lock, [this] { return m_closed || m_events.records.size() < kCapacity; });
    if (m_closed) return;
    m_events.records.insert(m_events.records.end(), records.begin(), records.end());
}

void RunBatch::progress(std::uint64_t, std::int64_t done, std::int64_t) {
    const std::lock_guard lock(m_mutex);
    if (!m_closed) m_events.done = done;
}

AtStop RunBatch::stopped(const RunStop& stop) {
    const std::lock_guard lock(m_mutex);
    if (m_closed) return AtStop::end;
    m_events.stop = stop;
    return AtStop::wait;
}

void RunBatch::looked(std::uint64_t, std::vector<std::pair<PortRef, Tensor>> values) {
    const std::lock_guard lock(m_mutex);
    if (!m_closed) m_events.values = std::move(values);
}

void RunBatch::finished(RunResult result) noexcept {
    const std::lock_guard lock(m_mutex);
    if (!m_closed) m_events.end = std::move(result);
}

RunEvents RunBatch::take() {
    RunEvents taken;
    {
        const std::lock_guard lock(m_mutex);
        std::swap(taken, m_events);
        m_events.done = taken.done; // stays true until the next report
    }
    m_taken.notify_all();
    return taken;
}

void RunBatch::close() {
    {
        const std::lock_guard lock(m_mutex);
        m_closed = true;
        m_events = {};
    }
    m_taken.notify_all();
}

} // namespace twb
