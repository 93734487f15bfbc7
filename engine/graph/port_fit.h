#pragma once

#include "graph/delta.h"
#include "ops/op.h"

#include <optional>
#include <string_view>

namespace twb {

/// The dtypes that an input accepts: none if the op has no such port, all for an unknown op.
DTypeSet acceptedTypes(const Op* op, int input) noexcept;
inline bool accepts(const Op* op, int input, DType dtype) noexcept {
    return acceptedTypes(op, input).contains(dtype);
}
DTypeSet allTypes() noexcept;

/// A port of a palette entry (an op or a composite); `node` is the index among the nodes that it adds.
struct EntryPort {
    std::size_t node = 0;
    std::int32_t port = 0;
    bool operator==(const EntryPort&) const = default;
};

/// The input of an op or a composite ("Linear") for a tensor of one of these dtypes: the first required input
/// that accepts it, else the first optional one. Nothing if no input accepts it.
std::optional<EntryPort> inputFor(std::string_view entry, DTypeSet offered) noexcept;
/// The first output with one of these dtypes; for a composite, the last output that it does not use itself.
std::optional<EntryPort> outputFor(std::string_view entry, DTypeSet wanted) noexcept;
/// The same for a module, such as a composite's or a user's.
std::optional<EntryPort> inputFor(const Fragment& fragment, DTypeSet offered) noexcept;
std::optional<EntryPort> outputFor(const Fragment& fragment, DTypeSet wanted) noexcept;

/// Like inputFor(), among the unconnected inputs of a node.
std::optional<std::int32_t> freeInputFor(const Graph& graph, const Node& node, DTypeSet offered) noexcept;

} // namespace twb
