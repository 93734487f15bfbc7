#pragma once

#include "graph/unique_names.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace twb {

// Which nodes of one version of a module are those of another. For each of `nodes`, the index of its partner
// among `others`; each of these occurs at most once.

/// By op and name, apart from the number that makes a name unique. Two nodes that are the only ones of their
/// op without a partner are partners, too.
std::vector<std::optional<std::size_t>> pairByName(std::span<const Node> nodes, std::span<const Node> others);
/// By their order if that gives each node one with its op; else by name.
std::vector<std::optional<std::size_t>> pairNodes(std::span<const Node> nodes, std::span<const Node> others);

} // namespace twb
