#pragma once

#include "graph/graph.h"
#include "ops/op.h"

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// `--set node.attribute=value`: an attribute of a node or, as `node.device`, its device.
struct Setting {
    std::string node;
    std::string attribute;
    std::string value;
};

/// A node's name may contain dots: the last dot before the first "=" separates the attribute. Throws
/// Error(invalidArgument).
Setting parseSetting(std::string_view text);
std::vector<Setting> parseSettings(const std::vector<std::string>& texts);

/// "1,2,3" or "[2,3],[4,5]": split at commas outside brackets. At least one value.
std::vector<std::string> splitValues(std::string_view text);

/// Parses a value by the attribute's type: true, 3, 0.5, [2, 3], f32, a text. Throws Error(invalidArgument).
AttributeValue parseValue(const AttributeSpec& spec, std::string_view text);

/// Applies the settings in order and checks the result with the op table. Throws Error(invalidArgument) with
/// near matches for an unknown node or attribute.
void applySettings(Graph& graph, const std::vector<Setting>& settings);

/// The only node with this name. Throws Error(invalidArgument) with near matches; `option` starts the
/// sentence ("--input images").
const Node& nodeNamed(const Graph& graph, std::string_view name, std::string_view option);

} // namespace twb
