#pragma once

#include "backends/cuda/kernels/queue.h"

#include <vector>

namespace twb::cuda {

/// A list of the host's, copied to the device for the length of one call.
template <class T> class Uploaded {
public:
    Uploaded(Queue& queue, const std::vector<T>& list)
        : m_size(static_cast<std::int64_t>(list.size())), m_memory(queue, list.size() * sizeof(T)) {
        if (!list.empty()) queue.upload(m_memory.data(), list.data(), list.size() * sizeof(T));
    }
    /// Null for an empty list.
    const T* data() const noexcept { return m_memory.template as<const T>(); }
    std::int64_t size() const noexcept { return m_size; }

private:
    std::int64_t m_size;
    Scratch m_memory;
};

} // namespace twb::cuda
