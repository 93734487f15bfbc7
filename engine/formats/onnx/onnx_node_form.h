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
    std::vector<std::optional<DType>> inputs; ///< by port; nothing where it is not connected
    std::vector<bool> read;                   ///< by output, whether another node reads it
};

/// How a node is written in one version of its op.
struct NodeForm {
    enum class Input { absent, connected, fromAttribute };
    std::vector<Input> inputs;
    std::vector<bool> outputs; ///< whether each has a name
    std::vector<onnx::AttributeProto> attributes;
    std::string misfit; ///< a clause that says why the version does not serve the node; empty: it does
};

/// By the schema of `version` of the op's domain: its required attributes and outputs are written, attributes
/// that say the default are not, and dtypes are among those that it allows.
NodeForm formOf(const NodeUse& use, int version);

} // namespace twb::onnx_export
