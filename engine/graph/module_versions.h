#pragma once

#include "graph/module_op.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twb {

// The versions of module ops: which modules of a graph were made from another version of their op, and how
// they become modules of the installed one.

/// Modules of a graph that were made from one version of an op, of which another version is installed.
struct OtherVersion {
    ModuleRef made;
    std::int64_t installed = 1;
    std::vector<FrameId> modules; ///< at least one, by id
    bool isOlder() const noexcept { return made.version < installed; }
};
/// By name and version.
std::vector<OtherVersion> otherVersions(const Graph& graph, std::span<const ModuleOp> ops);
/// "module "swish 2" and 1 more module were made from Swish version 1, but version 2 is installed; …"
std::string toSentence(const Graph& graph, const OtherVersion& other);

/// The change that makes modules those of the installed version of their ops.
struct ModuleUpdate {
    Delta delta; ///< without a title
    std::size_t modules = 0;
    std::vector<std::string> remarks; ///< what could not be kept, and values that differ: a sentence each
};
/// Replaces the nodes of the modules that were made from an older version of an op in `ops`; leaves other
/// modules. A node of the new version has the name, the lane and the looks of the old node with its op and
/// its name. Wires from and to the rest of the graph, the values of the op's attributes and the names of
/// files are kept; other values are those of the new version.
ModuleUpdate updateModules(const Graph& graph, std::span<const FrameId> modules,
                           std::span<const ModuleOp> ops);

/// The index in `b` of each node of `a`, if the two ops are the same apart from their versions, node ids,
/// positions, looks, seeds, and the numbers that make names unique. Nothing if they differ. Both are without
/// their home lanes (freeHomeLane).
std::optional<std::vector<std::size_t>> sameMeaning(const ModuleOp& a, const ModuleOp& b);

} // namespace twb
