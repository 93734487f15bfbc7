#pragma once

#include "graph/delta.h"
#include "ops/op.h"

#include <optional>
#include <string_view>

namespace twb {

/// The dtypes that an input takes: none where the op has no such port, all of an op that is not known.
DTypeSet acceptedTypes(const Op* op, int input) noexcept;
inline bool accepts(const Op* op, int input, DType dtype) noexcept {
    return acceptedTypes(op, input).contains(dtype);
}
DTypeSet allTypes() noexcept;

/// A port of a palette entry, an op or a composite: `node` counts the nodes that it adds.
struct EntryPort {
    std::size_t node = 0;
    std::int32_t port = 0;
    bool operator==(const EntryPort&) const = default;
};

/// The input of an op or a composite ("Linear") that a tensor of one of these dtypes would be joined to: the
/// first that must be connected and takes it, else the first that may be. Nothing where none takes it.
std::optional<EntryPort> inputFor(std::string_view entry, DTypeSet offered) noexcept;
/// The first output, of a composite the last one that it does not use itself, which may make one of these
/// dtypes.
std::optional<EntryPort> outputFor(std::string_view entry, DTypeSet wanted) noexcept;

/// As inputFor(), among the inputs of a node that are not connected.
std::optional<std::int32_t> freeInputFor(const Graph& graph, const Node& node, DTypeSet offered) noexcept;

} // namespace twb
