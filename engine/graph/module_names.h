#pragma once

#include "graph/delta.h"

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// Splits a node's name into its modules, outermost first, and its own part: "/layer1/layer1.0/conv1/Conv"
/// and "layer1.0.conv1.Conv" both give layer1, 0, conv1, Conv. A name without modules gives one part.
std::vector<std::string> namePath(std::string_view name);

/// The name of a node within its module: the last part of a name with slashes, or the part before it if the
/// last part only repeats the op ("conv1"). A number is written with the part before it ("downsample.0").
/// "/Flatten" gives Flatten.
std::string shortNameOf(const Graph& graph, const Node& node);

/// Creates nested frames for the modules in the nodes' names, each around at least two cards. A node without
/// modules in its name goes to the module that contains both its sources and its consumers; a folded
/// parameter goes with its consumer. Nodes that are in a frame stay there. The bodies of an op move with it.
Delta frameModules(const Graph& graph);

} // namespace twb
