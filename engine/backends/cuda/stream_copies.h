#pragma once

#include "backends/backend.h"
#include "backends/cuda/gpu.h"
#include "backends/staging_ring.h"

#include <vector>

namespace twb::cuda {

/// Runs the copies of a staging ring on a CUDA stream.
class StreamCopies final : public CopyQueue {
public:
    StreamCopies(Gpu& gpu, cudaStream_t stream, std::size_t chunks);

    void toDevice(void* target, const void* pinned, std::size_t bytes) override;
    void toHost(void* pinned, const void* source, std::size_t bytes) override;
    void mark(std::size_t chunk) override;
    void waitFor(std::size_t chunk) override;
    bool goesOn() override;

    /// Sets the guard that decides whether the copies of `step` continue; without one (null) they always do.
    /// Does not own the guard.
    void setGuard(LaunchGuard* guard, std::uint32_t step) noexcept;

private:
    Gpu& m_gpu;
    cudaStream_t m_stream;
    std::vector<LentEvent> m_marks; ///< by chunk; empty before its first use
    LaunchGuard* m_guard = nullptr;
    std::uint32_t m_step = 0;
};

} // namespace twb::cuda
