#include "ops/examples.h"

#include <algorithm>

namespace twb {

Op& describe(std::vector<Op>& table, std::string_view op, std::string shapes,
             std::vector<std::optional<ExampleInput>> inputs, Attributes attributes) {
    Op& entry = *std::ranges::find(table, op, &Op::name);
    if (!shapes.empty()) entry.shapes = std::move(shapes);
    entry.example.inputs = std::move(inputs);
    entry.example.attributes = std::move(attributes);
    return entry;
}

Op& describeOnly(std::vector<Op>& table, std::string_view op, std::string shapes, std::string_view reason) {
    Op& entry = describe(table, op, std::move(shapes));
    entry.example.none = reason;
    return entry;
}

} // namespace twb
