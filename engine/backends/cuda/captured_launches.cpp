#include "backends/cuda/captured_launches.h"

#include "backends/cuda/cuda_error.h"

namespace twb::cuda {

CapturedLaunches::CapturedLaunches(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue,
                                   std::span<const Launch* const> launches, const Issue& issue) {
    auto times = std::make_shared<InnerSpans>();
    bool isTimed = false;
    for (const Launch* launch : launches) {
        times->launches.push_back({launch->timing, launch->guard, launch->step, launch->op});
        isTimed |= launch->timing != nullptr;
    }
    for (std::size_t i = 0; isTimed && i <= launches.size(); ++i) times->marks.emplace_back(gpu.timers());
    // Thread-local capture: other threads continue. A library call outside the stream, which a replay would
    // not repeat, is an error.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing launches");
    cudaGraph_t graph = nullptr;
    try {
        capture(stream, queue, *times, launches, issue);
    } catch (...) {
        if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph) cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "capturing launches");
    const cudaError_t status = cudaGraphInstantiate(&m_graph, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "creating a CUDA graph");
    m_times = std::move(times);
}

CapturedLaunches::~CapturedLaunches() {
    if (m_graph) cudaGraphExecDestroy(m_graph);
}

void CapturedLaunches::capture(cudaStream_t stream, LaunchQueue& queue, const InnerSpans& times,
                               std::span<const Launch* const> launches, const Issue& issue) {
    const LaunchQueue::Captured captured(queue, m_uploads);
    const auto mark = [&](std::size_t at) {
        if (times.marks.empty()) return;
        check(cudaEventRecordWithFlags(times.marks[at].get(), stream, cudaEventRecordExternal),
              "recording an event in a CUDA graph");
    };
    mark(0);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        issue(*launches[i]);
        mark(i + 1);
    }
}

void CapturedLaunches::launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(m_graph, stream), "launching a CUDA graph");
}

} // namespace twb::cuda
