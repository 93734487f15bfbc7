#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// Writes a graph as a Python module for PyTorch 1.13 or later: an nn.Module for each frame that can be one,
/// ops as functions of torch, each To as .to(), and a main() that loads the tensors, puts them on their
/// devices and prints the values of the probes. Files are named relative to the module. Tensors without a
/// file (random numbers, since PyTorch's generators differ) are written to NAME_tensors.safetensors beside
/// it. Copies of the implicit policy become calls of .to(). Probes in the body of an If, Loop or Scan are
/// omitted. A training is left out, and Batches become inputs.
///
/// `project` is the folder of the graph's files; if it is empty, their contents are written beside the
/// module, too. Throws Error(badGraph) before writing anything if the graph has errors or no outputs, or,
/// naming the node and op, if PyTorch has no counterpart; Error(io) and Error(badFile) for its files.
void exportPyTorch(const Graph& graph, const TensorFiles* files, const std::filesystem::path& project,
                   const std::filesystem::path& path);

} // namespace twb
