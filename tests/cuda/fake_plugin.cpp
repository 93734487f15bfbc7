#include "cuda/fake_runtime.h"

// With backends/cuda/plugin.cpp, a CUDA plugin whose GPUs are those of the stand-in. A test that loads it
// calls these functions.

#define TWB_EXPORT extern "C" __attribute__((visibility("default")))

TWB_EXPORT void twb_fake_lose(int at, int number, int error) {
    twb::test::fake::lose({twb::test::fake::Loss::At(at), number, cudaError_t(error)});
}
TWB_EXPORT void twb_fake_give_back() { twb::test::fake::giveBack(); }
/// For kernels of plug-ins: work on a stream.
TWB_EXPORT void twb_fake_enqueue(void* stream, void (*work)(void*), void* data) {
    twb::test::fake::enqueue(static_cast<cudaStream_t>(stream), [work, data] { work(data); });
}
