#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace twb::test::fake {

/// A stand-in for the CUDA runtime, linked in its place: streams are threads that do each command some time
/// after it was queued, GPUs have host memory of their own. What the real one punishes only sometimes shows
/// here: memory is overwritten when it is freed, copies from or to pageable memory are counted, and a capture
/// is lost to whatever the real one might not allow in it.
struct Machine {
    int gpus = 2;
    int driver = CUDART_VERSION; ///< 0: none
    std::size_t memoryBytes = std::size_t{64} << 20;
    int mostDelayUs = 0;      ///< before each command, at random
    double eventScale = 1;    ///< what events measure of the time that goes by
    bool forgetWaits = false; ///< cudaStreamWaitEvent does nothing: what a missing wait leads to
    bool noCompiler = false;  ///< chains of ops get no kernels
    enum class Graphs { work, failToCapture, failToBeMade, failToLaunch } graphs = Graphs::work;
};

/// Sets the machine up; no stream may be there.
void start(const Machine& machine);

/// Queues work of a kernel. What it throws breaks the GPU, as an illegal access does.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// Copies so far whose host side was not page-locked.
int pageableCopies();
/// Kernels launched so far that might round to TF32.
int tf32Launches();
/// CUDA graphs captured, and how often one was launched, since start().
int captures();
int graphLaunches();
/// What start() was given.
const Machine& machine();
/// Products launched so far with what ends them.
int productLaunches();
/// Chains of pointwise ops launched so far, and those whose ops were launched one by one in their place.
int chainLaunches();
int chainsOneByOne();
/// Chains' kernels asked for so far.
int chainsPrepared();
/// Whether a GPU has a context since start(), which takes memory of it.
bool hasContext(int gpu);
/// Allocations of GPU and page-locked memory that were not freed.
std::size_t liveAllocations();

} // namespace twb::test::fake
