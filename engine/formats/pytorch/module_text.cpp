#include "formats/pytorch/python_helpers.h"
#include "formats/pytorch/pytorch_exporter.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace twb::pytorch {
namespace {

/// Escapes text for a docstring, so that it cannot end it. Python refuses sources with a null character.
std::string quiet(std::string text) {
    for (char& c : text) {
        if (c == '\\' || c == '"') c = '\'';
        if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == '\x7f') c = ' ';
    }
    return text;
}

} // namespace

void Exporter::line(const std::string& text) {
    if (!text.empty()) m_text += std::string(static_cast<std::size_t>(m_indent) * 4, ' ') + text;
    m_text += '\n';
}

void Exporter::writeTo(std::size_t scope, const NodeFacts& facts) {
    const Call call(
        m_graph, m_analysis, facts, [&](PortRef value) { return nameIn(scope, value); }, m_helpers);
    const Device from = m_analysis.find(facts.inputs[0]->node)->device;
    std::string source = call.in(0);
    m_helpers.insert("device");
    if (call.flag("pin_memory") && from.isCpu() && !facts.device.isCpu())
        source = fmt::format("{}({})", call.helper("pinned"), source);
    std::string options;
    if (call.out().dtype != call.dtype(0)) options += ", " + torchDType(call.out().dtype);
    if (call.flag("non_blocking")) options += ", non_blocking=True";
    std::string text = fmt::format("{}.to({}{})", source, call.device(), options);
    if (call.flag("non_blocking") && facts.device.isCpu() && !from.isCpu())
        text = fmt::format("{}({})", call.helper("arrived"), text);
    line(fmt::format("{} = {}", m_nameOf.at({facts.id, 0}), text));
}

void Exporter::writeNode(std::size_t scope, const NodeFacts& facts) {
    if (facts.op->role == OpRole::transfer) return writeTo(scope, facts);
    if (facts.op->role == OpRole::control) return writeControl(scope, facts);
    if (facts.op->role != OpRole::compute) return;
    const Call call(
        m_graph, m_analysis, facts, [&](PortRef value) { return nameIn(scope, value); }, m_helpers);
    if (!call.deviceArgument().empty()) m_helpers.insert("device");
    const std::string text = writers().at(facts.op->name)(call);
    const bool isTuple =
        !call.isAlone() && (facts.op->outputs.size() > 1 || facts.op->outputs.back().variadic);
    std::vector<std::string> names;
    for (std::size_t port = 0; port < facts.outputs.size(); ++port) {
        const auto p = static_cast<std::int32_t>(port);
        names.push_back(call.isRead(p) ? m_nameOf.at({facts.id, p}) : "_");
    }
    if (!isTuple)
        line(fmt::format("{} = {}", m_nameOf.at({facts.id, 0}), text));
    else
        line(fmt::format("{}{} = {}", fmt::join(names, ", "), names.size() == 1 ? "," : "", text));
}

void Exporter::writeItems(std::size_t scope) {
    for (const Scope::Item& item : m_tree->scopes()[scope].items) {
        if (item.node) {
            writeNode(scope, *item.node->facts);
            continue;
        }
        const Scope& called = m_tree->scopes()[item.scope];
        std::vector<std::string> results;
        std::vector<std::string> arguments;
        for (const PortRef value : called.results) results.push_back(m_nameOf.at(value));
        for (const PortRef value : called.arguments) arguments.push_back(nameIn(scope, value));
        line(fmt::format("{} = self.{}({})", fmt::join(results, ", "), m_memberOf.at(item.scope),
                         fmt::join(arguments, ", ")));
    }
}

std::string Exporter::outputsText() const {
    std::vector<std::string> entries;
    for (const Output& output : m_outputs)
        entries.push_back(
            fmt::format("{}: {}", literal(std::string_view(output.name)), nameIn(0, output.from)));
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

void Exporter::writeScope(std::size_t index) {
    const Scope& scope = m_tree->scopes()[index];
    for (const Scope::Item& item : scope.items)
        if (!item.node) writeScope(item.scope);
    std::vector<std::string> arguments;
    for (const PortRef value : index == 0 ? scope.sources : scope.arguments)
        if (index != 0 || isArgument(value)) arguments.push_back(m_nameOf.at(value));
    if (index == 0 && !m_isClass) {
        line(fmt::format("def graph({}):", fmt::join(arguments, ", ")));
        m_indent = 1;
        writeItems(0);
        line("return " + outputsText());
        m_indent = 0;
        m_text += "\n\n";
        return;
    }
    line(fmt::format("class {}(nn.Module):", index == 0 ? "Model" : m_typeOf.at(index)));
    m_indent = 1;
    line("def __init__(self):");
    m_indent = 2;
    line("super().__init__()");
    for (const PortRef source : scope.sources) {
        if (index == 0 && isArgument(source)) continue;
        const NodeFacts& facts = *m_analysis.find(source.node);
        const std::string& name = m_attributeOf.at(source);
        const std::string text = sourceText(facts);
        if (isFloating(facts.outputs[0]->dtype) && facts.op->name == "File")
            line(fmt::format("self.{} = nn.Parameter({}, requires_grad=False)", name, text));
        else
            line(fmt::format("self.register_buffer(\"{}\", {})", name, text));
    }
    for (const Scope::Item& item : scope.items)
        if (!item.node)
            line(fmt::format("self.{} = {}()", m_memberOf.at(item.scope), m_typeOf.at(item.scope)));
    m_text += '\n';
    m_indent = 1;
    arguments.insert(arguments.begin(), "self");
    line(fmt::format("def forward({}):", fmt::join(arguments, ", ")));
    m_indent = 2;
    writeItems(index);
    std::vector<std::string> results;
    for (const PortRef value : scope.results) results.push_back(m_nameOf.at(value));
    line(index == 0 ? "return " + outputsText() : fmt::format("return {}", fmt::join(results, ", ")));
    m_indent = 0;
    m_text += "\n\n";
}

std::string Exporter::mainText() {
    m_text.clear();
    m_indent = 0;
    line("def main(options=None):");
    m_indent = 1;
    line("parser = argparse.ArgumentParser(description=\"Runs the graph and prints what its probes see.\")");
    line("parser.add_argument(\"--device-map\", metavar=\"NAME=DEVICE\", action=\"append\", default=[],");
    line("                    help=\"device to use for a device of the graph; without a GPU, for "
         "example, cuda:0=cpu\")");
    line(fmt::format("parser.add_argument(\"--iterations\", type=int, default={})",
                     std::max<std::int64_t>(m_graph.info().iterations, 1)));
    line("parser.add_argument(\"--output\", metavar=\"FOLDER\", help=\"write each output there, too, as "
         ".npy\")");
    line("arguments = parser.parse_args(options)");
    line("DEVICES.update(entry.split(\"=\", 1) for entry in arguments.device_map)");
    std::vector<std::string> given;
    for (const PortRef source : m_tree->scopes()[0].sources) {
        if (!isArgument(source)) continue;
        given.push_back(m_nameOf.at(source));
        line(fmt::format("{} = {}", given.back(), sourceText(*m_analysis.find(source.node))));
    }
    if (m_isClass) line("model = Model()");
    line("with torch.no_grad():");
    line("    for _ in range(arguments.iterations):");
    line(fmt::format("        outputs = {}({})", m_isClass ? "model" : "graph", fmt::join(given, ", ")));
    line("for name, tensor in outputs.items():");
    line("    show(name, tensor)");
    line("    if arguments.output:");
    line("        save(tensor, pathlib.Path(arguments.output).absolute() / (name.replace(\"/\", \"_\") + "
         "\".npy\"))");
    for (const Output& output : m_outputs)
        if (!output.path.empty()) {
            line(fmt::format("save(outputs[{}], {})", literal(std::string_view(output.name)),
                             m_project.empty() ? literal(std::string_view(output.path))
                                               : pathText(output.path)));
        }
    line("return outputs");
    m_helpers.insert({"device", "show", "save"});
    return m_text;
}

std::string Exporter::run() {
    // Errors of the graph come before errors of single nodes, since only nodes without errors can be written.
    check();
    findOutputs();
    findLive();
    check();
    m_helpers.clear(); // of nodes that turned out to be unused
    m_tree.emplace(m_graph, m_bodies, m_live);
    nameValues();
    const Scope& root = m_tree->scopes()[0];
    m_isClass =
        m_tree->scopes().size() > 1 || !std::all_of(root.sources.begin(), root.sources.end(),
                                                    [&](PortRef source) { return isArgument(source); });
    writeScope(0);
    const std::string body = m_text;
    const std::string last = mainText();

    const GraphInfo& info = m_graph.info();
    std::string text =
        fmt::format("\"\"\"{}\n", quiet(info.title.empty() ? "A graph of the Tensor Workbench" : info.title));
    if (!info.description.empty()) text += fmt::format("\n{}\n", quiet(info.description));
    text += "\nWritten by the Tensor Workbench. Without a GPU: --device-map cuda:0=cpu\n\"\"\"\n\n"
            "import argparse\n";
    std::string helpers;
    for (const PythonHelper* helper : helpersFor(m_helpers)) helpers += fmt::format("\n\n{}\n", helper->text);
    const auto uses = [&](const char* what) {
        return helpers.find(what) != std::string::npos || body.find(what) != std::string::npos ||
               last.find(what) != std::string::npos;
    };
    if (uses("json.")) text += "import json\n";
    if (uses("math.")) text += "import math\n";
    text += "import pathlib\n\nimport numpy\nimport torch\n";
    if (uses("F.")) text += "import torch.nn.functional as F\n";
    if (m_isClass) text += "from torch import nn\n";
    if (uses("HERE")) text += "\nHERE = pathlib.Path(__file__).resolve().parent\n";
    return text + helpers + "\n\n" + body + last + "\n\nif __name__ == \"__main__\":\n    main()\n";
}

} // namespace twb::pytorch
