#pragma once

#include "backends/cuda/kernels/queue.h"

#include <cstdint>

namespace twb::cuda {

/// The order of the elements of rows, found by a key that each element has: an unsigned number
/// (order_keys.h). By CUB; on the host by a stable sort. Both leave equal keys in the order in which they
/// stand.
template <class Key> class RowOrder {
public:
    /// Throws Error(unsupported) for rows that are longer than 32 bits count.
    RowOrder(Queue& queue, std::int64_t rows, std::int64_t length);

    /// rows × length, for somebody to write before find().
    Key* keys() const noexcept { return m_keys.as<Key>(); }
    /// Smallest key first. The keys are not there any more.
    void find();
    /// After find(), `length` for each row: where in the row its first element in order stands, its second, …
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
