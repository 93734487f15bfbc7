#include "backends/staging_ring.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>

namespace twb {

StagingRing::StagingRing(CopyQueue& queue, Allocator& pinned, std::size_t chunkBytes, std::size_t chunks)
    : m_queue(queue), m_pinned(pinned), m_chunkBytes(chunkBytes), m_chunks(chunks) {}

StagingRing::~StagingRing() {
    // Freed memory may be reused immediately.
    for (std::size_t i = 0; i < m_chunks.size(); ++i)
        if (m_chunks[i]) m_queue.waitFor(i);
}

std::byte* StagingRing::chunk(std::size_t index) {
    BufferPtr& buffer = m_chunks[index];
    if (!buffer) buffer = m_pinned.allocate(m_chunkBytes, MemoryKind::pinned);
    return static_cast<std::byte*>(buffer->data());
}

void StagingRing::prepare(std::size_t bytes) noexcept {
    try {
        for (std::size_t i = 0; i < m_chunks.size() && i * m_chunkBytes < bytes; ++i)
            chunk((m_next + i) % m_chunks.size());
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): the copy says it
    }
}

void StagingRing::toDevice(void* target, const void* source, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    for (std::size_t at = 0; at < bytes && (at == 0 || m_queue.goesOn()); at += m_chunkBytes) {
        const std::size_t piece = std::min(m_chunkBytes, bytes - at);
        std::byte* const staged = chunk(m_next);
        m_queue.waitFor(m_next);
        std::memcpy(staged, from + at, piece);
        m_queue.toDevice(to + at, staged, piece);
        m_queue.mark(m_next);
        m_next = (m_next + 1) % m_chunks.size();
    }
}

void StagingRing::toHost(void* target, const void* source, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    struct Piece {
        std::size_t chunk;
        std::size_t at;
        std::size_t bytes;
    };
    std::deque<Piece> underWay;
    const auto finishFirst = [&] {
        const Piece piece = underWay.front();
        underWay.pop_front();
        m_queue.waitFor(piece.chunk);
        std::memcpy(to + piece.at, chunk(piece.chunk), piece.bytes);
    };
    for (std::size_t at = 0; at < bytes && (at == 0 || m_queue.goesOn()); at += m_chunkBytes) {
        if (underWay.size() == m_chunks.size()) finishFirst();
        const Piece piece{m_next, at, std::min(m_chunkBytes, bytes - at)};
        std::byte* const staged = chunk(m_next);
        m_queue.waitFor(m_next); // a copy to the device may still read it
        m_queue.toHost(staged, from + at, piece.bytes);
        m_queue.mark(m_next);
        underWay.push_back(piece);
        m_next = (m_next + 1) % m_chunks.size();
    }
    while (!underWay.empty()) finishFirst();
}

} // namespace twb
