#pragma once

#include "graph/delta.h"

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// The modules that a name tells of, outermost first, and then its own part: "/layer1/layer1.0/conv1/Conv"
/// and "layer1.0.conv1.Conv" are both layer1, 0, conv1, Conv. One part where it tells of none.
std::vector<std::string> namePath(std::string_view name);

/// What a node is called within its module: the last part of a name with slashes, or the one before where the
/// last only repeats the op ("conv1"). A bare number is written with the part before it ("downsample.0").
std::string shortNameOf(const Graph& graph, const Node& node);

/// Frames for the modules that the nodes' names tell of, nested, each around at least two cards. A node whose
/// name tells of none stands where both what it reads and what reads it stand; a folded parameter with its
/// reader. What stands in a frame stays there; the bodies of an op go where it goes.
Delta frameModules(const Graph& graph);

} // namespace twb
