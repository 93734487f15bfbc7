#pragma once

#include <algorithm>
#include <onnx/onnx_pb.h>
#include <set>
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

/// The names of a model's values; all of them share one space, since models nest graphs.
class ValueNames {
public:
    /// Counts the names of a graph and of the graphs inside it as used.
    void take(const onnx::GraphProto& graph) {
        for (const auto& input : graph.input()) m_taken.insert(input.name());
        for (const auto& tensor : graph.initializer()) m_taken.insert(tensor.name());
        for (const onnx::NodeProto& node : graph.node()) {
            m_taken.insert(node.output().begin(), node.output().end());
            for (const onnx::AttributeProto& attribute : node.attribute())
                if (attribute.has_g()) take(attribute.g());
        }
    }
    /// `name`, with underscores until it is unused; the result counts as used from then on.
    std::string fresh(std::string name) {
        while (!m_taken.insert(name).second) name += '_';
        return name;
    }

private:
    std::set<std::string> m_taken;
};

} // namespace twb
