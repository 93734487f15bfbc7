#pragma once

#include "core/tensor.h"
#include "graph/graph.h"

#include <filesystem>
#include <map>
#include <string>

namespace twb {

/// Writes parameters, by name, to a .safetensors file, atomically. Throws Error(io).
void saveWeights(const std::filesystem::path& path, const std::map<std::string, Tensor>& parameters);

/// The file of weights beside a project: "NAME.safetensors".
std::filesystem::path weightsOf(const std::filesystem::path& project);

/// Saves the graph without its training as a project. The parameters, by the `names` of their sources, become
/// File nodes that read "NAME.safetensors" beside it. Throws Error(io).
void saveTrained(const std::filesystem::path& path, const Graph& graph,
                 const std::map<std::string, Tensor>& parameters, const std::map<NodeId, std::string>& names);

} // namespace twb
