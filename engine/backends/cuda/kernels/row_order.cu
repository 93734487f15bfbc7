#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/row_order.h"
#include "core/error.h"

#include <limits>
#include <string>

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#else
#include <algorithm>
#include <vector>
#endif

namespace twb::cuda {
namespace {

std::int64_t countable(const Queue& queue, std::int64_t length) {
    if (length > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
        throw Error(
            ErrorCode::unsupported,
            std::string(queue.op()) +
                " sorts rows of at most 4294967295 elements on a GPU; move the op to cpu for longer rows");
    return length;
}

#if defined(__CUDACC__)

/// Rows with at least this many elements are sorted by the whole GPU, one after the other; shorter rows are
/// sorted concurrently, each by one block.
constexpr std::int64_t kLong = std::int64_t{1} << 17;
/// A lower limit if there are too few rows to occupy the GPU with one block each: one row for at least
/// kManyForOne multiprocessors.
constexpr std::int64_t kLongOfFew = std::int64_t{1} << 14;
constexpr std::int64_t kManyForOne = 16;

struct InRow {
    std::uint32_t* places;
    std::int64_t length;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        places[i] = static_cast<std::uint32_t>(i % length);
    }
};

struct RowStart {
    std::int64_t length;
    TWB_HOST_DEVICE std::int64_t operator()(std::int64_t row) const { return row * length; }
};

/// Calls a function of CUB twice: once for the required memory, once with this memory.
template <class F> void withMemory(Queue& queue, const F& call) {
    std::size_t bytes = 0;
    const auto check = [&](cudaError_t status) {
        if (status != cudaSuccess)
            throw Error(ErrorCode::failed, std::string("CUDA could not sort for ") + queue.op() + ": " +
                                               cudaGetErrorString(status));
    };
    check(call(nullptr, bytes));
    const Scratch memory(queue,
                         std::max<std::size_t>(bytes, 1)); // a null pointer would only query the size again
    check(call(memory.data(), bytes));
}

template <class Key>
void sortRows(Queue& queue, std::int64_t rows, std::int64_t length, const Key* keys, Key* sorted,
              const std::uint32_t* places, std::uint32_t* ordered) {
    constexpr int bits = static_cast<int>(sizeof(Key) * 8);
    const bool isFew = rows * kManyForOne <= queue.multiprocessors();
    if (rows == 1 || length >= kLong || (isFew && length >= kLongOfFew)) {
        for (std::int64_t at = 0; at < rows * length; at += length)
            withMemory(queue, [&](void* memory, std::size_t& bytes) {
                return cub::DeviceRadixSort::SortPairs(memory, bytes, keys + at, sorted + at, places + at,
                                                       ordered + at, length, 0, bits, streamOf(queue));
            });
        return;
    }
    const auto starts =
        thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), RowStart{length});
    // CUB's sizes have 31 bits here.
    const std::int64_t most = std::numeric_limits<int>::max() / length;
    for (std::int64_t first = 0; first < rows; first += most) {
        const std::int64_t count = std::min(most, rows - first);
        const std::int64_t at = first * length;
        withMemory(queue, [&](void* memory, std::size_t& bytes) {
            return cub::DeviceSegmentedRadixSort::SortPairs(
                memory, bytes, keys + at, sorted + at, places + at, ordered + at,
                static_cast<int>(count * length), static_cast<int>(count), starts, starts + 1, 0, bits,
                streamOf(queue));
        });
    }
}

#endif

} // namespace

template <class Key>
RowOrder<Key>::RowOrder(Queue& queue, std::int64_t rows, std::int64_t length)
    : m_queue(queue), m_rows(rows), m_length(countable(queue, length)),
      m_keys(queue, static_cast<std::size_t>(rows * length) * sizeof(Key)),
      m_places(queue, static_cast<std::size_t>(rows * length) * sizeof(std::uint32_t)) {}

template <class Key> void RowOrder<Key>::find() {
    const std::int64_t total = m_rows * m_length;
    if (total == 0) return;
#if defined(__CUDACC__)
    const Scratch places(m_queue, static_cast<std::size_t>(total) * sizeof(std::uint32_t));
    const Scratch sorted(m_queue, static_cast<std::size_t>(total) * sizeof(Key));
    forEach(m_queue, total, InRow{places.as<std::uint32_t>(), m_length});
    sortRows(m_queue, m_rows, m_length, keys(), sorted.as<Key>(), places.as<std::uint32_t>(),
             m_places.as<std::uint32_t>());
#else
    for (std::int64_t row = 0; row < m_rows; ++row) {
        const Key* const own = keys() + row * m_length;
        std::uint32_t* const order = m_places.as<std::uint32_t>() + row * m_length;
        for (std::int64_t i = 0; i < m_length; ++i) order[i] = static_cast<std::uint32_t>(i);
        std::stable_sort(order, order + m_length,
                         [&](std::uint32_t a, std::uint32_t b) { return own[a] < own[b]; });
    }
#endif
}

template class RowOrder<std::uint32_t>;
template class RowOrder<std::uint64_t>;

} // namespace twb::cuda
