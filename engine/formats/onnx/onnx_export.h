#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// The graph as a serialised ONNX ModelProto of opset 17, or of the lowest later one that has all its ops
/// with their attributes, dtypes and connections; ONNX's checker and shape inference accept it. Input nodes
/// become the model's inputs, other sources initializers, Probe and Save its outputs (by node name), a To
/// nothing or a Cast: ONNX does not say where a tensor lives. Throws Error(badGraph) when the graph has
/// errors other than device mismatches, or a node that ONNX has no op for; Error(io) and Error(badFile) for
/// its files.
std::string toOnnx(const Graph& graph, const TensorFiles* files);

/// Writes toOnnx to a file, atomically.
void exportOnnx(const Graph& graph, const TensorFiles* files, const std::filesystem::path& path);

} // namespace twb
