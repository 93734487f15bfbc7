#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace twb::test::fake {

/// A library that stands in for NCCL. Its ranks are threads of this process with a GPU of the stand-in for
/// the CUDA runtime each. A call runs in its stream, where it waits for the same call of the other ranks.
struct Nccl {
    /// Of the stand-in for the CUDA runtime, which is linked into the test.
    void (*enqueue)(cudaStream_t stream, std::function<void()> work) = nullptr;
    int (*currentGpu)() = nullptr;
    int version = 22809;
    /// The call of this rank with this number, from 1, fails: at once (`later` is false), or while it runs.
    int failingRank = -1;
    int failingCall = 0;
    bool later = false;
    int init = 0; ///< the code with which ncclCommInitRank fails; 0: it works
};
/// Forgets what has been recorded. No communicator may exist.
void startNccl(const Nccl& nccl);

/// What a rank has called, in its order: "GroupStart", "AllReduce f32 3 sum", "GroupEnd", "Destroy", "Abort".
std::vector<std::string> ncclCalls(int rank);
/// Uses that NCCL forbids: calls of ranks that differ, another GPU than that of the communicator, a group
/// that stays open, a communicator that is used after its end. Empty if there are none.
std::vector<std::string> ncclMistakes();
/// Communicators that are neither destroyed nor aborted.
int liveCommunicators();

} // namespace twb::test::fake
