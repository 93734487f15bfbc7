#pragma once

#include <cstdint>
#include <limits>

namespace twb {

/// An unknown element in a list of sizes, while ops move it. The id of the size (KnownTensors) is added.
inline constexpr std::int64_t kUnknownElement = std::numeric_limits<std::int64_t>::min();

inline bool isUnknownElement(std::int64_t element) noexcept {
    return element <= kUnknownElement + std::numeric_limits<int>::max();
}
inline int idOfElement(std::int64_t element) noexcept { return static_cast<int>(element - kUnknownElement); }

} // namespace twb
