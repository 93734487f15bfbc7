#include "backends/cuda/cuda_event.h"

#include "backends/cuda/cuda_error.h"
#include "backends/cuda/timeline.h"
#include "core/error.h"

#include <algorithm>

namespace twb::cuda {

void Mark::issue(cudaStream_t stream) {
    try {
        m_event = LentEvent(m_gpu->marks());
        m_gpu->check(cudaEventRecord(m_event.get(), stream), "recording an event");
        settle(kIssued);
    } catch (const Error&) {
        if (!m_gpu->findsLoss(stream, "recording an event")) m_gpu->lose("an event cannot be recorded");
        giveUp();
    }
}

bool Mark::waitUntilIssued() const noexcept {
    m_state.wait(kPending, std::memory_order_acquire);
    return m_state.load(std::memory_order_acquire) == kIssued;
}

void Mark::wait() const {
    if (waitUntilIssued()) {
        m_gpu->use();
        const cudaError_t status = waitForEvent(m_event.get());
        if (status != cudaSuccess)
            m_gpu->lose(status, "waiting for an event");
        else if (!Timeline::mayHoldFaults())
            return;
    }
    // The steps before the mark must have failed before a step after it asks whether it may run.
    Timeline::resolveAll();
}

bool Mark::isPassed() const {
    switch (m_state.load(std::memory_order_acquire)) {
    case kPending:
        return false;
    case kIssued:
        m_gpu->use();
        return cudaEventQuery(m_event.get()) != cudaErrorNotReady;
    default:
        return true;
    }
}

std::uint64_t CudaEvent::recorded() const {
    const std::scoped_lock lock(m_mutex);
    return m_count;
}

void CudaEvent::waitFor(std::uint64_t record) {
    std::shared_ptr<Mark> mark;
    {
        const std::scoped_lock lock(m_mutex);
        const auto at = std::find_if(m_marks.begin(), m_marks.end(),
                                     [&](const auto& known) { return known->number() == record; });
        if (at == m_marks.end()) return; // no record yet, or passed long ago
        mark = *at;
    }
    mark->wait();
}

std::int64_t CudaEvent::virtualTime(std::uint64_t record) const {
    Timeline::resolveAll();
    const std::scoped_lock lock(m_mutex);
    for (const std::shared_ptr<Mark>& mark : m_marks)
        if (mark->number() >= record && mark->isResolved()) return mark->virtualTime();
    return 0;
}

bool CudaEvent::isDone() const {
    const std::shared_ptr<Mark> mark = lastMark();
    return !mark || mark->isPassed();
}

std::shared_ptr<Mark> CudaEvent::newMark() {
    const std::scoped_lock lock(m_mutex);
    auto mark = std::make_shared<Mark>(m_gpu, m_count + 1);
    while (m_marks.size() >= kRemembered && m_marks.front()->isPassed()) m_marks.pop_front();
    m_marks.push_back(mark);
    ++m_count;
    return mark;
}

std::shared_ptr<Mark> CudaEvent::lastMark() const {
    const std::scoped_lock lock(m_mutex);
    return m_marks.empty() ? nullptr : m_marks.back();
}

} // namespace twb::cuda
