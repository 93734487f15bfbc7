#pragma once

#include "backends/cuda/kernels/queue.h"

#include <cstdint>

namespace twb::cuda {

/// Sorts the elements of rows by unsigned keys (order_keys.h), with CUB, or with a stable sort on the host.
/// Both keep the order of equal keys.
template <class Key> class RowOrder {
public:
    /// Throws Error(unsupported) for rows longer than 32 bits can count.
    RowOrder(Queue& queue, std::int64_t rows, std::int64_t length);

    /// rows × length; must be written before find().
    Key* keys() const noexcept { return m_keys.as<Key>(); }
    /// Ascending. Destroys the keys.
    void find();
    /// After find(), for each row: the indices of its elements in sorted order.
    const std::uint32_t* places() const noexcept { return m_places.as<std::uint32_t>(); }

private:
    Queue& m_queue;
    const std::int64_t m_rows;
    const std::int64_t m_length;
    const Scratch m_keys;
    const Scratch m_places;
};

extern template class RowOrder<std::uint32_t>;
extern template class RowOrder<std::uint64_t>;

} // namespace twb::cuda
