#include "widgets/run_batch.h"

namespace twb {

void RunBatch::started(std::uint64_t run, const Plan&) {
    const std::lock_guard lock(m_mutex);
    m_run = run;
    m_closed = false;
    m_events = {};
}

void RunBatch::steps(std::uint64_t run, std::span<const StepRecord> records) {
    std::unique_lock lock(m_mutex);
    m_taken.wait(lock, [this] { return m_closed || m_events.records.size() < kCapacity; });
    if (m_closed || run != m_run) return;
    m_events.records.insert(m_events.records.end(), records.begin(), records.end());
}

void RunBatch::progress(std::uint64_t run, std::int64_t done, std::int64_t total) {
    const std::lock_guard lock(m_mutex);
    if (m_closed || run != m_run) return;
    m_events.done = done;
    m_events.total = total;
}

AtStop RunBatch::stopped(const RunStop& stop) {
    const std::lock_guard lock(m_mutex);
    if (m_closed || stop.run != m_run) return AtStop::end;
    m_events.stop = stop;
    return AtStop::wait;
}

void RunBatch::finished(RunResult result) noexcept {
    const std::lock_guard lock(m_mutex);
    if (m_closed || result.run != m_run) return;
    m_events.end = std::move(result);
}

RunEvents RunBatch::take() {
    RunEvents taken;
    {
        const std::lock_guard lock(m_mutex);
        std::swap(taken, m_events);
        m_events.done = taken.done; // stays true until somebody says more
        m_events.total = taken.total;
    }
    m_taken.notify_all();
    return taken;
}

void RunBatch::close() {
    {
        const std::lock_guard lock(m_mutex);
        m_closed = true;
    }
    m_taken.notify_all();
}

} // namespace twb
