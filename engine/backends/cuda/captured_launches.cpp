#include "backends/cuda/captured_launches.h"

#include "backends/cuda/cuda_error.h"

#include <algorithm>

namespace twb::cuda {
namespace {

/// The number of nodes that a stream has captured so far.
std::size_t nodesOf(cudaStream_t stream) {
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr),
          "reading a CUDA graph");
#else
    check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr),
          "reading a CUDA graph");
#endif
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(graph, nullptr, &nodes), "reading a CUDA graph");
    return nodes;
}

} // namespace

CapturedLaunches::CapturedLaunches(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue,
                                   std::span<const Launch* const> launches, const Issue& issue) {
    auto times = std::make_shared<InnerSpans>();
    for (const Launch* launch : launches)
        times->launches.push_back({launch->timing, launch->guard, launch->step, launch->op});
    // Thread-local capture: other threads continue. A library call outside the stream, which a replay would
    // not repeat, is an error.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing launches");
    cudaGraph_t graph = nullptr;
    try {
        capture(gpu, stream, queue, *times, launches, issue);
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

void CapturedLaunches::capture(Gpu& gpu, cudaStream_t stream, LaunchQueue& queue, InnerSpans& times,
                               std::span<const Launch* const> launches, const Issue& issue) {
    const LaunchQueue::Captured captured(queue, times.kept);
    const bool isTimed = std::ranges::any_of(launches, [](const Launch* one) { return one->timing; });
    std::size_t nodes = 0; // of the graph
    const auto mark = [&] {
        if (!isTimed) return;
        // A mark takes about 2 µs of the GPU's time. A launch without work, such as a Reshape in place, needs
        // none.
        if (!times.marks.empty() && nodesOf(stream) == nodes) return;
        times.marks.emplace_back(gpu.timers());
        check(cudaEventRecordWithFlags(times.marks.back().get(), stream, cudaEventRecordExternal),
              "recording an event in a CUDA graph");
        nodes = nodesOf(stream);
    };
    mark();
    for (std::size_t i = 0; i < launches.size(); ++i) {
        issue(*launches[i]);
        mark();
        times.launches[i].end = times.marks.empty() ? 0 : times.marks.size() - 1;
    }
}

void CapturedLaunches::launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(m_graph, stream), "launching a CUDA graph");
}

} // namespace twb::cuda
