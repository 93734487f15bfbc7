#pragma once

#include "core/tensor.h"
#include "formats/imported_model.h"

#include <filesystem>
#include <string_view>

namespace twb {

/// Imports an ONNX model (up to opset 28, with external data beside it) into a graph on one lane, `cpu`:
/// nodes, small initializers as Constants, large ones as Files, inputs as Input nodes, outputs as Probes. An
/// op that is not in the op table becomes a placeholder with its own name. Throws Error(io) and
/// Error(badFile) that name the file, the node or tensor, and the problem; Error(cancelled).
ImportedModel importOnnx(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same for the bytes of a model; `path` is its origin, for messages and external data.
ImportedModel parseOnnx(std::string_view bytes, const std::filesystem::path& path,
                        const ImportOptions& options = {});

/// Reads a tensor in ONNX's own file format (.pb, as in the backend tests). Throws like importOnnx.
Tensor readOnnxTensor(const std::filesystem::path& path);

} // namespace twb
