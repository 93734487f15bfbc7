#include "formats/onnx/onnx_export.h"

#include "backends/cpu/cpu_backend.h"
#include "formats/onnx/onnx_exporter.h"
#include "formats/onnx/onnx_graph_forms.h"
#include "formats/onnx/onnx_node_form.h"
#include "formats/onnx/onnx_schemas.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/project.h"
#include "ops/op_table.h"
#include "placement/disabled_rule.h"
#include "training/training.h"

#include <climits>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace twb {
namespace onnx_export {
namespace {

/// The first version of ONNX's file format that has the opset.
int irVersionOf(int opset) {
    constexpr std::array<std::pair<int, int>, 6> kFirst{
        {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}}};
    for (const auto& [first, version] : kFirst)
        if (opset >= first) return version;
    return 8;
}

/// The first opset with the element type.
int firstOpsetWith(DType dtype) {
    switch (dtype) {
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
        return 19;
    case DType::i4:
    case DType::u4:
        return 21;
    case DType::f4e2m1:
        return 23;
    case DType::f8e8m0:
        return 24;
    case DType::i2:
    case DType::u2:
        return 25;
    default:
        return kOpset;
    }
}

} // namespace

DeviceMap Export::devicesOf(const Graph& graph) {
    DeviceMap devices;
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.isAuto()) continue;
        for (const Device device : {lane.device, lane.device.host()})
            if (!devices.find(device)) devices.set(device, cpuBackend(), false);
    }
    return devices;
}

Graph Export::graphToExport(const Graph& graph, const TensorFiles* files) {
    const Analysis analysis = analyze(graph, devicesOf(graph), Policy::implicit, files);
    return withOnnxForms(exportable(graph, analysis, "ONNX"), analysis);
}

std::string Export::run() {
    for (const Diagnostic& d : m_analysis.diagnostics)
        if (d.severity == Severity::error)
            throw Error(ErrorCode::badGraph,
                        fmt::format("the graph has errors and cannot be exported: {}", d.message));
    m_model.set_producer_name("tensor-workbench");
    m_model.set_doc_string(m_graph.info().description);
    chooseVersions();
    m_out = m_model.mutable_graph();
    m_out->set_name(m_graph.info().title.empty() ? "graph" : m_graph.info().title);
    for (const NodeFacts* facts : contentsOf(nullptr)) add(*facts, *m_graph.find(facts->id));
    // In creation order, which is the order of the model's outputs.
    for (const Node& node : m_graph.nodes()) {
        const NodeFacts& facts = *m_analysis.find(node.id);
        if (facts.op->role == OpRole::sink && !m_bodies.around(node.id)) addOutput(facts, node);
    }
    if (m_out->output_size() == 0)
        throw Error(ErrorCode::badGraph,
                    "the graph has no outputs to export: connect its results to a Probe or a Save");
    for (const auto& [domain, version] : m_versions) {
        auto& import = *m_model.add_opset_import();
        import.set_domain(domain);
        import.set_version(version);
    }
    m_model.set_ir_version(irVersionOf(m_versions.at("")));
    if (m_model.ByteSizeLong() > INT_MAX)
        throw Error(ErrorCode::unsupported,
                    "the model exceeds the 2 GiB limit of an ONNX file; export a part of it");
    if (const std::string refusal = refusedByOnnx(m_model); !refusal.empty())
        throw Error(
            ErrorCode::badGraph,
            fmt::format("ONNX's checker refuses the model, so it is not written; remove or replace the node "
                        "that the checker names: {}",
                        refusal));
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

/// An attribute list as the input that ONNX requires.
std::string Export::hostInput(const NodeFacts& facts, const PortSpec& port, const std::string& base) {
    const AttributeSpec& spec = *facts.op->attribute(port.name);
    if (spec.type == AttributeType::flag)
        return addScalar(fmt::format("{}_{}", base, port.name), DType::boolean,
                         facts.attributes.flag(port.name) ? 1 : 0);
    const bool isFloat = spec.type == AttributeType::number || spec.type == AttributeType::numbers;
    const bool isScalar = (spec.type == AttributeType::integer || spec.type == AttributeType::number) &&
                          facts.op->name != "TopK";
    Tensor tensor;
    const auto make = [&](const auto& values) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        const Shape shape = isScalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
        tensor = Tensor::of<T>(shape, std::span<const T>(values));
    };
    if (isFloat)
        make(facts.attributes.numbers(port.name));
    else
        make(facts.attributes.integers(port.name));
    // A port has the dtype of another port if they must agree.
    DType wanted = isFloat ? DType::f32 : tensor.dtype();
    const auto agrees = [&](const PortSpec& other) {
        return !port.typeVariable.empty() && other.typeVariable == port.typeVariable;
    };
    if (facts.outputs[0] && agrees(facts.op->outputAt(0))) wanted = facts.outputs[0]->dtype;
    for (std::size_t i = facts.inputs.size(); i-- > 0;)
        if (facts.inputs[i] && agrees(facts.op->inputAt(static_cast<int>(i))))
            wanted = m_analysis.typeOf(*facts.inputs[i])->dtype;
    if (wanted != tensor.dtype()) {
        const Tensor cast = Tensor::onHost({wanted, tensor.shape()});
        const std::array<TensorView, 1> from{tensor.view()};
        const std::array<TensorView, 1> to{cast.view()};
        const Op& op = *findOp("Cast");
        op.kernel({from, to, completeAttributes(op, {{"to", std::string(name(wanted))}}), nullptr});
        tensor = cast;
    }
    return initializer(fmt::format("{}_{}", base, port.name), tensor.view());
}

NodeUse Export::useOf(const NodeFacts& facts) const {
    NodeUse use{*m_graph.find(facts.id), facts, {}, std::vector<bool>(facts.outputs.size())};
    for (const auto& from : facts.inputs)
        use.inputs.push_back(from ? std::optional(m_analysis.typeOf(*from)->dtype) : std::nullopt);
    for (const Edge& edge : m_graph.outgoing(facts.id))
        use.read[static_cast<std::size_t>(edge.from.port)] = true;
    return use;
}

/// For each domain the lowest version that serves all nodes; for the default domain at least kOpset.
void Export::chooseVersions() {
    std::map<std::string, std::vector<NodeUse>> uses{{"", {}}};
    for (const NodeFacts& facts : m_analysis.nodes) {
        if (!facts.op || (facts.op->role != OpRole::compute && facts.op->role != OpRole::collective))
            continue;
        if (facts.op->opset == 0) refuse(*m_graph.find(facts.id), "ONNX has no such op");
        uses[facts.op->domain].push_back(useOf(facts));
    }
    int oldest = kOpset;
    for (const NodeFacts& facts : m_analysis.nodes)
        for (const auto& type : facts.outputs)
            if (type) oldest = std::max(oldest, firstOpsetWith(type->dtype));
    for (const auto& [domain, nodes] : uses) {
        const int latest = latestOnnxVersion(domain);
        int version = domain.empty() ? oldest : 1;
        for (const NodeUse& use : nodes)
            while (!formOf(use, version).misfit.empty()) {
                if (version == latest) refuse(use.node, formOf(use, latest).misfit);
                ++version;
            }
        for (const NodeUse& use : nodes)
            if (const std::string misfit = formOf(use, version).misfit; !misfit.empty())
                refuse(use.node, fmt::format("in opset {}, which other nodes need, {}", version, misfit));
        m_versions[domain] = version;
    }
}

void Export::addOp(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    const NodeForm form = formOf(useOf(facts), m_versions.at(op.domain));
    const std::string base = unique(node.name);
    // Host inputs of a node become initializers, which precede all nodes.
    std::vector<std::string> inputs;
    for (std::size_t port = 0; port < form.inputs.size(); ++port) {
        std::string& name = inputs.emplace_back();
        if (form.inputs[port] == NodeForm::Input::connected)
            name = m_names.at(*facts.inputs[port]);
        else if (form.inputs[port] == NodeForm::Input::fromAttribute)
            name = hostInput(facts, op.inputAt(static_cast<int>(port)), base);
    }
    onnx::NodeProto& proto = *m_out->add_node();
    proto.set_op_type(op.name);
    proto.set_name(base);
    proto.set_domain(op.domain);
    for (const std::string& name : inputs) proto.add_input(name);
    for (std::size_t port = 0; port < form.outputs.size(); ++port) {
        const auto p = static_cast<std::int32_t>(port);
        if (!form.outputs[port]) {
            proto.add_output("");
            continue;
        }
        const std::string& name = m_names[{node.id, p}] =
            unique(port == 0 ? base + "_output" : fmt::format("{}_output_{}", base, p));
        proto.add_output(name);
        describe(*facts.outputs[port], *m_out->add_value_info(), name);
    }
    for (const onnx::AttributeProto& attribute : form.attributes) *proto.add_attribute() = attribute;
}

/// The nodes directly in a body (null: outside all bodies), in execution order, without sinks: a Probe in a
/// body is not an output.
std::vector<const NodeFacts*> Export::contentsOf(const Body* body) const {
    std::vector<const NodeFacts*> out;
    for (const NodeFacts& facts : m_analysis.nodes)
        if (facts.op->role != OpRole::sink && m_bodies.around(facts.id) == body) out.push_back(&facts);
    return out;
}

} // namespace onnx_export

std::string toOnnx(const Graph& graph, const TensorFiles* files) {
    const Graph inference = inferenceGraph(graph, files);
    return onnx_export::Export(inference, files).run();
}

void exportOnnx(const Graph& graph, const TensorFiles* files, const std::filesystem::path& path) {
    writeFileAtomically(path, toOnnx(graph, files));
}

} // namespace twb
