#pragma once

#include <filesystem>
#include <onnx/onnx_pb.h>

namespace twb {

/// Puts the nodes of the model's own functions where these are called, each under the name of its call
/// ("block1/conv"), so that modules come of them; their operators upgraded from the function's own opset.
/// Throws Error(badFile) with `path` for functions that call themselves, or that come to more nodes than a
/// graph may have.
void inlineFunctions(onnx::ModelProto& model, const std::filesystem::path& path);

} // namespace twb
