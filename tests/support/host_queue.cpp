#include "support/host_queue.h"

#include <cstring>
#include <new>

namespace twb::test {

void* HostQueue::allocate(std::size_t bytes) {
    // Memory is filled with a pattern, so that a kernel that relies on zeros fails.
    void* const memory = ::operator new (bytes, std::align_val_t{256});
    std::memset(memory, 0xb5, bytes);
    return memory;
}

void HostQueue::release(void* memory) noexcept { ::operator delete (memory, std::align_val_t{256}); }

void HostQueue::upload(void* target, const void* source, std::size_t bytes) {
    if (bytes > 0) std::memcpy(target, source, bytes);
}

bool hasCudaKernel(std::string_view op, std::span<const DType> dtypes) {
    const cuda::Kernel* const kernel = cuda::findKernel(op);
    return kernel && kernel->supports(dtypes);
}

void runCudaKernel(const char* op, const KernelContext& context) {
    HostQueue queue(op);
    cuda::findKernel(op)->run({context.inputs, context.outputs, context.attributes, context.memory, queue});
    cuda::throwIfRaised(*queue.fault());
}

} // namespace twb::test
