#include "backends/cuda/stream_copies.h"

#include "backends/cuda/cuda_error.h"

namespace twb::cuda {

StreamCopies::StreamCopies(Gpu& gpu, cudaStream_t stream, std::size_t chunks)
    : m_gpu(gpu), m_stream(stream), m_marks(chunks) {}

void StreamCopies::toDevice(void* target, const void* pinned, std::size_t bytes) {
    check(cudaMemcpyAsync(target, pinned, bytes, cudaMemcpyHostToDevice, m_stream), "copying to the GPU");
}

void StreamCopies::toHost(void* pinned, const void* source, std::size_t bytes) {
    check(cudaMemcpyAsync(pinned, source, bytes, cudaMemcpyDeviceToHost, m_stream), "copying from the GPU");
}

void StreamCopies::mark(std::size_t chunk) {
    LentEvent& event = m_marks[chunk];
    if (!event.get()) event = LentEvent(m_gpu.marks());
    check(cudaEventRecord(event.get(), m_stream), "recording an event");
}

void StreamCopies::waitFor(std::size_t chunk) {
    // Errors are reported by the wait for the copies. A lost GPU does not read any more.
    if (m_marks[chunk].get()) waitForEvent(m_marks[chunk].get());
}

bool StreamCopies::goesOn() {
    return !m_guard || !m_guard->alert.load(std::memory_order_relaxed) || m_guard->mayRun(m_step);
}

void StreamCopies::setGuard(LaunchGuard* guard, std::uint32_t step) noexcept {
    m_guard = guard;
    m_step = step;
}

} // namespace twb::cuda
