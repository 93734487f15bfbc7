#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// Writes a graph as a Python module that computes the same with PyTorch 1.13 or later: an nn.Module for each
/// frame that can be called as one, ops as functions of torch, each To as its .to(), and a main() that loads
/// the tensors, places them where their lanes say and prints what the probes see. Files are named by their
/// paths relative to the module; what no file holds (numbers of generators, which PyTorch has others of) is
/// written beside it, to NAME_tensors.safetensors. Copies of the implicit policy become calls of .to(), since
/// PyTorch makes none itself. Probes in the body of an If, Loop or Scan are left out.
///
/// `project` is the folder of the graph's files; empty: they are not on disk, and what they hold is written
/// beside, too. Throws Error(badGraph) before anything is written when the graph has errors or no outputs, or
/// with a sentence that names node and op where PyTorch has no counterpart; Error(io) and Error(badFile) for
/// its files.
void exportPyTorch(const Graph& graph, const TensorFiles* files, const std::filesystem::path& project,
                   const std::filesystem::path& path);

} // namespace twb
