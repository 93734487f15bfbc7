#pragma once

#include "core/shape.h"
#include "graph/delta.h"

#include <functional>
#include <optional>

namespace twb {

/// The type of the tensor that a source (File, Constant, …) holds; nothing if it is unknown.
using SourceTypes = std::function<std::optional<TensorType>(const Node&)>;

/// The number of equal modules that a module with these nodes consists of, at least 2; 0 if it has other
/// cards, or if its modules differ. Two modules are equal if they have the same ops with the same attributes
/// and connections, and parameters of the same types. The values of parameters, seeds, names and lanes do not
/// count.
int repeatsIn(const Graph& graph, FrameId module, const std::vector<NodeId>& nodes, const SourceTypes& types);

/// Adds a module around each run of three or more equal modules that follow each other, such as the blocks of
/// a transformer, unless their parent has nothing else.
Delta stackRepeats(const Graph& graph, const SourceTypes& types);

} // namespace twb
