#pragma once

#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// The graph in Graphviz's DOT language (https://graphviz.org/doc/info/lang.html): a cluster for each lane, a
/// box for each node, inputs named where an op has several. An edge between devices is thick and says so.
std::string toDot(const Graph& graph);

/// toDot into a file, atomically. Throws Error(io).
void exportDot(const Graph& graph, const std::filesystem::path& path);

} // namespace twb
