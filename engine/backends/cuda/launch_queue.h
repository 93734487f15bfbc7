#pragma once

#include "backends/cuda/blas_handles.h"
#include "backends/cuda/chain_runner.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/kept_for_replays.h"
#include "backends/cuda/kernels/queue.h"
#include "backends/cuda/stream_copies.h"

#include <vector>

namespace twb::cuda {

class RankCalls;

/// Shared by the streams of one GPU.
struct GpuResources {
    std::shared_ptr<Gpu> gpu;
    std::shared_ptr<DeviceMemory> memory;
    std::shared_ptr<Allocator> pinned;
    std::shared_ptr<BlasHandles> blas;
    std::shared_ptr<ChainRunner> chains; ///< null: ops are launched one by one
    std::shared_ptr<RankCalls> calls;    ///< null: no calls over ranks
    int multiprocessors = 0;
};

/// The interface of a compute stream for its kernels.
class LaunchQueue final : public Queue {
public:
    LaunchQueue(const GpuResources& gpu, cudaStream_t stream);
    ~LaunchQueue() override;

    const char* op() const override { return m_op; }
    void* stream() override { return m_stream; }
    void* blasHandle() override { return m_blas.blas; }
    void* blasLtHandle() override { return m_blas.blasLt; }
    Workspace blasWorkspace() override { return m_blas.workspace; }
    bool allowsTf32() const override { return m_allowsTf32; }
    int multiprocessors() const override { return m_gpu.multiprocessors; }
    void* allocate(std::size_t bytes) override { return m_gpu.memory->allocateOn(m_stream, bytes); }
    void release(void* memory) noexcept override { m_gpu.memory->releaseOn(m_stream, memory); }
    void upload(void* target, const void* source, std::size_t bytes) override;
    Fault* fault() override;

    /// While an object lives, the stream captures. Each upload of a kernel is kept in `kept` in its own
    /// pages, since each replay reads it, and so is the fault memory of each launch that requests one.
    class Captured {
    public:
        Captured(LaunchQueue& queue, KeptForReplays& kept) : m_queue(queue) { queue.m_captured = &kept; }
        ~Captured() { m_queue.m_captured = nullptr; }
        Captured(const Captured&) = delete;
        Captured& operator=(const Captured&) = delete;

    private:
        LaunchQueue& m_queue;
    };

    void begin(const Launch& launch) noexcept;
    /// Whether the launch requested its fault memory; only then can it report a fault.
    bool mayHaveFault() const noexcept { return m_fault != nullptr; }
    /// Throws the fault that its kernels reported. Requires mayHaveFault(). Call it after the launch is done.
    void throwFault() const;

private:
    const GpuResources m_gpu;
    const cudaStream_t m_stream;
    const BlasPair m_blas;
    StreamCopies m_copies;
    StagingRing m_uploads;
    BufferPtr m_faultMemory;              ///< of launches that are not captured
    Fault* m_fault = nullptr;             ///< of the launch; null: it requested none
    KeptForReplays* m_captured = nullptr; ///< null: not capturing
    const char* m_op = "";
    LaunchGuard* m_guard = nullptr; ///< of the launch, as m_step
    std::uint32_t m_step = 0;
    bool m_allowsTf32 = false;
};

} // namespace twb::cuda
