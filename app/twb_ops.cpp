#include "app/commands.h"
#include "app/near_matches.h"
#include "app/terminal.h"
#include "core/text_table.h"
#include "formats/module_files.h"
#include "formats/op_help.h"
#include "ops/op_table.h"
#include "ops/schema.h"
#include "profile/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;
using enum TextTable::Align;

struct OpsOptions {
    std::string op;
    bool json = false;
};

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

Json toJson(const AttributeSpec& spec) {
    Json row{{"name", spec.name}, {"type", name(spec.type)}, {"required", spec.required}};
    row["default"] = spec.defaultValue ? Json(toString(*spec.defaultValue)) : Json(nullptr);
    if (spec.minimum) row["minimum"] = *spec.minimum;
    if (spec.maximum) row["maximum"] = *spec.maximum;
    if (!spec.choices.empty()) row["choices"] = spec.choices;
    row["doc"] = spec.doc;
    return row;
}

Json toJson(const ModuleOp& op) {
    Json inputs = Json::array();
    for (const ModuleOp::Port& port : op.inputs) inputs.push_back(port.name);
    Json outputs = Json::array();
    for (const ModuleOp::Port& port : op.outputs) outputs.push_back(port.name);
    Json attributes = Json::array();
    for (const ModuleOp::Attribute& attribute : op.attributes)
        if (const auto spec = specOf(op, attribute)) attributes.push_back(toJson(*spec));
    return {{"name", op.name},
            {"version", op.version},
            {"doc", op.doc},
            {"nodes", op.fragment.nodes.size()},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"attributes", std::move(attributes)},
            {"file", op.file.string()}};
}

Json toJson(const Op& op) {
    const OpHelp help = helpOf(op);
    Json attributes = Json::array();
    for (const AttributeSpec& spec : op.attributes) attributes.push_back(toJson(spec));
    return {{"name", op.name},
            {"category", op.category},
            {"domain", op.domain},
            {"opset", op.opset ? Json(op.opset) : Json(nullptr)},
            {"role", name(op.role)},
            {"doc", op.doc},
            {"formula", op.formula},
            {"shapes", op.shapes},
            {"onnx_versions", help.onnxVersions},
            {"pytorch", help.torch},
            {"example", help.example},
            {"elementwise", op.elementwise},
            {"inputs", portsOf(op.inputs)},
            {"outputs", portsOf(op.outputs)},
            {"attributes", std::move(attributes)},
            {"tolerance", {{"rtol", op.tolerance.rtol}, {"atol", op.tolerance.atol}}}};
}

/// The origin of an op: "ONNX 13", "ai.onnx.ml 1".
std::string origin(const Op& op) {
    if (op.opset == 0) return {};
    return fmt::format("{} {}", op.domain.empty() ? "ONNX" : op.domain, op.opset);
}

void printTable(std::span<const Op> ops, const std::vector<ModuleOp>& modules) {
    // One table, so that the columns of all sections are aligned.
    TextTable table({left, left, left, left}, 2);
    std::vector<std::string> headings;
    for (const Op& op : ops) {
        headings.push_back(op.category);
        table.add({op.name, signatureOf(op), origin(op), op.doc});
    }
    for (const ModuleOp& op : modules) {
        headings.emplace_back("Your modules");
        table.add({op.name, signatureOf(op), fmt::format("version {}", op.version), op.doc});
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

void addPorts(TextTable& table, const char* kind, const std::vector<OpHelp::Port>& ports) {
    for (const OpHelp::Port& port : ports)
        table.add({kind, port.name, port.argument, port.dtypes, port.note});
}

/// The operands and attributes.
std::string tablesOf(const OpHelp& help) {
    TextTable ports({left, left, left, left, left}, 2);
    addPorts(ports, "input", help.inputs);
    addPorts(ports, "output", help.outputs);
    std::string out = '\n' + ports.toString();
    if (!help.attributes.empty()) {
        TextTable attributes({left, left, left, left}, 2);
        for (const OpHelp::Attribute& row : help.attributes)
            attributes.add({row.name, row.type, row.value, row.doc});
        out += "\n" + attributes.toString();
    }
    return out;
}

void printDetails(const Op& op) {
    const OpHelp help = helpOf(op);
    std::string out = fmt::format("{}{}: {}\n", op.name, signatureOf(op), help.doc);
    for (const std::string& line : {help.formula, help.shapes})
        if (!line.empty()) out += "  " + line + '\n';
    out += fmt::format(
        "  {}, {}{}{}\n", op.category, help.onnx,
        help.onnxVersions.size() > 1 ? fmt::format(" (versions {})", fmt::join(help.onnxVersions, ", ")) : "",
        op.elementwise ? ", elementwise" : "");
    if (!help.torch.empty()) out += fmt::format("  PyTorch: {}\n", help.torch);
    if (!help.gradient.empty()) out += fmt::format("  {}\n", help.gradient);
    out += tablesOf(help);
    out += fmt::format("\n  Example: {}\n", help.example);
    printResult(out);
}

void printDetails(const ModuleOp& op) {
    const OpHelp help = helpOf(op);
    printResult(fmt::format("{}{}: {}\n  {}\n  {}\n{}", op.name, signatureOf(op), help.doc, help.shapes,
                            op.file.string(), tablesOf(help)));
}

/// Prints the op of this name, which may be a module.
void describe(const std::string& wanted, const std::vector<ModuleOp>& modules, bool json) {
    const Op* op = findOp(wanted);
    const auto module = std::ranges::find(modules, wanted, &ModuleOp::name);
    if (!op && module == modules.end()) {
        std::vector<std::string> names;
        for (const Op& known : opTable()) names.push_back(known.name);
        for (const ModuleOp& known : modules) names.push_back(known.name);
        const std::string near = didYouMean(wanted, names);
        throw Error(ErrorCode::invalidArgument, fmt::format("there is no op \"{}\"{}", wanted,
                                                            near.empty() ? "; twb ops lists all ops" : near));
    }
    if (!json) return op ? printDetails(*op) : printDetails(*module);
    Json out{{"schema", kReportSchema}, {"ops", Json::array()}, {"modules", Json::array()}};
    if (op)
        out["ops"].push_back(toJson(*op));
    else
        out["modules"].push_back(toJson(*module));
    printJson(out);
}

void listOps(const OpsOptions& options) {
    const ModuleOps modules = moduleOpsIn(modulePlaces(savedModulesFolder()));
    if (!options.op.empty()) {
        describe(options.op, modules.ops, options.json);
    } else if (options.json) {
        Json out{{"schema", kReportSchema}, {"ops", Json::array()}, {"modules", Json::array()}};
        for (const Op& op : opTable()) out["ops"].push_back(toJson(op));
        for (const ModuleOp& op : modules.ops) out["modules"].push_back(toJson(op));
        printJson(out);
    } else {
        printTable(opTable(), modules.ops);
    }
    for (const PluginProblem& problem : modules.problems) reportPlugin(problem);
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
