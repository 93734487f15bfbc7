#pragma once

#include "core/dtype.h"

#include <onnx/defs/schema.h>
#include <string>
#include <vector>

namespace twb {

/// ONNX's operator schemas by name, version and domain: those of the ONNX library, and later versions of the
/// ops in our table (later_schemas.inc). May be called from several threads.
const onnx::ISchemaRegistry& onnxSchemas();

/// The latest version of a domain that onnxSchemas() knows; 0 for an unknown domain.
int latestOnnxVersion(const std::string& domain);

/// The versions that introduced or changed an op, ascending; empty if onnxSchemas() has no such op.
std::vector<int> onnxVersions(const std::string& op, const std::string& domain);

/// "tensor(float)", for dtypes that are not narrow.
std::string onnxTypeText(DType dtype);

/// Whether an input or output of one of onnxSchemas() may have this dtype.
bool allowsType(const onnx::OpSchema& schema, const onnx::OpSchema::FormalParameter& parameter, DType dtype);

/// The complaints of ONNX's checker and strict shape inference about a model; empty if they accept it.
std::string refusedByOnnx(const onnx::ModelProto& model);

} // namespace twb
