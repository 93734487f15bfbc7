#pragma once

#include "core/cancel.h"
#include "core/tensor.h"
#include "core/tensor_files.h"
#include "graph/graph.h"
#include "graph/simplify.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace twb {

/// Settings of an import; a format takes those that it knows.
struct ImportOptions {
    /// ONNX: sizes of the model's symbolic dimensions ("batch"); missing ones are 1.
    std::map<std::string, std::int64_t> dimensions{};
    /// ONNX: tensors for inputs of the model, by name; other inputs become Input nodes.
    std::map<std::string, Tensor> inputs{};
    /// Asked before each node and each layout.
    IsCancelled isCancelled{};
};

/// The result of importing a model or a program of another framework.
struct ImportedModel {
    struct Output {
        std::string name;
        PortRef from; ///< the output of the node
    };
    Graph graph;
    std::map<std::string, Tensor> tensors; ///< by their path in File nodes
    std::vector<Output> outputs;
    std::set<std::string> dimensions; ///< symbolic dimensions of its inputs, by name
    std::vector<FrameId> stacks; ///< frames of its graph around repeated modules (graph/repeated_modules.h)
    FreeAxes freeAxes;           ///< those of its Input nodes to which the import gave no size
    std::vector<std::string> remarks; ///< sentences about parts of the model that were imported differently
};

/// File nodes name a model's large tensors "<kTensorFile>#<name>" until it is saved.
inline constexpr std::string_view kTensorFile = "model.safetensors";

/// Sets the op and attributes of a node that holds a tensor: a Constant if fitsConstant(), else a File that
/// reads "<kTensorFile>#<name>", whose tensor is added to `model`.
void holdTensor(Node& node, const std::string& name, const Tensor& tensor, ImportedModel& model);

/// Removes frames around a single card, and lays out all nodes. Parameters are already folded (folding.h), or
/// are placed beside their consumers. Throws Error(cancelled).
void layOutImported(Graph& graph, const std::vector<NodeId>& parameters, const IsCancelled& isCancelled = {});
/// The same for the graph of a model: stacks repeated modules, and collapses modules so that the graph is
/// readable when it is opened. Returns the frames of the stacks. `tensors` by their path in File nodes.
std::vector<FrameId> layOutModel(Graph& graph, const std::vector<NodeId>& parameters,
                                 const std::map<std::string, Tensor>& tensors,
                                 const IsCancelled& isCancelled = {});

/// Computes a simpler form of the model's graph (graph/simplify.h), with a new layout. Adds the tensors of
/// that form to `model`; its graph stays as it is. Throws Error(cancelled).
Simplified simplifyImported(ImportedModel& model, const IsCancelled& isCancelled = {});
/// Removes the tensors that no File of the graph names.
void dropUnreadTensors(ImportedModel& model);

/// Writes an imported model as a project at `path` and its large tensors to a .safetensors file beside it,
/// and returns that file's name ("" without such tensors). The name is the project's, or a similar unused one
/// if a file with other content has that name; no other file is replaced. The project is written after its
/// tensors; if a tensor cannot be written, neither file is. Throws Error(io), and Error(invalidArgument) for
/// a path that is not allowed for a project (FileClaims).
std::string saveImportedModel(const ImportedModel& model, const std::filesystem::path& path);

/// Tensors in memory as the files of a graph, by path.
std::shared_ptr<const TensorFiles> makeMemoryFiles(std::map<std::string, Tensor> tensors);

} // namespace twb
