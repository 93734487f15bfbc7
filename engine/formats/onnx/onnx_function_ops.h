#pragma once

#include "formats/module_files.h"

#include <filesystem>

namespace twb {

/// The functions of an ONNX model as module ops: "domain.Name", with the version of the domain that the model
/// imports. An attribute without a default has the default of the node that uses it, if that has one.
/// Functions that cannot be a module are problems. Throws Error(io), and Error(badFile) if the file is not an
/// ONNX model.
ModuleOps onnxFunctionOps(const std::filesystem::path& file);

} // namespace twb
