#pragma once

#include <cstdint>
#include <functional>

namespace twb {

/// Stable ids, one counter per kind, never reused within a document. 0 means none.
enum class NodeId : std::uint64_t { none = 0 };
enum class LaneId : std::uint64_t { none = 0 };
enum class FrameId : std::uint64_t { none = 0 };
enum class NoteId : std::uint64_t { none = 0 };

template <class Id> constexpr std::uint64_t value(Id id) noexcept { return static_cast<std::uint64_t>(id); }

} // namespace twb
