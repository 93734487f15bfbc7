#pragma once

#include "core/dtype.h"

#include <onnx/defs/schema.h>
#include <string>

namespace twb {

/// ONNX's schemas of operators, by name, version and domain: those of the ONNX library, and of the ops in our
/// table the later ones (later_schemas.inc). Safe to call from several threads.
const onnx::ISchemaRegistry& onnxSchemas();

/// The latest version of a domain that onnxSchemas() knows; 0 for an unknown domain.
int latestOnnxVersion(const std::string& domain);

/// "tensor(float)"
std::string onnxTypeText(DType dtype);

/// What ONNX's checker and its strict shape inference say against a model; empty when they accept it.
std::string refusedByOnnx(const onnx::ModelProto& model);

} // namespace twb
