#include "app/commands.h"
#include "app/near_matches.h"
#include "app/terminal.h"
#include "core/text_table.h"
#include "ops/op_table.h"
#include "profile/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;
using enum TextTable::Align;

struct OpsOptions {
    std::string op;
    bool json = false;
};

std::string_view name(AttributeType type) {
    switch (type) {
    case AttributeType::flag:
        return "flag";
    case AttributeType::integer:
        return "integer";
    case AttributeType::number:
        return "number";
    case AttributeType::text:
        return "text";
    case AttributeType::texts:
        return "texts";
    case AttributeType::enumeration:
        return "choice";
    case AttributeType::integers:
        return "integers";
    case AttributeType::numbers:
        return "numbers";
    case AttributeType::dtype:
        return "dtype";
    case AttributeType::shape:
        return "shape";
    case AttributeType::file:
        return "file";
    }
    return {};
}

std::string_view name(OpRole role) {
    switch (role) {
    case OpRole::compute:
        return "compute";
    case OpRole::source:
        return "source";
    case OpRole::transfer:
        return "transfer";
    case OpRole::sink:
        return "sink";
    case OpRole::control:
        return "control";
    case OpRole::state:
        return "state";
    case OpRole::collective:
        return "collective";
    }
    return {};
}

std::vector<std::string> namesOf(DTypeSet types) {
    std::vector<std::string> out;
    for (const DType dtype : kAllDTypes)
        if (types.contains(dtype)) out.emplace_back(name(dtype));
    return out;
}

Json portsOf(const std::vector<PortSpec>& ports) {
    Json out = Json::array();
    for (const PortSpec& port : ports)
        out.push_back({{"name", port.name},
                       {"argument", port.argument.empty() ? port.name : port.argument},
                       {"dtypes", namesOf(port.types)},
                       {"optional", port.optional},
                       {"variadic", port.variadic},
                       {"host_value", port.hostValue}});
    return out;
}

Json toJson(const Op& op) {
    Json attributes = Json::array();
    for (const AttributeSpec& spec : op.attributes) {
        Json row{{"name", spec.name}, {"type", name(spec.type)}, {"required", spec.required}};
        row["default"] = spec.defaultValue ? Json(toString(*spec.defaultValue)) : Json(nullptr);
        if (spec.minimum) row["minimum"] = *spec.minimum;
        if (spec.maximum) row["maximum"] = *spec.maximum;
        if (!spec.choices.empty()) row["choices"] = spec.choices;
        row["doc"] = spec.doc;
        attributes.push_back(std::move(row));
    }
    return {{"name", op.name},
            {"category", op.category},
            {"domain", op.domain},
            {"opset", op.opset ? Json(op.opset) : Json(nullptr)},
            {"role", name(op.role)},
            {"doc", op.doc},
            {"formula", op.formula},
            {"elementwise", op.elementwise},
            {"inputs", portsOf(op.inputs)},
            {"outputs", portsOf(op.outputs)},
            {"attributes", std::move(attributes)},
            {"tolerance", {{"rtol", op.tolerance.rtol}, {"atol", op.tolerance.atol}}}};
}

std::string portText(const PortSpec& port) {
    std::string out = port.argument.empty() ? port.name : port.argument;
    if (port.variadic) out += "…";
    return port.optional ? '[' + out + ']' : out;
}

/// "(input, mat1, mat2)"
std::string signature(const Op& op) {
    std::vector<std::string> ports;
    for (const PortSpec& port : op.inputs) ports.push_back(portText(port));
    return fmt::format("({})", fmt::join(ports, ", "));
}

/// The origin of an op: "ONNX 13", "ai.onnx.ml 1".
std::string origin(const Op& op) {
    if (op.opset == 0) return {};
    return fmt::format("{} {}", op.domain.empty() ? "ONNX" : op.domain, op.opset);
}

void printTable(std::span<const Op> ops) {
    // One table, so that the columns of all sections are aligned.
    TextTable table({left, left, left, left}, 2);
    std::vector<std::string> headings;
    for (const Op& op : ops) {
        headings.push_back(op.category);
        table.add({op.name, signature(op), origin(op), op.doc});
    }
    const std::string text = table.toString();
    std::string out;
    std::size_t at = 0;
    for (std::size_t i = 0; i < headings.size(); ++i) {
        if (i == 0 || headings[i] != headings[i - 1]) out += (i == 0 ? "" : "\n") + headings[i] + '\n';
        const std::size_t end = text.find('\n', at) + 1;
        out += text.substr(at, end - at);
        at = end;
    }
    printResult(out);
}

void addPorts(TextTable& table, const char* kind, const std::vector<PortSpec>& ports) {
    for (const PortSpec& port : ports) {
        std::string note = port.optional ? "optional" : port.variadic ? "one or more" : "";
        if (port.hostValue) note += note.empty() ? "read on the host" : ", read on the host";
        table.add({kind, portText(port), fmt::format("{}", fmt::join(namesOf(port.types), " ")), note});
    }
}

std::string detailOf(const AttributeSpec& spec) {
    std::string out = spec.doc;
    if (!spec.choices.empty()) out += fmt::format(" ({})", fmt::join(spec.choices, ", "));
    if (spec.minimum && spec.maximum)
        out += fmt::format(" ({} to {})", *spec.minimum, *spec.maximum);
    else if (spec.minimum)
        out += fmt::format(" (at least {})", *spec.minimum);
    else if (spec.maximum)
        out += fmt::format(" (at most {})", *spec.maximum);
    return out;
}

void printDetails(const Op& op) {
    std::string out = fmt::format("{}{}: {}\n", op.name, signature(op), op.doc);
    if (!op.formula.empty()) out += "  " + op.formula + '\n';
    out += fmt::format("  {}, {}{}\n\n", op.category,
                       op.opset == 0       ? "not an ONNX op"
                       : op.domain.empty() ? fmt::format("as in ONNX opset {}", op.opset)
                                           : fmt::format("as in {} of ONNX", origin(op)),
                       op.elementwise ? ", elementwise" : "");
    TextTable ports({left, left, left, left}, 2);
    addPorts(ports, "input", op.inputs);
    addPorts(ports, "output", op.outputs);
    out += ports.toString();
    if (!op.attributes.empty()) {
        TextTable attributes({left, left, left, left}, 2);
        for (const AttributeSpec& spec : op.attributes)
            attributes.add({spec.name, std::string(name(spec.type)),
                            spec.required       ? "required"
                            : spec.defaultValue ? "= " + toString(*spec.defaultValue)
                                                : "",
                            detailOf(spec)});
        out += "\n" + attributes.toString();
    }
    printResult(out);
}

const Op& opNamed(const std::string& wanted) {
    if (const Op* op = findOp(wanted)) return *op;
    std::vector<std::string> names;
    for (const Op& op : opTable()) names.push_back(op.name);
    throw Error(ErrorCode::invalidArgument,
                fmt::format("there is no op \"{}\"{}", wanted, didYouMean(wanted, names)));
}

void listOps(const OpsOptions& options) {
    const std::span<const Op> ops =
        options.op.empty() ? opTable() : std::span<const Op>(&opNamed(options.op), 1);
    if (options.json) {
        Json out{{"schema", kReportSchema}, {"ops", Json::array()}};
        for (const Op& op : ops) out["ops"].push_back(toJson(op));
        printJson(out);
    } else if (options.op.empty()) {
        printTable(ops);
    } else {
        printDetails(ops.front());
    }
}

} // namespace

void addOpsCommand(CLI::App& app, ExitCode&) {
    const auto options = std::make_shared<OpsOptions>();
    CLI::App* command = app.add_subcommand("ops", "List the ops, or describe one op");
    command->add_option("OP", options->op, "Name of an op");
    command->add_flag("--json", options->json, "Print JSON instead of a table");
    command->callback([options] { listOps(*options); });
}

} // namespace twb
