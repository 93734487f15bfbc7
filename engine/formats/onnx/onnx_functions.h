#pragma once

#include <filesystem>
#include <onnx/onnx_pb.h>

namespace twb {

/// Inlines the model's own functions, and replaces each FlexAttention by other ops. Each node gets the name
/// of its call as a prefix ("block1/conv"), which becomes a module. Operators are upgraded from the
/// function's own opset. Throws Error(badFile) with `path` for recursive functions, and if the result has
/// more nodes than a graph may have.
void inlineFunctions(onnx::ModelProto& model, const std::filesystem::path& path);

} // namespace twb
