#include "backends/cuda/gpu.h"

#include "backends/cpu/host_stream.h"
#include "backends/cuda/cuda_error.h"
#include "core/error.h"

#include <fmt/format.h>

namespace twb::cuda {
namespace {

constexpr std::int64_t kBaseAge = 1'000'000'000; ///< ns

} // namespace

void Gpu::makeCurrent() { check(cudaSetDevice(m_index), "choosing the GPU"); }

void Gpu::use() const noexcept {
    int current = -1;
    if (cudaGetDevice(&current) != cudaSuccess || current != m_index) cudaSetDevice(m_index);
}

std::shared_ptr<const ClockBase> Gpu::clockBase(cudaStream_t idle) {
    const std::scoped_lock lock(m_clockMutex);
    if (m_base && steadyNs() - m_base->hostNs < kBaseAge) return m_base;
    // The event lies between two queries of the host's clock. Of several tries, the one with the smallest
    // interval is the most exact. A busy host may need more tries.
    constexpr int kTries = 5;
    constexpr int kMostTries = 100;
    constexpr std::int64_t kNarrow = 50'000; // ns
    auto best = std::make_shared<ClockBase>();
    std::int64_t narrowest = 0;
    for (int i = 0; i < kTries || (narrowest > kNarrow && i < kMostTries); ++i) {
        LentEvent event(m_timers);
        const std::int64_t before = steadyNs();
        check(cudaEventRecord(event.get(), idle), "reading the GPU's clock");
        cudaError_t state = cudaErrorNotReady;
        while (state == cudaErrorNotReady) state = cudaEventQuery(event.get());
        check(state, "reading the GPU's clock");
        const std::int64_t after = steadyNs();
        if (i > 0 && after - before >= narrowest) continue;
        narrowest = after - before;
        *best = {std::move(event), before + narrowest / 2};
    }
    m_base = std::move(best);
    return m_base;
}

void Gpu::check(cudaError_t status, const char* doing) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    if (isFatal(status)) lose(status, doing);
    throwIfLost();
    throw Error(
        ErrorCode::failed,
        fmt::format("{0} cannot be used now; run again later, or simulate {0}: CUDA reports: {1}, while {2}",
                    device().toString(), sentenceOf(status), doing));
}

bool Gpu::findsLoss(cudaStream_t stream, const char* doing) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaSuccess && status != cudaErrorNotReady) lose(status, doing);
    return isLost();
}

void Gpu::throwIfLost() const {
    if (isLost()) throw Error(ErrorCode::failed, lossSentence());
}

void Gpu::lose(cudaError_t status, const char* doing) {
    lose(fmt::format("CUDA reports: {}, while {}", sentenceOf(status), doing));
}

void Gpu::lose(const std::string& reason) {
    const std::scoped_lock lock(m_lossMutex);
    if (m_lost.load(std::memory_order_relaxed)) return;
    m_loss = fmt::format("{0} can no longer be used; restart the program, or simulate {0}: {1}",
                         device().toString(), reason);
    m_lost.store(true, std::memory_order_release);
}

std::string Gpu::lossSentence() const {
    const std::scoped_lock lock(m_lossMutex);
    return m_loss;
}

} // namespace twb::cuda
