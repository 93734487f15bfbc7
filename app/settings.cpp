#include "app/settings.h"

#include "app/near_matches.h"
#include "core/error.h"
#include "graph/delta.h"
#include "ops/op_table.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

namespace twb {
namespace {

constexpr std::string_view kDevice = "device";
constexpr std::string_view kDisabled = "disabled";

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalidArgument, sentence); }

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? ""
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

[[noreturn]] void misfit(const AttributeSpec& spec, std::string_view wanted, std::string_view value) {
    refuse(fmt::format("the attribute \"{}\" must be {}, but the value is \"{}\"", spec.name, wanted, value));
}

template <class T> std::optional<T> parsed(std::string_view text) {
    const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
    T value{};
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::optional<double> number(std::string_view text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return parsed<double>(text);
}

/// An integer without a decimal point or exponent, as in a project file. It keeps all its digits, of which a
/// double has 53 bits.
std::optional<std::int64_t> wholeNumber(std::string_view text) { return parsed<std::int64_t>(text); }

std::int64_t parseInteger(const AttributeSpec& spec, std::string_view text) {
    if (const auto integer = wholeNumber(text)) return *integer;
    misfit(spec, "an integer", text);
}

AttributeValue parseNumberOrInteger(const AttributeSpec& spec, std::string_view text) {
    if (const auto integer = wholeNumber(text)) return *integer;
    if (const auto value = number(text)) return *value;
    misfit(spec, "a number", text);
}

/// The elements of "[2, 3]" or "2, 3"; none of "[]".
std::vector<std::string> elementsOf(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']')) text = trimmed(text.substr(1, text.size() - 2));
    if (text.empty()) return {};
    std::vector<std::string> out = splitValues(text);
    for (std::string& element : out) element = std::string(trimmed(element));
    return out;
}

AttributeValue parseNumbers(const AttributeSpec& spec, std::string_view text) {
    if (!text.starts_with('[') && text.find(',') == std::string_view::npos)
        return parseNumberOrInteger(spec, text);
    const std::vector<std::string> elements = elementsOf(text);
    std::vector<std::int64_t> integers;
    for (const std::string& element : elements)
        if (const auto integer = wholeNumber(element)) integers.push_back(*integer);
    if (integers.size() == elements.size()) return integers;
    std::vector<double> out;
    for (const std::string& element : elements) {
        const auto value = number(element);
        if (!value) misfit(spec, "a list of numbers", text);
        out.push_back(*value);
    }
    return out;
}

AttributeValue parseIntegers(const AttributeSpec& spec, std::string_view text) {
    std::vector<std::int64_t> out;
    for (const std::string& element : elementsOf(text)) {
        const auto integer = wholeNumber(element);
        if (!integer) misfit(spec, "a list of integers", text);
        out.push_back(*integer);
    }
    return out;
}

bool parseFlag(std::string_view attribute, std::string_view text) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    refuse(
        fmt::format("the attribute \"{}\" must be true or false, but the value is \"{}\"", attribute, text));
}

std::vector<std::string> dtypeNames() {
    std::vector<std::string> out;
    for (const DType dtype : kAllDTypes) out.emplace_back(name(dtype));
    return out;
}

void place(Graph& graph, const Node& node, const std::string& value) {
    const auto device = Device::parse(value);
    if (!device)
        refuse(
            fmt::format("\"{}\" is not a device for \"{}\"; write cpu, cuda:0, cuda:1, rank1/cuda:0 or auto",
                        value, node.name));
    graph.apply(moveToDevice(graph, {node.id}, *device));
}

const AttributeSpec& attributeNamed(const Op& op, const Node& node, const std::string& name) {
    if (const AttributeSpec* spec = op.attribute(name)) return *spec;
    std::vector<std::string> names{std::string(kDevice), std::string(kDisabled)};
    for (const AttributeSpec& spec : op.attributes) names.push_back(spec.name);
    refuse(fmt::format("{} \"{}\" has no attribute \"{}\"{}", op.name, node.name, name,
                       didYouMean(name, names)));
}

void set(Graph& graph, const Node& node, const Setting& setting) {
    const Op* op = findOp(node.op);
    Node after = node;
    DeltaBuilder builder(graph, "");
    if (setting.attribute == kDisabled && !(op && op->attribute(kDisabled))) {
        after.disabled = parseFlag(kDisabled, trimmed(setting.value));
        builder.change(after);
        graph.apply(builder.take());
        return;
    }
    if (!op)
        refuse(fmt::format("the op \"{}\" of \"{}\" is unknown, so its attributes cannot be set", node.op,
                           node.name));
    if (setting.attribute == kDevice && !op->attribute(kDevice)) return place(graph, node, setting.value);
    const AttributeSpec& spec = attributeNamed(*op, node, setting.attribute);
    after.attributes.set(spec.name, parseValue(spec, setting.value));
    builder.change(after);
    graph.apply(builder.take());
}

} // namespace

Setting parseSetting(std::string_view text) {
    const auto equals = text.find('=');
    const auto dot = equals == std::string_view::npos ? equals : text.substr(0, equals).rfind('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == equals)
        refuse(fmt::format("--set \"{}\" must have the form node.attribute=value", text));
    return {std::string(text.substr(0, dot)), std::string(text.substr(dot + 1, equals - dot - 1)),
            std::string(text.substr(equals + 1))};
}

std::vector<Setting> parseSettings(const std::vector<std::string>& texts) {
    std::vector<Setting> out;
    for (const std::string& text : texts) out.push_back(parseSetting(text));
    return out;
}

std::vector<std::string> splitValues(std::string_view text) {
    std::vector<std::string> out{""};
    int depth = 0;
    for (const char c : text) {
        if (c == '[') ++depth;
        if (c == ']') --depth;
        if (c == ',' && depth <= 0)
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

AttributeValue parseValue(const AttributeSpec& spec, std::string_view text) {
    const std::string_view value = trimmed(text);
    switch (spec.type) {
    case AttributeType::flag:
        return parseFlag(spec.name, value);
    case AttributeType::integer:
        return parseInteger(spec, value);
    case AttributeType::number:
        return parseNumberOrInteger(spec, value);
    case AttributeType::numbers:
        return parseNumbers(spec, value);
    case AttributeType::integers:
    case AttributeType::shape:
        return parseIntegers(spec, value);
    case AttributeType::dtype:
        if (const auto dtype = parseDType(value)) return std::string(name(*dtype));
        refuse(fmt::format("the attribute \"{}\" must be a dtype, but the value is \"{}\"{}", spec.name,
                           value, didYouMean(value, dtypeNames())));
    case AttributeType::enumeration:
        return std::string(value);
    case AttributeType::texts:
        return elementsOf(value);
    case AttributeType::text:
    case AttributeType::file:
        return std::string(text);
    }
    return std::string(text);
}

const Node& nodeNamed(const Graph& graph, std::string_view name, std::string_view option) {
    if (const Node* node = graph.findByName(name)) return *node;
    std::vector<std::string> names;
    for (const Node& node : graph.nodes()) names.push_back(node.name);
    const auto same = std::count(names.begin(), names.end(), name);
    if (same > 1)
        refuse(fmt::format("{}: {} nodes are named \"{}\"; give each a unique name", option, same, name));
    refuse(fmt::format("{}: there is no node named \"{}\"{}", option, name, didYouMean(name, names)));
}

void applySettings(Graph& graph, const std::vector<Setting>& settings) {
    std::map<NodeId, std::string> touched; // by node: the setting
    for (const Setting& setting : settings) {
        const std::string option =
            fmt::format("--set {}.{}={}", setting.node, setting.attribute, setting.value);
        const Node node = nodeNamed(graph, setting.node, option);
        try {
            set(graph, node, setting);
        } catch (const Error& error) {
            refuse(fmt::format("{}: {}", option, error.what()));
        }
        touched[node.id] = option;
    }
    for (const auto& [id, option] : touched) {
        const Node& node = *graph.find(id);
        if (!findOp(node.op)) continue; // only `disabled` can be set for an unknown op
        try {
            completeAttributes(*findOp(node.op), node.attributes);
        } catch (const Error& error) {
            refuse(fmt::format("{}: {} \"{}\": {}", option, node.op, node.name, error.what()));
        }
    }
}

} // namespace twb
