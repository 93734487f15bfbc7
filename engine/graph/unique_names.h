#pragma once

#include "graph/graph.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace twb {

/// Names that no node of a graph has yet. Graph::uniqueName looks at all nodes; this looks at them once, for
/// an edit that adds many.
class UniqueNames {
public:
    explicit UniqueNames(const Graph& graph);
    /// `name` if it is free, else `name 2`, `name 3`, …; taken from then on.
    std::string take(std::string_view name);

private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, int> m_next; ///< by stem: the number to try first
};

/// A name without the number that counts it: "fc1" of "fc1 2".
std::string_view stemOf(std::string_view name) noexcept;

} // namespace twb
