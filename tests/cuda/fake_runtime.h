#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace twb::test::fake {

/// A stand-in for the CUDA runtime, linked in its place. Streams are threads that run each command some time
/// after it was queued; GPUs have host memory of their own. Errors that the real runtime reveals only
/// sometimes always show: freed memory is overwritten, copies from or to pageable memory are counted, and a
/// capture fails on every call that may be illegal during it.
struct Machine {
    int gpus = 2;
    int driver = CUDART_VERSION; ///< 0: none
    std::size_t memoryBytes = std::size_t{64} << 20;
    int mostDelayUs = 0;      ///< a random delay before each command
    double eventScale = 1;    ///< factor of the times that events measure
    bool forgetWaits = false; ///< cudaStreamWaitEvent does nothing, as if a wait were missing
    bool noCompiler = false;  ///< no kernels are compiled for chains of ops
    enum class Graphs { work, failToCapture, failToBeMade, failToLaunch } graphs = Graphs::work;
};

/// A moment at which GPU 0 is lost. Each of its later calls fails with the same error, and its streams do no
/// more work. The other GPUs go on.
struct Loss {
    enum class At : std::uint8_t {
        call,   ///< a call of the runtime, other than the queries that poll, or a launch of a kernel
        command ///< a queued kernel, copy or event, while the GPU runs it
    } at = At::call;
    int number = 0; ///< from 1, counted from lose() on
    cudaError_t error = cudaErrorIllegalAddress;
};

/// Initialises the fake machine. No streams may exist.
void start(const Machine& machine);

/// The machine loses its GPU 0 at this moment.
void lose(const Loss& loss);
/// GPU 0 works again. Only the machine is whole again: a program that saw the loss must restart.
void giveBack();
/// The calls of GPU 0, and its commands, since lose().
int counted(Loss::At at);

/// Queues a kernel's work. An exception in it breaks the GPU, as an illegal access does.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// The number of copies so far with pageable host memory.
int pageableCopies();
/// The number of launches so far that may round to TF32.
int tf32Launches();
/// The number of captured CUDA graphs, and of their launches, since start().
int captures();
int graphLaunches();
/// The machine passed to start().
const Machine& machine();
/// The number of products launched so far with their epilogue.
int productLaunches();
/// The number of chains of pointwise ops launched so far as one kernel, and of those whose ops were launched
/// one by one.
int chainLaunches();
int chainsOneByOne();
/// The number of chain kernels requested so far.
int chainsPrepared();
/// Whether a GPU has had a context, which takes device memory, since start().
bool hasContext(int gpu);
/// The number of allocations of GPU and page-locked memory that are not freed.
std::size_t liveAllocations();

} // namespace twb::test::fake
