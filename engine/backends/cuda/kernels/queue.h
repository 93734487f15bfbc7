#pragma once

#include "backends/cuda/kernels/fault.h"

#include <cstddef>
#include <cstdint>

namespace twb::cuda {

/// Device memory that libraries work in.
struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
};

/// Where the kernels of one step go: a stream and what they need beside it. A kernel's source is compiled
/// twice. By nvcc its launches go to stream(). By the host's compiler they are loops over host memory, so
/// that its arithmetic can be tested where there is no GPU.
class Queue {
public:
    virtual ~Queue() = default;
    /// The op that is being launched, for messages.
    virtual const char* op() const = 0;
    /// A cudaStream_t.
    virtual void* stream() = 0;
    /// A cublasHandle_t that works on stream().
    virtual void* blasHandle() = 0;
    /// A cublasLtHandle_t.
    virtual void* blasLtHandle() = 0;
    /// What products of this queue may work in, one after the other; it may be empty.
    virtual Workspace blasWorkspace() = 0;
    /// Whether products of f32 may be rounded to TF32.
    virtual bool allowsTf32() const = 0;
    virtual int multiprocessors() const = 0;
    /// Device memory, aligned to 256 bytes, in the stream's order. Throws Error(outOfMemory).
    virtual void* allocate(std::size_t bytes) = 0;
    /// May be called as soon as the work that uses the memory is submitted.
    virtual void release(void* memory) noexcept = 0;
    /// Copies host memory, which may change as soon as this returns, to the device in the stream's order.
    virtual void upload(void* target, const void* source, std::size_t bytes) = 0;
    /// Where kernels of this launch report what they cannot go on with: memory that both sides reach, clear
    /// when the launch begins, looked at (throwIfRaised) when it is over.
    virtual Fault* fault() = 0;
};

/// Device memory for the length of one call; null where none is needed.
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
