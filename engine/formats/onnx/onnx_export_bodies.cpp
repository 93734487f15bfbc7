#include "formats/onnx/onnx_exporter.h"

#include <algorithm>
#include <utility>

namespace twb::onnx_export {

std::string Export::addScalar(const std::string& wanted, DType dtype, std::int64_t value) {
    const Tensor tensor = Tensor::onHost({dtype, Shape{}});
    if (dtype == DType::boolean)
        *tensor.view().as<bool>() = value != 0;
    else
        *tensor.view().as<std::int64_t>() = value;
    return initializer(wanted, tensor.view());
}

std::string Export::addIdentity(const std::string& from, const std::string& wanted) {
    onnx::NodeProto& identity = *m_out->add_node();
    identity.set_op_type("Identity");
    identity.add_input(from);
    identity.add_output(unique(wanted));
    identity.set_name(identity.output(0) + "_identity");
    return identity.output(0);
}

/// The reverse of the import: frames become graphs in attributes, and the nodes for their inputs and outputs
/// become positions.
void Export::addControl(const NodeFacts& facts, const Node& node) {
    onnx::NodeProto proto;
    proto.set_op_type(facts.op->name);
    proto.set_name(unique(node.name));
    for (int port = 0; port < Bodies::firstResult(*facts.op); ++port) {
        const PortSpec& spec = facts.op->inputAt(port);
        const auto p = static_cast<std::size_t>(port);
        if (Bodies::bodyOfInput(*facts.op, port, 0) >= 0) continue;
        if (facts.inputs[p])
            proto.add_input(m_names.at(*facts.inputs[p]));
        else if (spec.name == "M" && facts.attributes.has("M"))
            proto.add_input(addScalar(proto.name() + "_M", DType::i64, facts.attributes.integer("M")));
        else if (spec.name == "cond" && !facts.attributes.flag("cond"))
            proto.add_input(addScalar(proto.name() + "_cond", DType::boolean, 0));
        else
            proto.add_input("");
    }
    for (int index = 0; index < static_cast<int>(facts.op->bodies.size()); ++index)
        addBody(facts, node, index, proto);
    for (std::size_t port = 0; port < facts.outputs.size(); ++port)
        proto.add_output(m_names[{node.id, static_cast<std::int32_t>(port)}] =
                             unique(fmt::format("{}_output_{}", proto.name(), port)));
    *m_out->add_node() = std::move(proto);
}

void Export::addBody(const NodeFacts& facts, const Node& node, int index, onnx::NodeProto& proto) {
    const Body* body = m_bodies.of(node.id, index);
    onnx::GraphProto graph;
    const std::string& title = facts.op->bodies[static_cast<std::size_t>(index)];
    graph.set_name(fmt::format("{}_{}", proto.name(), title));
    const bool isLoop = facts.op->name == "Loop";
    std::string iteration;
    std::string condition;
    if (isLoop) {
        iteration = unique(graph.name() + "_iteration");
        condition = unique(graph.name() + "_condition");
        describe({DType::i64, Shape{}}, *graph.add_input(), iteration);
        describe({DType::boolean, Shape{}}, *graph.add_input(), condition);
    }
    std::vector<const NodeFacts*> carried;
    std::vector<const NodeFacts*> slices;
    const std::vector<const NodeFacts*> contents = body ? contentsOf(body) : std::vector<const NodeFacts*>{};
    for (const NodeFacts* inside : contents) {
        if (inside->op->name == "Iteration") m_names[{inside->id, 0}] = iteration;
        if (inside->op->name == "Carried") carried.push_back(inside);
        if (inside->op->name == "ScanSlice") slices.push_back(inside);
    }
    std::sort(carried.begin(), carried.end(), [](const NodeFacts* a, const NodeFacts* b) {
        return a->attributes.integer("index") < b->attributes.integer("index");
    });
    const auto ints = [&](const char* name) -> onnx::AttributeProto& {
        onnx::AttributeProto& attribute = *proto.add_attribute();
        attribute.set_name(name);
        attribute.set_type(onnx::AttributeProto::INTS);
        return attribute;
    };
    for (const auto* states : {&carried, &slices})
        for (const NodeFacts* state : *states) {
            const std::string name = m_names[{state->id, 0}] = unique(m_graph.find(state->id)->name);
            describe(*state->outputs[0], *graph.add_input(), name);
            proto.add_input(m_names.at(*state->inputs[0]));
        }
    if (facts.op->name == "Scan") {
        onnx::AttributeProto& count = *proto.add_attribute();
        count.set_name("num_scan_inputs");
        count.set_type(onnx::AttributeProto::INT);
        count.set_i(static_cast<std::int64_t>(slices.size()));
        onnx::AttributeProto& axes = ints("scan_input_axes");
        for (const NodeFacts* slice : slices) axes.add_ints(slice->attributes.integer("axis"));
        onnx::AttributeProto& directions = ints("scan_input_directions");
        for (const NodeFacts* slice : slices) directions.add_ints(slice->attributes.flag("reverse") ? 1 : 0);
        for (const char* name : {"scan_output_axes", "scan_output_directions"}) {
            if (!facts.attributes.has(name)) continue;
            onnx::AttributeProto& list = ints(name);
            for (const std::int64_t entry : facts.attributes.integers(name)) list.add_ints(entry);
        }
    }
    onnx::GraphProto* const around = std::exchange(m_out, &graph);
    for (const NodeFacts* inside : contents)
        if (inside->op->role != OpRole::state) add(*inside, *m_graph.find(inside->id));
    const auto result = [&](const std::string& from, const TensorType& type) {
        describe(type, *graph.add_output(), addIdentity(from, graph.name() + "_result"));
    };
    const int connected = static_cast<int>(facts.inputs.size());
    if (isLoop && !facts.inputs[2])
        result(facts.attributes.flag("cond_out") ? condition
                                                 : addScalar(graph.name() + "_end", DType::boolean, 0),
               {DType::boolean, Shape{}});
    for (int port = 0; port < connected; ++port) {
        const auto& from = facts.inputs[static_cast<std::size_t>(port)];
        if (Bodies::bodyOfInput(*facts.op, port, connected) == index && from)
            result(m_names.at(*from), *m_analysis.typeOf(*from));
    }
    m_out = around;
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(title);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = std::move(graph);
}

} // namespace twb::onnx_export
