#pragma once

#include "backends/backend.h"
#include "backends/cuda/gpu.h"
#include "backends/cuda/nccl_library.h"
#include "backends/world.h"
#include "core/buffer.h"

#include <memory>
#include <span>
#include <string>

namespace twb::cuda {

/// The calls over ranks that one GPU makes with NCCL. Created by all ranks together. One stream uses it at a
/// time.
class RankCalls {
public:
    /// Joins the GPUs of the other ranks: the id of rank 0 is broadcast over `world`. Throws Error(failed) if
    /// this rank cannot join. If another rank cannot, issue() throws. If NCCL fails where other ranks may
    /// wait for this one in it, the world is aborted.
    RankCalls(std::shared_ptr<const nccl::Library> library, std::shared_ptr<Gpu> gpu, Allocator& memory,
              World& world);
    ~RankCalls();
    RankCalls(const RankCalls&) = delete;
    RankCalls& operator=(const RankCalls&) = delete;

    static bool isCall(std::string_view op);
    static bool supports(std::string_view op, std::span<const DType> dtypes);

    /// Queues the call of a launch. The stream must be that of a GPU that is current. Throws Error(failed)
    /// with NCCL's sentence; NCCL is then aborted, and all later calls fail with it.
    void issue(const Launch& launch, cudaStream_t stream);
    /// Waits until the launch between two events is done. Throws like issue() if NCCL has failed, or if the
    /// world has ended meanwhile.
    void finish(const Launch& launch, cudaEvent_t start, cudaEvent_t end);

private:
    void check(int result, const char* function, const char* label);
    [[noreturn]] void fail(const std::string& sentence);
    void waitFor(cudaEvent_t event, const Launch& launch);
    void make(const Launch& launch, cudaStream_t stream);
    void allReduce(const Launch& launch, cudaStream_t stream);
    void sendReceive(const Launch& launch, cudaStream_t stream);

    const std::shared_ptr<const nccl::Library> m_nccl;
    const std::shared_ptr<Gpu> m_gpu;
    World& m_world;
    BufferPtr m_number; ///< what a barrier sums
    nccl::Communicator m_communicator = nullptr;
    std::string m_failure; ///< the sentence of the first failure
};

} // namespace twb::cuda
