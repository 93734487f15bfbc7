#pragma once

#include <algorithm>
#include <onnx/onnx_pb.h>
#include <string>
#include <string_view>

namespace twb {

// Accessors for the nodes of a model.

inline bool isDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// Null if the node does not have the attribute.
inline const onnx::AttributeProto* attributeOf(const onnx::NodeProto& node, std::string_view name) {
    const auto at = std::find_if(node.attribute().begin(), node.attribute().end(),
                                 [&](const onnx::AttributeProto& a) { return a.name() == name; });
    return at == node.attribute().end() ? nullptr : &*at;
}

} // namespace twb
