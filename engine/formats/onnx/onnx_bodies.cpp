#include "formats/onnx/onnx_importer.h"

#include <algorithm>

// If, Loop and Scan of a model. Their bodies become frames. Values that ONNX passes by position become nodes
// in the frames and inputs of the owner, as described in ops/control_flow.cpp.

namespace twb::onnx_import {
namespace {

std::int64_t entryOf(const NodeProto& node, std::string_view name, int index) {
    const AttributeProto* list = attributeOf(node, name);
    return list && index < list->ints_size() ? list->ints(index) : 0;
}

/// Whether a graph, or a graph inside it, reads a name.
bool reads(const onnx::GraphProto& graph, const std::string& name) {
    const auto isIt = [&](const std::string& input) { return input == name; };
    for (const NodeProto& node : graph.node()) {
        if (std::any_of(node.input().begin(), node.input().end(), isIt)) return true;
        for (const AttributeProto& attribute : node.attribute())
            if (attribute.has_g() && reads(attribute.g(), name)) return true;
    }
    return std::any_of(graph.output().begin(), graph.output().end(),
                       [&](const auto& output) { return output.name() == name; });
}

/// PyTorch's exporter declares the sizes of the initial value: one without elements is a list that grows.
bool hasFixedSizes(const onnx::ValueInfoProto& value) {
    const auto& tensor = value.type().tensor_type();
    return value.type().has_tensor_type() && tensor.has_shape() &&
           std::all_of(tensor.shape().dim().begin(), tensor.shape().dim().end(), [](const auto& dim) {
               return dim.value_case() == onnx::TensorShapeProto_Dimension::kDimValue && dim.dim_value() != 0;
           });
}

/// Whether a value that a body receives and returns has the same sizes in all of its runs, as far as the
/// model tells.
bool keepsSizes(const onnx::ValueInfoProto& received, const onnx::ValueInfoProto& returned) {
    if (!hasFixedSizes(received)) return false;
    if (!returned.type().has_tensor_type() || !returned.type().tensor_type().has_shape()) return true;
    const auto& before = received.type().tensor_type().shape().dim();
    const auto& after = returned.type().tensor_type().shape().dim();
    return std::equal(before.begin(), before.end(), after.begin(), after.end(),
                      [](const auto& a, const auto& b) {
                          return b.value_case() == onnx::TensorShapeProto_Dimension::kDimValue &&
                                 a.dim_value() == b.dim_value();
                      });
}

} // namespace

/// An If, Loop or Scan: the nodes of its bodies in frames, and their results as inputs after its own.
void Import::addControl(const NodeProto& proto, NodeId id) {
    const std::string& op = proto.op_type();
    const int own = op == "If" ? 1 : op == "Loop" ? std::min(2, proto.input_size()) : 0;
    if (proto.input_size() < own || (op == "If" && proto.input_size() != 1))
        refuse(at(labelOf(proto)), "it has the wrong number of inputs");
    for (int port = 0; port < own; ++port)
        if (!proto.input(port).empty()) m_delta.edgesAdded.push_back({sourceOf(proto, port), {id, port}});
    std::vector<PortRef> results;
    std::int64_t carried = 0;
    if (op == "If") {
        results = addBody(proto, id, "then_branch");
        const std::vector<PortRef> other = addBody(proto, id, "else_branch");
        if (results.size() != other.size())
            refuse(at(labelOf(proto)),
                   fmt::format("its branches have {} and {} outputs; both must have the same number",
                               results.size(), other.size()));
        results.insert(results.end(), other.begin(), other.end());
    } else {
        results = addBody(proto, id, "body");
        carried = op == "Loop" ? std::max(0, proto.input_size() - 2) : proto.input_size() - scannedBy(proto);
    }
    const int first = op == "Loop" ? 2 : own; // the position of a Loop's cond_out
    for (std::size_t i = 0; i < results.size(); ++i)
        m_delta.edgesAdded.push_back({results[i], {id, first + static_cast<int>(i)}});
    const std::size_t outputs = op == "If" ? results.size() / 2 : results.size() - (op == "Loop" ? 1 : 0);
    Node& node = nodeOf(id);
    node.attributes.set("num_outputs", static_cast<std::int64_t>(outputs));
    if (op == "If") return;
    node.attributes.set("carried", carried);
    for (const char* name : {"scan_output_axes", "scan_output_directions"})
        if (const AttributeProto* list = attributeOf(proto, name))
            node.attributes.set(name, std::vector<std::int64_t>(list->ints().begin(), list->ints().end()));
}

std::int64_t Import::scannedBy(const NodeProto& node) const {
    const AttributeProto* count = attributeOf(node, "num_scan_inputs");
    if (!count || count->i() < 1 || count->i() > node.input_size())
        refuse(at(labelOf(node)), "its num_scan_inputs is missing or larger than its number of inputs");
    return count->i();
}

std::vector<PortRef> Import::addBody(const NodeProto& proto, NodeId owner, const char* name) {
    const AttributeProto* attribute = attributeOf(proto, name);
    if (!attribute || !attribute->has_g()) refuse(at(labelOf(proto)), fmt::format("it has no body {}", name));
    const onnx::GraphProto& body = attribute->g();
    Frame frame;
    frame.id = m_out.graph.newFrameId(m_delta.frames.size());
    frame.title = fmt::format("{} of {}", name, nodeOf(owner).name);
    frame.parent = m_scopes.back().frame;
    frame.owner = owner;
    frame.body = name;
    m_delta.frames.push_back({std::nullopt, frame});
    m_scopes.push_back({frame.id});
    for (const auto& tensor : body.initializer()) addInitializer(tensor);
    addStates(proto, body);
    addContents(body);
    std::vector<PortRef> results;
    for (const auto& output : body.output()) {
        const PortRef* source = find(output.name());
        if (!source)
            refuse(at(labelOf(proto)),
                   fmt::format("nothing computes output \"{}\" of its {}", output.name(), name));
        results.push_back(*source);
    }
    m_scopes.pop_back();
    return results;
}

/// The values passed to a body by position, as nodes in the body.
void Import::addStates(const NodeProto& proto, const onnx::GraphProto& body) {
    const bool isLoop = proto.op_type() == "Loop";
    const int taken = isLoop ? 2 : 0; // the iteration number and the condition
    const int passed = proto.op_type() == "If" ? 0
                       : isLoop                ? std::max(0, proto.input_size() - 2)
                                               : proto.input_size();
    if (body.input_size() != taken + passed)
        refuse(at(labelOf(proto)),
               fmt::format("its body has {} inputs, but receives {}", body.input_size(), taken + passed));
    if (isLoop && body.output_size() < 1 + passed)
        refuse(at(labelOf(proto)),
               fmt::format("its body has {} outputs, but carries {} values and a condition",
                           body.output_size(), passed));
    const std::string label = labelOf(proto);
    const auto state = [&](const char* op, const onnx::ValueInfoProto& value) -> Node& {
        Node& node = newNode(op, value.name());
        define(value.name(), {node.id, 0}, label);
        return node;
    };
    if (isLoop) {
        if (reads(body, body.input(0).name())) state("Iteration", body.input(0));
        // While a body runs, its condition is true.
        if (reads(body, body.input(1).name())) {
            Node& condition = state("Constant", body.input(1));
            condition.attributes.set("value", std::int64_t{1});
            condition.attributes.set("dtype", std::string("bool"));
            condition.attributes.set("shape", std::vector<std::int64_t>{});
        }
    }
    const std::int64_t carried = isLoop ? passed : passed == 0 ? 0 : passed - scannedBy(proto);
    if (body.output_size() < carried)
        refuse(at(label),
               fmt::format("its body has {} outputs, but carries {} values", body.output_size(), carried));
    for (int i = 0; i < passed; ++i) {
        const auto& value = body.input(taken + i);
        const PortRef from = outside(proto, isLoop ? 2 + i : i);
        if (i < carried) {
            Node& node = state("Carried", value);
            node.attributes.set("index", std::int64_t{i});
            if (!keepsSizes(value, body.output((isLoop ? 1 : 0) + i))) node.attributes.set("varies", true);
            m_delta.edgesAdded.push_back({from, {node.id, 0}});
            continue;
        }
        const int scanned = i - static_cast<int>(carried);
        Node& node = state("ScanSlice", value);
        if (const std::int64_t axis = entryOf(proto, "scan_input_axes", scanned))
            node.attributes.set("axis", axis);
        if (entryOf(proto, "scan_input_directions", scanned) == 1) node.attributes.set("reverse", true);
        m_delta.edgesAdded.push_back({from, {node.id, 0}});
    }
}

/// The body does not see this name yet: it comes from an outer graph.
PortRef Import::outside(const NodeProto& node, int port) {
    Scope inside = std::move(m_scopes.back());
    m_scopes.pop_back();
    const PortRef from = sourceOf(node, port);
    m_scopes.push_back(std::move(inside));
    return from;
}

Node& Import::nodeOf(NodeId id) {
    return *std::find_if(m_delta.nodes.rbegin(), m_delta.nodes.rend(), [&](const Change<Node>& change) {
                return change.after->id == id;
            })->after;
}

} // namespace twb::onnx_import
