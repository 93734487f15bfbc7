#pragma once

#include <onnx/onnx_pb.h>

namespace twb {

/// Rewrites a graph's nodes of `opset` (of the default domain, up to kOnnxOpset) into what they are called
/// and how they are written in kOnnxOpset, so that the op table needs one version of each op. What only
/// changed its place, from attribute to input, is left alone: an op's host inputs may stand in attributes of
/// the same name. Source: the operators' changelog, https://onnx.ai/onnx/operators/.
void upgradeNodes(onnx::GraphProto& graph, std::int64_t opset);

} // namespace twb
