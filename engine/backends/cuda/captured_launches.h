#pragma once

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/timeline.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace twb::cuda {

/// Launches that were captured from a stream as one CUDA graph; launch() replays all of them with one call.
/// The graph records events between the launches at each replay, so each timed launch keeps its own time. The
/// graph owns the kernels' scratch memory. Uploads are read from page-locked copies that live as long as the
/// graph. A replay stores the faults that its kernels find. Timeline::resolveAll() reports them.
class CapturedLaunches {
public:
    using Issue = std::function<void(const Launch&)>;

    /// `issue` submits a launch to `stream`, the stream of `queue`. Nothing runs. Throws Error, or whatever
    /// `issue` throws, with the stream unchanged: for example, if a kernel waits for the GPU.
    CapturedLaunches(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue,
                     std::span<const Launch* const> launches, const Issue& issue);
    ~CapturedLaunches();
    CapturedLaunches(const CapturedLaunches&) = delete;
    CapturedLaunches& operator=(const CapturedLaunches&) = delete;

    /// Submits all launches. Throws Error with none submitted.
    void launch(cudaStream_t stream) const;
    /// The times and faults of the launches; each replay overwrites the times.
    const std::shared_ptr<const InnerSpans>& times() const noexcept { return m_times; }

private:
    void capture(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue, InnerSpans& times,
                 std::span<const Launch* const> launches, const Issue& issue);

    std::shared_ptr<const InnerSpans> m_times;
    cudaGraphExec_t m_graph = nullptr;
};

} // namespace twb::cuda
