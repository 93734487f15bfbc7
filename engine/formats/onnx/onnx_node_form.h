#pragma once

#include "graph/graph.h"
#include "placement/analysis.h"

#include <onnx/defs/schema.h>
#include <optional>
#include <string>
#include <vector>

namespace twb::onnx_export {

/// A node of a graph, with the facts that decide which version of its op serves it.
struct NodeUse {
    const Node& node;
    const NodeFacts& facts;
    std::vector<std::optional<DType>> inputs; ///< by port; nothing if it is not connected
    std::vector<bool> read;                   ///< by output: whether it has a consumer
};

/// The form of a node in one version of its op.
struct NodeForm {
    enum class Input { absent, connected, fromAttribute };
    std::vector<Input> inputs;
    std::vector<bool> outputs; ///< by output: whether it has a name
    std::vector<onnx::AttributeProto> attributes;
    std::string misfit; ///< a clause with the reason why the version does not fit the node; empty if it fits
};

/// The form by the schema of `version` of the op's domain. Required attributes and outputs are written,
/// attributes with their default values are not, and dtypes must be among the schema's.
NodeForm formOf(const NodeUse& use, int version);

} // namespace twb::onnx_export
