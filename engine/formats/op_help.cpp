#include "formats/op_help.h"

#include "backends/device_map.h"
#include "formats/onnx/onnx_schemas.h"
#include "formats/pytorch/torch_call.h"
#include "graph/composites.h"
#include "graph/port_fit.h"
#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace twb {
namespace {

std::string signatureOf(const PortSpec& port) {
    std::string out = port.argument.empty() ? port.name : port.argument;
    if (port.variadic) out += "…";
    return port.optional ? '[' + out + ']' : out;
}

std::string noteOf(const Op& op, const PortSpec& port, bool isUpdated) {
    std::vector<std::string> notes;
    if (port.variadic)
        notes.emplace_back(port.optional ? "any number" : "one or more");
    else if (port.optional)
        notes.emplace_back("optional");
    if (port.hostValue) notes.emplace_back("read on the host");
    if (isUpdated) notes.emplace_back("written in place");
    if (!port.typeVariable.empty())
        for (const auto* ports : {&op.inputs, &op.outputs}) {
            const auto first = std::ranges::find(*ports, port.typeVariable, &PortSpec::typeVariable);
            if (first == ports->end()) continue;
            if (&*first != &port) notes.push_back("same dtype as " + first->name);
            break;
        }
    return fmt::format("{}", fmt::join(notes, ", "));
}

std::vector<OpHelp::Port> portsOf(const Op& op, const std::vector<PortSpec>& ports, bool areInputs) {
    std::vector<OpHelp::Port> out;
    for (int i = 0; i < static_cast<int>(ports.size()); ++i) {
        const PortSpec& port = ports[static_cast<std::size_t>(i)];
        const bool isUpdated = areInputs && std::ranges::find(op.updates, i) != op.updates.end();
        out.push_back({port.name, port.argument == port.name ? "" : port.argument, textOf(port.types),
                       noteOf(op, port, isUpdated)});
    }
    return out;
}

std::string docOf(const AttributeSpec& spec) {
    std::string out = spec.doc;
    if (!spec.choices.empty()) out += fmt::format(" ({})", fmt::join(spec.choices, ", "));
    // The largest number of a type is a limit of the program, not of the op.
    const bool hasMaximum = spec.maximum && *spec.maximum < std::numeric_limits<std::int32_t>::max();
    if (spec.minimum && hasMaximum)
        out += fmt::format(" ({} to {})", *spec.minimum, *spec.maximum);
    else if (spec.minimum)
        out += fmt::format(" (at least {})", *spec.minimum);
    else if (hasMaximum)
        out += fmt::format(" (at most {})", *spec.maximum);
    return out;
}

OpHelp::Attribute helpOf(const AttributeSpec& spec) {
    return {spec.name, std::string(name(spec.type)),
            spec.required       ? "required"
            : spec.defaultValue ? "= " + toString(*spec.defaultValue)
                                : "",
            docOf(spec)};
}

std::string onnxOf(const Op& op) {
    if (op.opset == 0) return "not an ONNX op";
    return op.domain.empty() ? fmt::format("as in ONNX opset {}", op.opset)
                             : fmt::format("as in {} {} of ONNX", op.domain, op.opset);
}

std::string gradientOf(const Op& op) {
    if (op.role != OpRole::compute && op.role != OpRole::collective) return {};
    if (op.gradient) return "differentiable";
    return op.noGradient.empty() ? std::string() : fmt::format("no gradient: it {}", op.noGradient);
}

/// What the example's analysis says about the op's node.
void readExample(OpHelp& help, const Op& op, const Composite& example) {
    Graph graph;
    DeltaBuilder builder(graph, "example");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    paste(builder, example.fragment, {}, lane);
    graph.apply(builder.take());
    const Analysis analysis = analyze(graph, DeviceMap(), Policy::strict, nullptr);
    const auto facts = std::ranges::find_if(analysis.nodes, [&](const NodeFacts& n) { return n.op == &op; });
    if (facts == analysis.nodes.end()) return;
    std::vector<std::string> operands;
    std::map<PortRef, std::string> nameOf;
    for (std::size_t i = 0; i < facts->inputs.size(); ++i) {
        if (!facts->inputs[i]) continue;
        const PortSpec& port = op.inputAt(static_cast<int>(i));
        const std::string name = port.variadic ? fmt::format("{}{}", port.name, i) : port.name;
        nameOf.emplace(*facts->inputs[i], name);
        const auto& type = analysis.typeOf(*facts->inputs[i]);
        operands.push_back(fmt::format("{} {}", name, type ? type->toString() : "?"));
    }
    for (const auto& [name, value] : op.example.attributes)
        operands.push_back(fmt::format("{} = {}", name, toString(value)));
    std::vector<std::string> results;
    for (std::size_t i = 0; i < facts->outputs.size(); ++i)
        results.push_back(fmt::format("{} {}", op.outputAt(static_cast<int>(i)).name,
                                      facts->outputs[i] ? facts->outputs[i]->toString() : "?"));
    help.example = fmt::format("{}{}{}", fmt::join(operands, ", "), operands.empty() ? "→ " : " → ",
                               fmt::join(results, ", "));
    const auto writer = pytorch::writers().find(op.name);
    if (writer == pytorch::writers().end()) return;
    try {
        std::set<std::string> helpers;
        const pytorch::Call call(
            graph, analysis, *facts, [&](PortRef value) { return nameOf.at(value); }, helpers);
        help.torch = writer->second(call);
        // A function that the export writes has no name in PyTorch.
        if (!helpers.empty()) help.torch += " (a function that the export writes)";
    } catch (const Error&) { // PyTorch has no counterpart
    }
}

} // namespace

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

std::string textOf(DTypeSet types) { return fmt::format("{}", fmt::join(namesOf(types), " ")); }

std::string signatureOf(const Op& op) {
    std::vector<std::string> ports;
    for (const PortSpec& port : op.inputs) ports.push_back(signatureOf(port));
    return fmt::format("({})", fmt::join(ports, ", "));
}

std::string signatureOf(const ModuleOp& op) {
    std::vector<std::string> names;
    for (const ModuleOp::Port& port : op.inputs) names.push_back(port.name);
    return fmt::format("({})", fmt::join(names, ", "));
}

std::string contentOf(const ModuleOp& op) {
    std::set<std::string> ops;
    for (const Node& node : op.fragment.nodes) ops.insert(node.op);
    const std::size_t count = op.fragment.nodes.size();
    return fmt::format("module, version {}, of {} node{}: {}", op.version, count, count == 1 ? "" : "s",
                       fmt::join(ops, ", "));
}

OpHelp helpOf(const ModuleOp& op) {
    OpHelp help;
    help.doc = op.doc;
    help.shapes = contentOf(op);
    const auto read = [&](const std::vector<ModuleOp::Port>& ports, bool areInputs) {
        std::vector<OpHelp::Port> out;
        for (const ModuleOp::Port& port : ports) {
            const Op* inner = opOf(op, {port.at.node, {}});
            const bool isKnown = inner && (areInputs ? acceptedTypes(inner, port.at.port).size() > 0
                                                     : !inner->outputs.empty());
            const PortSpec* spec = !isKnown    ? nullptr
                                   : areInputs ? &inner->inputAt(port.at.port)
                                               : &inner->outputAt(port.at.port);
            out.push_back({port.name,
                           {},
                           spec ? textOf(spec->types) : "",
                           inner ? fmt::format("{} of {}", spec ? spec->name : "?", inner->name) : ""});
        }
        return out;
    };
    help.inputs = read(op.inputs, true);
    help.outputs = read(op.outputs, false);
    for (const ModuleOp::Attribute& attribute : op.attributes)
        if (const auto spec = specOf(op, attribute)) help.attributes.push_back(helpOf(*spec));
    return help;
}

OpHelp helpOf(const Op& op) {
    OpHelp help;
    help.doc = op.doc;
    help.formula = op.formula;
    help.shapes = op.shapes;
    help.onnx = onnxOf(op);
    if (op.opset > 0) {
        help.onnxVersions = onnxVersions(op.name, op.domain);
        if (std::ranges::find(help.onnxVersions, op.opset) == help.onnxVersions.end()) {
            help.onnxVersions.push_back(op.opset); // newer than the library's schemas
            std::ranges::sort(help.onnxVersions);
        }
    }
    help.gradient = gradientOf(op);
    help.inputs = portsOf(op, op.inputs, true);
    help.outputs = portsOf(op, op.outputs, false);
    for (const AttributeSpec& spec : op.attributes) help.attributes.push_back(helpOf(spec));
    if (const Composite* example = exampleOf(op.name)) {
        help.exampleEntry = example->name;
        readExample(help, op, *example);
    } else {
        help.example = fmt::format("none: {} {}", op.name, op.example.none);
    }
    return help;
}

} // namespace twb
