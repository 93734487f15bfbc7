#include "formats/onnx/onnx_export.h"

#include "backends/cpu/cpu_backend.h"
#include "formats/onnx/onnx_exporter.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/project.h"
#include "ops/op_table.h"
#include "placement/disabled_rule.h"

#include <climits>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace twb {
namespace onnx_export {
namespace {

/// Ops that came, or came to mean what they mean here, after kOpset.
const std::map<std::string_view, int>& laterOps() {
    static const std::map<std::string_view, int> ops{{"BitwiseAnd", 18},
                                                     {"BitwiseOr", 18},
                                                     {"BitwiseXor", 18},
                                                     {"BitwiseNot", 18},
                                                     {"CenterCropPad", 18},
                                                     {"Col2Im", 18},
                                                     {"Mish", 18},
                                                     {"DeformConv", 19},
                                                     {"AffineGrid", 20},
                                                     {"Gelu", 20},
                                                     {"GridSample", 20},
                                                     {"DFT", 20},
                                                     {"RMSNormalization", 23},
                                                     {"GroupNormalization", 21},
                                                     {"Attention", 23},
                                                     {"RotaryEmbedding", 23},
                                                     {"Swish", 24}};
    return ops;
}

bool isReduction(std::string_view op) { return op.starts_with("Reduce") && op != "ReduceSum"; }

/// An op's needs beyond kOpset that depend on how it is used.
int opsetOf(const NodeFacts& facts) {
    const std::string& op = facts.op->name;
    const auto later = laterOps().find(op);
    if (later != laterOps().end()) return later->second;
    const auto connected = [&](std::size_t port) {
        return port < facts.inputs.size() && facts.inputs[port].has_value();
    };
    if (isReduction(op) && connected(1)) return 18;
    if (op == "Pad" && (connected(3) || facts.attributes.has("axes"))) return 18;
    if (op == "Split" && !connected(1) && !facts.attributes.has("split")) return 18;
    if (op == "Resize" && (facts.attributes.has("axes") || facts.attributes.flag("antialias"))) return 18;
    if (op == "AveragePool" && facts.attributes.has("dilations")) return 19;
    if ((op == "ScatterElements" || op == "ScatterND") && facts.attributes.has("reduction")) {
        const std::string& how = facts.attributes.text("reduction");
        if (how == "min" || how == "max") return 18;
    }
    return kOpset;
}

} // namespace

DeviceMap Export::devicesOf(const Graph& graph) {
    DeviceMap devices;
    for (const Lane& lane : graph.lanes())
        if (!lane.device.isCpu() && !lane.device.isAuto()) devices.set(lane.device, cpuBackend(), false);
    return devices;
}

Graph Export::graphToExport(const Graph& graph, const TensorFiles* files) {
    return exportable(graph, analyze(graph, devicesOf(graph), Policy::implicit, files), "ONNX");
}

std::string Export::run() {
    for (const Diagnostic& d : m_analysis.diagnostics)
        if (d.severity == Severity::error)
            throw Error(ErrorCode::badGraph,
                        fmt::format("the graph has errors and cannot be exported: {}", d.message));
    m_model.set_ir_version(8);
    m_model.set_producer_name("tensor-workbench");
    m_model.set_doc_string(m_graph.info().description);
    m_out = m_model.mutable_graph();
    m_out->set_name(m_graph.info().title.empty() ? "graph" : m_graph.info().title);
    for (const NodeFacts* facts : contentsOf(nullptr)) add(*facts, *m_graph.find(facts->id));
    // In the order in which they were added: the order of a model's outputs is part of what it is.
    for (const Node& node : m_graph.nodes()) {
        const NodeFacts& facts = *m_analysis.find(node.id);
        if (facts.op->role == OpRole::sink && !m_bodies.around(node.id)) addOutput(facts, node);
    }
    if (m_out->output_size() == 0)
        throw Error(ErrorCode::badGraph,
                    "the graph has no outputs to export: connect its results to a Probe or a Save");
    auto& opset = *m_model.add_opset_import();
    opset.set_domain("");
    opset.set_version(m_opset);
    for (const auto& [domain, version] : m_domains) {
        auto& import = *m_model.add_opset_import();
        import.set_domain(domain);
        import.set_version(version);
    }
    if (m_opset > 17) m_model.set_ir_version(m_opset >= 23 ? 11 : m_opset >= 21 ? 10 : 9);
    if (m_model.ByteSizeLong() > INT_MAX)
        throw Error(ErrorCode::unsupported,
                    "the model exceeds the 2 GiB limit of an ONNX file; export a part of it");
    return m_model.SerializeAsString();
}

std::string Export::unique(const std::string& wanted) {
    std::string name = wanted.empty() ? "tensor" : wanted;
    for (int n = 2; !m_taken.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
}

std::string Export::initializer(const std::string& wanted, const TensorView& tensor) {
    std::string name = unique(wanted);
    *m_out->add_initializer() = protoFromTensor(tensor, name);
    return name;
}

void Export::describe(const TensorType& type, onnx::ValueInfoProto& value, const std::string& name) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnxTypeOf(type.dtype));
    auto& shape = *tensor.mutable_shape();
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
        auto& dim = *shape.add_dim();
        if (type.shape[axis] == kUnknownDim)
            dim.set_dim_param(fmt::format("{}_{}", name, axis));
        else
            dim.set_dim_value(type.shape[axis]);
    }
}

void Export::add(const NodeFacts& facts, const Node& node) {
    if (facts.op->role == OpRole::source) return addSource(facts, node);
    if (facts.op->role == OpRole::control) return addControl(facts, node);
    if (facts.op->role == OpRole::transfer) {
        const PortRef from = *facts.inputs[0];
        const DType before = m_analysis.typeOf(from)->dtype;
        if (before == facts.outputs[0]->dtype) {
            m_names[{node.id, 0}] = m_names.at(from);
            return;
        }
        onnx::NodeProto& cast = *m_out->add_node();
        cast.set_op_type("Cast");
        cast.set_name(unique(node.name));
        cast.add_input(m_names.at(from));
        cast.add_output(m_names[{node.id, 0}] = unique(node.name + "_output"));
        auto& to = *cast.add_attribute();
        to.set_name("to");
        to.set_type(onnx::AttributeProto::INT);
        to.set_i(onnxTypeOf(facts.outputs[0]->dtype));
        return;
    }
    if (facts.op->opset == 0) refuse(node, "ONNX has no such op");
    addOp(facts, node);
}

void Export::addSource(const NodeFacts& facts, const Node& node) {
    const TensorType& type = *facts.outputs[0];
    if (node.op == "Input") {
        const std::string name = unique(node.name);
        describe(type, *m_model.mutable_graph()->add_input(), name);
        m_names[{node.id, 0}] = name;
        return;
    }
    const Tensor tensor = Tensor::onHost(type);
    const std::array<TensorView, 1> outputs{tensor.view()};
    facts.op->kernel({{}, outputs, facts.attributes, m_files});
    m_names[{node.id, 0}] = initializer(node.name, tensor.view());
}

void Export::addOutput(const NodeFacts& facts, const Node& node) {
    const PortRef from = *facts.inputs[0];
    const std::string name = unique(node.name);
    onnx::NodeProto& identity = *m_out->add_node();
    identity.set_op_type("Identity");
    identity.set_name(name + "_identity");
    identity.add_input(m_names.at(from));
    identity.add_output(name);
    describe(*m_analysis.typeOf(from), *m_out->add_output(), name);
}

/// A list that stands in an attribute, as the input that ONNX wants.
std::string Export::hostInput(const NodeFacts& facts, const PortSpec& port, const std::string& base) {
    const AttributeSpec& spec = *facts.op->attribute(port.name);
    const bool isFloat = spec.type == AttributeType::number || spec.type == AttributeType::numbers;
    const bool isScalar = (spec.type == AttributeType::integer || spec.type == AttributeType::number) &&
                          facts.op->name != "TopK";
    Tensor tensor;
    const auto make = [&](const auto& values) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        const Shape shape = isScalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
        tensor = Tensor::of<T>(shape, std::span<const T>(values));
    };
    if (isFloat) {
        const std::vector<double> given = facts.attributes.numbers(port.name);
        make(std::vector<float>(given.begin(), given.end()));
    } else {
        make(facts.attributes.integers(port.name));
    }
    // Where the port must have the dtype of another one, it does.
    for (std::size_t i = 0; i < facts.inputs.size() && !port.typeVariable.empty(); ++i) {
        if (!facts.inputs[i] || facts.op->inputAt(static_cast<int>(i)).typeVariable != port.typeVariable)
            continue;
        const DType wanted = m_analysis.typeOf(*facts.inputs[i])->dtype;
        const Tensor cast = Tensor::onHost({wanted, tensor.shape()});
        const std::array<TensorView, 1> from{tensor.view()};
        const std::array<TensorView, 1> to{cast.view()};
        const Op& op = *findOp("Cast");
        op.kernel({from, to, completeAttributes(op, {{"to", std::string(name(wanted))}}), nullptr});
        tensor = cast;
        break;
    }
    return initializer(fmt::format("{}_{}", base, port.name), tensor.view());
}

void Export::addOp(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    m_opset = std::max(m_opset, opsetOf(facts));
    const std::string base = unique(node.name);
    // Its host inputs are initializers, which stand before the node in any case.
    std::vector<std::string> inputs;
    const std::size_t ports = std::max(op.inputs.size(), facts.inputs.size());
    for (std::size_t port = 0; port < ports; ++port) {
        const PortSpec& spec = op.inputAt(static_cast<int>(port));
        std::string name;
        if (port < facts.inputs.size() && facts.inputs[port])
            name = m_names.at(*facts.inputs[port]);
        else if (spec.hostValue && facts.attributes.has(spec.name) && !isReduction(op.name) &&
                 (!spec.optional || node.attributes.has(spec.name)))
            name = hostInput(facts, spec, base);
        inputs.push_back(std::move(name));
    }
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();

    onnx::NodeProto& proto = *m_out->add_node();
    proto.set_op_type(op.name);
    proto.set_name(base);
    if (!op.domain.empty()) {
        proto.set_domain(op.domain);
        int& version = m_domains[op.domain];
        version = std::max(version, op.opset);
    }
    for (const std::string& name : inputs) proto.add_input(name);
    const auto& readers = m_graph.outgoing(node.id);
    for (std::size_t port = 0; port < facts.outputs.size(); ++port) {
        const auto p = static_cast<std::int32_t>(port);
        const bool isRead = std::any_of(readers.begin(), readers.end(),
                                        [&](const Edge& edge) { return edge.from.port == p; });
        const bool leftOut = op.outputAt(p).optional && !isRead;
        proto.add_output(leftOut ? ""
                                 : m_names[{node.id, p}] = unique(
                                       port == 0 ? base + "_output" : fmt::format("{}_output_{}", base, p)));
    }
    while (proto.output_size() > 1 && proto.output(proto.output_size() - 1).empty())
        proto.mutable_output()->RemoveLast();
    addAttributes(facts, node, proto);
}

/// What stands directly in a body (null: outside of all), in an order to run in, without sinks: what a Probe
/// in a body keeps is nobody's output.
std::vector<const NodeFacts*> Export::contentsOf(const Body* body) const {
    std::vector<const NodeFacts*> out;
    for (const NodeFacts& facts : m_analysis.nodes)
        if (facts.op->role != OpRole::sink && m_bodies.around(facts.id) == body) out.push_back(&facts);
    return out;
}

void Export::addAttributes(const NodeFacts& facts, const Node& node, onnx::NodeProto& proto) {
    for (const auto& [name, value] : facts.attributes) {
        const AttributeSpec* spec = facts.op->attribute(name);
        const bool given = node.attributes.has(name) || (spec && spec->required);
        const auto port =
            std::find_if(facts.op->inputs.begin(), facts.op->inputs.end(),
                         [&, name = name](const PortSpec& input) { return input.name == name; });
        const bool isInput = port != facts.op->inputs.end() && port->hostValue;
        if (!spec || !given || (isInput && !isReduction(facts.op->name))) continue;
        if (name == "num_outputs" && (facts.op->name != "Split" || opsetOf(facts) < 18)) continue;
        if (name == "noop_with_empty_axes" && isReduction(facts.op->name) && m_opset < 18) {
            if (facts.attributes.flag(name) && !facts.attributes.has("axes"))
                refuse(node, "reducing nothing when there are no axes came with opset 18");
            continue;
        }
        if (facts.op->name == "ConstantOfShape" && name == "dtype") continue; // goes with its value
        onnx::AttributeProto& attribute = *proto.add_attribute();
        attribute.set_name(name);
        switch (spec->type) {
        case AttributeType::flag:
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(facts.attributes.flag(name) ? 1 : 0);
            break;
        case AttributeType::integer:
            if (name == "seed" && facts.op->name != "Dropout") {
                attribute.set_type(onnx::AttributeProto::FLOAT); // as ONNX's random ops have it
                attribute.set_f(static_cast<float>(facts.attributes.integer(name)));
                break;
            }
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(facts.attributes.integer(name));
            break;
        case AttributeType::number:
            if (facts.op->name == "ConstantOfShape") {
                attribute.set_type(onnx::AttributeProto::TENSOR);
                const Tensor one = Tensor::onHost({facts.outputs[0]->dtype, Shape{1}});
                const std::array<TensorView, 1> outputs{one.view()};
                Attributes full =
                    completeAttributes(*findOp("Full"), {{"shape", std::vector<std::int64_t>{1}},
                                                         {"value", value},
                                                         {"dtype", std::string(twb::name(one.dtype()))}});
                findOp("Full")->kernel({{}, outputs, full, nullptr});
                *attribute.mutable_t() = protoFromTensor(one.view(), "value");
                break;
            }
            attribute.set_type(onnx::AttributeProto::FLOAT);
            attribute.set_f(static_cast<float>(facts.attributes.number(name)));
            break;
        case AttributeType::text:
        case AttributeType::enumeration:
        case AttributeType::file:
            attribute.set_type(onnx::AttributeProto::STRING);
            attribute.set_s(facts.attributes.text(name));
            break;
        case AttributeType::texts:
            attribute.set_type(onnx::AttributeProto::STRINGS);
            for (const std::string& text : std::get<std::vector<std::string>>(*facts.attributes.find(name)))
                attribute.add_strings(text);
            break;
        case AttributeType::integers:
        case AttributeType::shape:
            attribute.set_type(onnx::AttributeProto::INTS);
            for (const std::int64_t v : facts.attributes.integers(name)) attribute.add_ints(v);
            break;
        case AttributeType::numbers:
            attribute.set_type(onnx::AttributeProto::FLOATS);
            for (const double v : facts.attributes.numbers(name)) attribute.add_floats(static_cast<float>(v));
            break;
        case AttributeType::dtype:
            attribute.set_type(onnx::AttributeProto::INT);
            attribute.set_i(onnxTypeOf(*parseDType(facts.attributes.text(name))));
            break;
        }
    }
}

} // namespace onnx_export

std::string toOnnx(const Graph& graph, const TensorFiles* files) {
    return onnx_export::Export(graph, files).run();
}

void exportOnnx(const Graph& graph, const TensorFiles* files, const std::filesystem::path& path) {
    writeFileAtomically(path, toOnnx(graph, files));
}

} // namespace twb
