#pragma once

#include "core/tensor.h"
#include "core/tensor_files.h"
#include "graph/graph.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct OnnxImportOptions {
    /// How File nodes name the model's large tensors until it is saved: "<tensorFile>#<name>".
    std::string tensorFile = "model.safetensors";
    /// Tensors for inputs of the model, by name; other inputs become Input nodes.
    std::map<std::string, Tensor> inputs{};
    /// Sizes of the model's symbolic dimensions ("batch"); missing ones are 1.
    std::map<std::string, std::int64_t> dimensions{};
};

/// The result of an import.
struct ImportedModel {
    struct Output {
        std::string name;
        PortRef from; ///< the output of the node
    };
    Graph graph;
    std::map<std::string, Tensor> tensors; ///< by their path in File nodes
    std::vector<Output> outputs;
    std::set<std::string> dimensions; ///< symbolic dimensions of its inputs, by name
    std::vector<std::string> remarks; ///< sentences about parts of the model that were imported differently
};

/// Imports an ONNX model (up to opset 23, with external data beside it) into a graph on one lane, `cpu`:
/// nodes, small initializers as Constants, large ones as Files, inputs as Input nodes, outputs as Probes. An
/// op that is not in the op table becomes a placeholder with its own name. Throws Error(io) and
/// Error(badFile) that name the file, the node or tensor, and the problem.
ImportedModel importOnnx(const std::filesystem::path& path, const OnnxImportOptions& options = {});
/// The same for the bytes of a model; `path` is its origin, for messages and external data.
ImportedModel parseOnnx(std::string_view bytes, const std::filesystem::path& path,
                        const OnnxImportOptions& options = {});

/// Writes an imported model as a project at `path` and its large tensors to a .safetensors file beside it,
/// and returns that file's name ("" without such tensors). The name is the project's, or a similar unused one
/// if a file with other content has that name; no other file is replaced. The project is written after its
/// tensors; if a tensor cannot be written, neither file is. Throws Error(io), and Error(invalidArgument) for
/// a path that is not allowed for a project (FileClaims).
std::string saveImportedModel(const ImportedModel& model, const std::filesystem::path& path);

/// Reads a tensor in ONNX's own file format (.pb, as in the backend tests). Throws like importOnnx.
Tensor readOnnxTensor(const std::filesystem::path& path);

/// Tensors in memory as the files of a graph, by path.
std::shared_ptr<const TensorFiles> makeMemoryFiles(std::map<std::string, Tensor> tensors);

} // namespace twb
