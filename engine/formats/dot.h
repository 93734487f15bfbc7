#pragma once

#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// The graph in Graphviz's DOT language (https://graphviz.org/doc/info/lang.html): a cluster per lane and a
/// box per node. Inputs have names if an op has several. An edge between devices is thick and labelled.
std::string toDot(const Graph& graph);

/// Writes toDot to a file, atomically. Throws Error(io).
void exportDot(const Graph& graph, const std::filesystem::path& path);

} // namespace twb
