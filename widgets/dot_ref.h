#pragma once

#include "graph/graph.h"

#include <compare>
#include <cstddef>

namespace twb {

/// A dot, identified by the input of its wire and its index.
struct DotRef {
    PortRef wire;
    std::size_t index = 0;
    auto operator<=>(const DotRef&) const = default;
};

} // namespace twb
