#pragma once

#include "graph/graph.h"

#include <compare>
#include <cstddef>

namespace twb {

/// One of the dots of the wire into an input, by its place among them.
struct DotRef {
    PortRef wire;
    std::size_t index = 0;
    auto operator<=>(const DotRef&) const = default;
};

} // namespace twb
