#pragma once

#include "graph/graph.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace twb {

/// Unused node names. Graph::uniqueName visits all nodes at each call; this class visits them once, for an
/// edit that adds many.
class UniqueNames {
public:
    explicit UniqueNames(const Graph& graph);
    /// `name` if it is unused, else `name 2`, `name 3`, …; the result counts as used from then on.
    std::string take(std::string_view name);

private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, int> m_next; ///< by stem: the number to try first
};

/// A name without its number: "fc1" of "fc1 2".
std::string_view stemOf(std::string_view name) noexcept;

} // namespace twb
