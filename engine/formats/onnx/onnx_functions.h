#pragma once

#include <filesystem>
#include <map>
#include <onnx/onnx_pb.h>
#include <string>
#include <vector>

namespace twb {

/// Inlines the model's own functions, and replaces each FlexAttention by other ops. Each node gets the name
/// of its call as a prefix ("block1/conv"), which becomes a module. Operators are upgraded from the
/// function's own opset. Throws Error(badFile) with `path` for recursive functions, and if the result has
/// more nodes than a graph may have. Returns the calls of the model's own functions: by the prefix, the
/// function's full name ("ours.Swish").
std::map<std::string, std::string> inlineFunctions(onnx::ModelProto& model,
                                                   const std::filesystem::path& path);

/// "domain.Name", or the name alone in the default domain.
std::string fullNameOf(const onnx::FunctionProto& function);
/// The attributes of a function that have defaults. Throws Error(badFile) that names the function.
std::vector<onnx::AttributeProto> onnxAttributeDefaults(const onnx::FunctionProto& function);

} // namespace twb
