#pragma once

#include "backends/cuda/kernels/fault.h"

#include <cstddef>
#include <cstdint>

namespace twb::cuda {

/// Device memory for libraries.
struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
};

/// The destination of a step's kernels: a stream and its resources. A kernel's source is compiled twice. With
/// nvcc, its launches go to stream(). With the host's compiler, launches are loops over host memory, so that
/// the arithmetic can be tested without a GPU.
class Queue {
public:
    virtual ~Queue() = default;
    /// The op that is being launched, for messages.
    virtual const char* op() const = 0;
    /// A cudaStream_t.
    virtual void* stream() = 0;
    /// A cublasHandle_t for stream().
    virtual void* blasHandle() = 0;
    /// A cublasLtHandle_t.
    virtual void* blasLtHandle() = 0;
    /// Workspace for the products of this queue, used by one at a time; may be empty.
    virtual Workspace blasWorkspace() = 0;
    /// Whether f32 products may be rounded to TF32.
    virtual bool allowsTf32() const = 0;
    virtual int multiprocessors() const = 0;
    /// Device memory, aligned to 256 bytes, in the stream's order. Throws Error(outOfMemory).
    virtual void* allocate(std::size_t bytes) = 0;
    /// May be called as soon as the work that uses the memory is submitted.
    virtual void release(void* memory) noexcept = 0;
    /// Copies host memory, which may change as soon as this returns, to the device in the stream's order.
    virtual void upload(void* target, const void* source, std::size_t bytes) = 0;
    /// Memory in which kernels of this launch report faults. Both sides can access it; it is clear at the
    /// start of the launch and checked (throwIfRaised) after it.
    virtual Fault* fault() = 0;
};

/// Device memory for the duration of a call; null for no bytes.
class Scratch {
public:
    Scratch(Queue& queue, std::size_t bytes)
        : m_queue(&queue), m_memory(bytes == 0 ? nullptr : queue.allocate(bytes)) {}
    ~Scratch() {
        if (m_memory) m_queue->release(m_memory);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    void* data() const noexcept { return m_memory; }
    template <class T> T* as() const noexcept { return static_cast<T*>(m_memory); }

private:
    Queue* m_queue;
    void* m_memory;
};

} // namespace twb::cuda
