#pragma once

#include <onnx/onnx_pb.h>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// Whether a node is a FlexAttention of the domain ai.onnx.preview.
bool isFlexAttention(const onnx::NodeProto& node);

/// Functions that compute a FlexAttention by other ops: first the one that replaces it, with the same inputs
/// and output, then the graphs of its attributes score_mod and prob_mod, which the first one calls. All are
/// in `domain`, and their names end with `suffix`. `elementType` is ONNX's code of the dtype of Q, if it is
/// known.
std::vector<onnx::FunctionProto> flexAttentionFunctions(const onnx::NodeProto& node,
                                                        const std::string& domain, const std::string& suffix,
                                                        std::optional<std::int32_t> elementType);

} // namespace twb
