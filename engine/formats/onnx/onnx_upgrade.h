#pragma once

#include <onnx/onnx_pb.h>

namespace twb {

/// Rewrites the nodes of `opset` (default domain, up to kOnnxOpset) to their form in kOnnxOpset, so that the
/// op table needs only one version of each op. Values that only moved from an attribute to an input stay,
/// since an op's host inputs may be attributes of the same name. Source: the operators' changelog,
/// https://onnx.ai/onnx/operators/.
void upgradeNodes(onnx::GraphProto& graph, std::int64_t opset);

} // namespace twb
