#include "cuda/fake_gpu.h"

// Captures and CUDA graphs.

using namespace twb::test::fake;

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    std::swap(*mode, captureMode);
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    const std::scoped_lock lock(world().mutex);
    if (mode != cudaStreamCaptureModeThreadLocal) return say(cudaErrorInvalidValue);
    stream->captured = std::make_unique<CUgraph_st>();
    stream->isCaptureLost = world().machine.graphs == Machine::Graphs::failToCapture;
    capturing = stream;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const cudaError_t state = call(stream->gpu);
    std::unique_ptr<CUgraph_st> captured;
    {
        const std::scoped_lock lock(world().mutex);
        captured = std::move(stream->captured);
        capturing = nullptr;
        if (!stream->isCaptureLost) ++world().captures;
    }
    *graph = nullptr;
    if (state != cudaSuccess) return state;
    if (stream->isCaptureLost) return say(cudaErrorStreamCaptureInvalidated);
    *graph = captured.release();
    return cudaSuccess;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t* graph, const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**, std::size_t*) {
#else
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long*, cudaGraph_t* graph, const cudaGraphNode_t**,
                                        std::size_t*) {
#endif
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    *status = stream->isCaptureLost ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    *graph = stream->isCaptureLost ? nullptr : stream->captured.get();
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
    if (!graph) return say(cudaErrorInvalidValue);
    *count = graph->commands.size();
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    if (world().machine.graphs == Machine::Graphs::failToBeMade) return say(cudaErrorMemoryAllocation);
    auto made = std::make_unique<CUgraphExec_st>();
    made->graph = std::make_unique<CUgraph_st>();
    made->graph->commands.swap(graph->commands);
    made->graph->memory.swap(graph->memory);
    *exec = made.release();
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    {
        const std::scoped_lock lock(world().mutex);
        if (world().machine.graphs == Machine::Graphs::failToLaunch) return say(cudaErrorMemoryAllocation);
        ++world().graphLaunches;
    }
    for (const auto& command : exec->graph->commands) stream->push(command);
    return cudaSuccess;
}
cudaError_t cudaDeviceGraphMemTrim(int) { return cudaSuccess; }

} // extern "C"
