#include "formats/onnx/onnx_gradients.h"

#include "core/error.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "training/backward.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace twb {
namespace {

using Find = std::function<std::optional<PortRef>(const std::string&)>;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::badGraph, why); }

PortRef named(const Find& find, const std::string& name) {
    const std::optional<PortRef> at = find(name);
    if (!at) refuse(fmt::format("there is no tensor \"{}\"", name));
    return *at;
}

/// Moves the readers of the outputs of one node to other tensors.
void redirect(ImportedModel& model, DeltaBuilder& builder, NodeId from, const std::vector<PortRef>& to) {
    const auto replacement = [&](PortRef at) {
        const auto port = static_cast<std::size_t>(at.port);
        if (port >= to.size()) refuse(fmt::format("it has {} outputs for {} tensors", port + 1, to.size()));
        return to[port];
    };
    for (const Edge& edge : model.graph.edges())
        if (edge.from.node == from) builder.connect({replacement(edge.from), edge.to});
    for (ImportedModel::Output& output : model.outputs)
        if (output.from.node == from) output.from = replacement(output.from);
}

void expand(ImportedModel& model, const Node& node, const Find& find) {
    const AttributeValue* xs = node.attributes.find("xs");
    if (!xs || !std::holds_alternative<std::vector<std::string>>(*xs) || !node.attributes.has("y"))
        refuse("it does not name its tensors");
    std::vector<NodeId> inputs;
    std::int32_t port = 0;
    for (const std::string& x : std::get<std::vector<std::string>>(*xs)) {
        const PortRef at = named(find, x);
        if (model.graph.sourceOf({node.id, port++}) != at)
            refuse(fmt::format("its input is not the tensor \"{}\" that it names", x));
        if (at.port != 0) refuse(fmt::format("\"{}\" is not the first output of its node", x));
        inputs.push_back(at.node);
    }
    DeltaBuilder builder(model.graph, "gradient");
    const auto files = makeMemoryFiles(model.tensors);
    const Analysis analysis = analyze(model.graph, DeviceMap{}, Policy::strict, files.get());
    const PortRef y = named(find, node.attributes.text("y"));
    redirect(model, builder, node.id, addBackward(builder, analysis, y, inputs, node.frame));
    builder.removeNode(node.id);
    model.graph.apply(builder.take());
}

} // namespace

void expandGradients(ImportedModel& model, const Find& find) {
    std::vector<Node> nodes;
    for (const Node& node : model.graph.nodes())
        if (node.op == kOnnxGradient) nodes.push_back(node);
    for (const Node& node : nodes) {
        try {
            expand(model, node, find);
        } catch (const Error& error) {
            model.remarks.push_back(fmt::format("Gradient \"{}\" remains a placeholder, which cannot run: {}",
                                                node.name, error.what()));
        }
    }
}

} // namespace twb
