#pragma once

#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>

namespace twb {

/// The graph as a serialised ONNX ModelProto of opset 17, or of the lowest later one that has all its ops
/// with their attributes, dtypes and connections. ONNX's checker and shape inference accept it. Input nodes
/// become the model's inputs, other sources become initializers, Probe and Save become its outputs (by node
/// name), and a To becomes a Cast or is left out, since ONNX has no devices. A training is left out, and
/// Batches become inputs. Throws Error(badGraph) if the graph has errors other than device mismatches, or a
/// node without an ONNX op; Error(io) and Error(badFile) for its files.
std::string toOnnx(const Graph& graph, const TensorFiles* files);

/// Writes toOnnx to a file, atomically.
void exportOnnx(const Graph& graph, const TensorFiles* files, const std::filesystem::path& path);

} // namespace twb
