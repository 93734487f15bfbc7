#pragma once

#include "ops/op.h"

#include <string>
#include <string_view>

namespace twb {

/// Whether it is the op "Opaque": a call of another program's op that has no equivalent op in the op table.
/// Its output types are attributes. It can be placed and priced, but a graph with one does not run.
bool isOpaque(const Op& op) noexcept;

/// Why the node cannot run, as one sentence. Attributes are complete.
std::string opaqueSentence(std::string_view nodeName, const Attributes& attributes);

/// Whether a 0-dimensional cpu tensor is accepted among the operands on another device: for elementwise ops,
/// and for an Opaque node that says so. Attributes are complete, or empty if they have errors.
bool takesHostScalars(const Op& op, const Attributes& attributes);

} // namespace twb
