#pragma once

#include <cstdint>
#include <limits>

namespace twb {

/// kUnknownElement + id stands for the unknown size with this id (KnownTensors) in a list of sizes, so that
/// Gather, Concat and other ops can move it like a number.
inline constexpr std::int64_t kUnknownElement = std::numeric_limits<std::int64_t>::min();

inline bool isUnknownElement(std::int64_t element) noexcept {
    return element <= kUnknownElement + std::numeric_limits<int>::max();
}
inline int idOfElement(std::int64_t element) noexcept { return static_cast<int>(element - kUnknownElement); }

} // namespace twb
