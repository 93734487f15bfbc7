#pragma once

#include <algorithm>
#include <cstddef>

namespace twb {

/// Makes each non-zero byte 1. In a file, any byte but 0 may stand for true; a C++ bool must be 0 or 1.
inline void makeBools(void* bytes, std::size_t count) {
    auto* const first = static_cast<unsigned char*>(bytes);
    std::transform(first, first + count, first,
                   [](unsigned char c) { return static_cast<unsigned char>(c != 0); });
}

} // namespace twb
