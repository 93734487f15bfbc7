#pragma once

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/timeline.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace twb::cuda {

/// Launches that lie ready as one CUDA graph: captured from a stream while they are issued to it as ever, and
/// launched again and again by one call each. Between them, and around, lie events that each replay records
/// anew, so that each launch that is timed keeps its own time. Scratch memory of kernels becomes the graph's
/// own; what they upload is read from page-locked copies that live as long as the graph.
class CapturedLaunches {
public:
    using Issue = std::function<void(const Launch&)>;

    /// `issue` submits a launch to `stream`, which `queue` is of. Nothing runs. Throws Error, and whatever
    /// `issue` throws, with the stream as it was: a kernel that waits for the GPU, for one, or whose fault
    /// the host must look at, cannot be captured.
    CapturedLaunches(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue,
                     std::span<const Launch* const> launches, const Issue& issue);
    ~CapturedLaunches();
    CapturedLaunches(const CapturedLaunches&) = delete;
    CapturedLaunches& operator=(const CapturedLaunches&) = delete;

    /// Submits all of them. Throws Error with none submitted.
    void launch(cudaStream_t stream) const;
    /// Overwritten by each replay.
    const std::shared_ptr<const InnerSpans>& times() const noexcept { return m_times; }

private:
    void capture(cudaStream_t stream, LaunchQueue& queue, const InnerSpans& times,
                 std::span<const Launch* const> launches, const Issue& issue);

    std::shared_ptr<const InnerSpans> m_times;
    std::vector<BufferPtr> m_uploads;
    cudaGraphExec_t m_graph = nullptr;
};

} // namespace twb::cuda
