#pragma once

#include "graph/graph.h"
#include "ops/op.h"

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// `--set node.attribute=value`: one attribute of one node, or, as `node.device`, the device it stands on.
struct Setting {
    std::string node;
    std::string attribute;
    std::string value;
};

/// The node's name may itself contain dots: the last one before the first "=" counts. Throws
/// Error(invalidArgument).
Setting parseSetting(std::string_view text);

/// "1,2,3" or "[2,3],[4,5]": split at the commas outside of brackets. At least one value.
std::vector<std::string> splitValues(std::string_view text);

/// A value as the attribute's type reads it: true, 3, 0.5, [2, 3], f32, a text. Throws
/// Error(invalidArgument).
AttributeValue parseValue(const AttributeSpec& spec, std::string_view text);

/// Applies them in order; what they leave is then checked by the op table. Throws Error(invalidArgument) with
/// near matches for an unknown node or attribute.
void applySettings(Graph& graph, const std::vector<Setting>& settings);

/// The only node of this name. Throws Error(invalidArgument), with near matches; `option` begins the sentence
/// ("--input images").
const Node& nodeNamed(const Graph& graph, std::string_view name, std::string_view option);

} // namespace twb
