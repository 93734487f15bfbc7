#include "backends/cuda/event_pool.h"

#include "backends/cuda/gpu.h"

#include <chrono>
#include <new>

namespace twb::cuda {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);

} // namespace

EventPool::~EventPool() {
    for (cudaEvent_t event : m_free) cudaEventDestroy(event);
}

cudaEvent_t EventPool::take() {
    {
        const std::scoped_lock lock(m_mutex);
        if (!m_free.empty()) {
            cudaEvent_t event = m_free.back();
            m_free.pop_back();
            return event;
        }
    }
    cudaEvent_t event = nullptr;
    m_gpu.check(cudaEventCreateWithFlags(&event, m_flags), "creating an event");
    return event;
}

void EventPool::giveBack(cudaEvent_t event) noexcept {
    const std::scoped_lock lock(m_mutex);
    try {
        m_free.push_back(event);
    } catch (const std::bad_alloc&) {
        cudaEventDestroy(event);
    }
}

cudaError_t waitForEvent(cudaEvent_t event) noexcept {
    const auto until = std::chrono::steady_clock::now() + kSpin;
    cudaError_t status = cudaEventQuery(event);
    while (status == cudaErrorNotReady && std::chrono::steady_clock::now() < until)
        status = cudaEventQuery(event);
    return status == cudaErrorNotReady ? cudaEventSynchronize(event) : status;
}

} // namespace twb::cuda
