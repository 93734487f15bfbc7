#include "formats/input_file.h"
#include "formats/onnx/onnx_functions.h"
#include "formats/onnx/onnx_gradients.h"
#include "formats/onnx/onnx_importer.h"
#include "formats/onnx/onnx_sequences.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/onnx/onnx_trees.h"
#include "formats/onnx/onnx_upgrade.h"
#include "formats/project.h"
#include "graph/constant_node.h"
#include "graph/folding.h"
#include "graph/module_names.h"
#include "graph/module_op.h"
#include "ops/op_table.h"

#include <climits>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <google/protobuf/io/coded_stream.h>

namespace twb {
namespace onnx_import {
namespace {

constexpr std::int64_t kOldestOpset = 1;
/// The nesting of messages: three levels for each If, Loop or Scan within a body. The library's own limit of
/// 100 would be reached at 32 of them.
constexpr int kDeepestMessages = 1000;

template <class Message> Message parse(std::string_view bytes, const fs::path& path) {
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    stream.SetTotalBytesLimit(INT_MAX);
    stream.SetRecursionLimit(kDeepestMessages);
    Message message;
    if (bytes.empty() || !message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
        refuse(path.string(),
               fmt::format("not an ONNX file, or the file is damaged, or its subgraphs are nested more "
                           "than {} levels deep",
                           kDeepestMessages / 3));
    return message;
}

/// Names are bytes in a model and text in a project; invalid UTF-8 becomes U+FFFD.
std::string textOf(const std::string& bytes) {
    using nlohmann::json;
    return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

/// Whether a graph's name is not one that an exporter gives to every graph.
bool isTelling(std::string_view name) {
    constexpr std::string_view kDefaults[] = {"",           "torch_jit", "torch-jit-export",
                                              "main_graph", "tf2onnx",   "graph"};
    return std::find(std::begin(kDefaults), std::end(kDefaults), name) == std::end(kDefaults);
}

} // namespace

ImportedModel Import::run(std::string_view bytes) {
    auto model = parse<onnx::ModelProto>(bytes, m_path);
    if (!model.has_graph() || model.opset_import_size() == 0)
        refuse(m_path.string(), "not an ONNX model: it has no graph or no operator set");
    checkVersions(model);
    onnx::GraphProto& graph = *model.mutable_graph();
    for (const auto& import : model.opset_import())
        if (isDefaultDomain(import.domain())) upgradeNodes(graph, import.version());
    m_calls = inlineFunctions(model, m_path);
    for (const std::string& problem : replaceTrees(graph, m_path.parent_path()))
        m_out.remarks.push_back(at(problem));
    for (const auto& value : graph.input())
        if (value.type().has_sequence_type() || value.type().has_optional_type())
            m_out.dimensions.insert(value.name());
    const bool takesSequences = !m_out.dimensions.empty();
    if (const std::string problem = resolveSequences(model, m_path, m_options); !problem.empty()) {
        // A placeholder can stand for an op, but not for an input.
        if (takesSequences) refuse(m_path.string(), problem);
        m_out.remarks.push_back(at(fmt::format("its sequences are placeholders: {}", problem)));
    }

    Lane lane;
    lane.id = m_lane = m_out.graph.newLaneId();
    lane.device = Device::cpu();
    m_delta.lanes.push_back({std::nullopt, lane});
    for (const auto& value : graph.output()) m_outputNames.insert(textOf(value.name()));
    for (const auto& proto : graph.initializer()) {
        throwIfCancelled(m_options.isCancelled);
        addInitializer(proto);
    }
    for (const auto& value : graph.input())
        if (!find(value.name())) addInput(value); // an initializer may be the default of an input
    addContents(graph);
    for (const auto& value : graph.output()) addOutput(value);
    GraphInfo info = m_out.graph.info();
    info.title = isTelling(graph.name()) ? textOf(graph.name()) : m_path.stem().string();
    info.description = textOf(model.doc_string());
    m_delta.info = Change<GraphInfo>{m_out.graph.info(), info};
    m_out.graph.apply(m_delta);
    expandGradients(m_out, [this](const std::string& tensor) {
        const PortRef* at = find(tensor);
        return at ? std::optional(*at) : std::nullopt;
    });
    layOut();
    return std::move(m_out);
}

/// Adds the nodes of a graph, after its initializers and inputs.
void Import::addContents(const onnx::GraphProto& graph) {
    if (graph.sparse_initializer_size() > 0)
        refuse(m_path.string(), "it has sparse initializers, which are not supported; export dense ones");
    std::vector<NodeId> ids;
    for (const NodeProto& node : graph.node()) {
        throwIfCancelled(m_options.isCancelled);
        addNode(node);
        ids.push_back(m_delta.nodes.back().after->id);
    }
    for (int i = 0; i < graph.node_size(); ++i) {
        const NodeProto& node = graph.node(i);
        const NodeId id = ids[static_cast<std::size_t>(i)];
        if (isControl(node))
            addControl(node, id);
        else
            connect(node, id);
    }
}

void Import::checkVersions(const onnx::ModelProto& model) {
    for (const auto& import : model.opset_import()) {
        m_opsets[isDefaultDomain(import.domain()) ? std::string() : import.domain()] = import.version();
        if (!isDefaultDomain(import.domain())) continue;
        if (import.version() < kOldestOpset)
            refuse(m_path.string(), fmt::format("its opset is {}, but only opsets {} to {} are supported; "
                                                "convert it with onnx.version_converter",
                                                import.version(), kOldestOpset, kOnnxOpset));
        if (import.version() > kOnnxOpset)
            m_out.remarks.push_back(
                at(fmt::format("its opset {} is newer than {}: its operators are read as opset {}",
                               import.version(), kOnnxOpset, kOnnxOpset)));
    }
}

/// A unique name. Outputs have the model's names; another node with such a name gets its op as a prefix.
std::string Import::uniqueName(const std::string& wanted, const std::string& op) {
    const bool isOutput = op == "Probe";
    if (isOutput && m_outputNames.contains(wanted) && m_taken.insert(wanted).second) return wanted;
    if (!isOutput && !m_outputNames.contains(wanted) && m_taken.insert(wanted).second) return wanted;
    std::string name = fmt::format("{}_{}", op, wanted);
    for (int n = 2; m_outputNames.contains(name) || !m_taken.insert(name).second; ++n)
        name = fmt::format("{}_{} {}", op, wanted, n);
    return name;
}

Node& Import::newNode(const std::string& op, const std::string& name) {
    Node node;
    node.id = m_out.graph.newNodeId(m_delta.nodes.size());
    node.op = textOf(op);
    node.name = uniqueName(textOf(name), node.op);
    node.lane = m_lane;
    node.frame = m_scopes.back().frame;
    m_delta.nodes.push_back({std::nullopt, std::move(node)});
    return *m_delta.nodes.back().after;
}

void Import::define(const std::string& name, PortRef output, const std::string& by) {
    if (!m_scopes.back().values.emplace(name, output).second)
        refuse(at(by),
               fmt::format("its output \"{}\" has another source already; each tensor has one source", name));
}

/// Names of outer graphs are visible, too.
const PortRef* Import::find(const std::string& name) const {
    for (auto scope = m_scopes.rbegin(); scope != m_scopes.rend(); ++scope)
        if (const auto at = scope->values.find(name); at != scope->values.end()) return &at->second;
    return nullptr;
}

/// A tensor of the model: a Constant if it is small, else a File.
NodeId Import::addTensor(const std::string& name, const Tensor& tensor) {
    Node& node = newNode(fitsConstant(tensor) ? "Constant" : "File", name);
    holdTensor(node, textOf(name), tensor, m_out);
    m_parameters.push_back(node.id);
    return node.id;
}

void Import::addInitializer(const onnx::TensorProto& proto) {
    if (proto.name().empty()) refuse(m_path.string(), "an initializer has no name");
    const std::string what = at(fmt::format("initializer \"{}\"", proto.name()));
    const Tensor tensor = tensorFromProto(proto, m_path.parent_path(), what);
    define(proto.name(), {addTensor(proto.name(), tensor), 0},
           fmt::format("initializer \"{}\"", proto.name()));
}

void Import::addInput(const onnx::ValueInfoProto& value) {
    const std::string what = fmt::format("input \"{}\"", value.name());
    if (const auto given = m_options.inputs.find(value.name()); given != m_options.inputs.end()) {
        const std::string path = fmt::format("{}#{}", kTensorFile, value.name());
        m_out.tensors[path] = given->second;
        Node& node = newNode("File", value.name());
        node.attributes.set("path", path);
        return define(value.name(), {node.id, 0}, what);
    }
    if (!value.type().has_tensor_type())
        refuse(
            at(what),
            "it is a map, or a sequence of sequences; only tensors and sequences of tensors are supported");
    const auto& type = value.type().tensor_type();
    const auto dtype = dtypeOfOnnx(type.elem_type());
    if (!dtype)
        refuse(at(what),
               fmt::format("its element type is {}, but only numbers of 8 to 64 bits and bool are supported",
                           onnxTypeName(type.elem_type())));
    std::vector<std::int64_t> dims;
    std::vector<int> free;
    for (const auto& dim : type.shape().dim()) {
        if (dim.value_case() == onnx::TensorShapeProto_Dimension::kDimValue) {
            dims.push_back(dim.dim_value());
            continue;
        }
        if (!dim.dim_param().empty()) m_out.dimensions.insert(dim.dim_param());
        const auto known = m_options.dimensions.find(dim.dim_param());
        if (known == m_options.dimensions.end()) free.push_back(static_cast<int>(dims.size()));
        dims.push_back(known == m_options.dimensions.end() ? 1 : known->second);
    }
    try {
        (void)Shape(dims).byteCount(*dtype);
    } catch (const Error& e) {
        refuse(at(what), e.what());
    }
    Node& node = newNode("Input", value.name());
    node.attributes.set("shape", std::move(dims));
    node.attributes.set("dtype", std::string(name(*dtype)));
    for (const int axis : free) m_out.freeAxes.insert({node.id, axis});
    define(value.name(), {node.id, 0}, what);
}

void Import::setAttribute(Node& node, const Op* op, const AttributeProto& attribute,
                          const std::string& where) {
    if (!attribute.ref_attr_name().empty())
        refuse(where,
               fmt::format(
                   "its attribute \"{}\" refers to a function's attribute, but the node is not in a function",
                   attribute.name()));
    const std::string key = textOf(attribute.name());
    const AttributeSpec* spec = op ? op->attribute(attribute.name()) : nullptr;
    switch (attribute.type()) {
    case AttributeProto::INT:
        if (spec && spec->type == AttributeType::flag && (attribute.i() == 0 || attribute.i() == 1)) {
            node.attributes.set(key, attribute.i() == 1);
        } else if (spec && spec->type == AttributeType::dtype) {
            const auto dtype = dtypeOfOnnx(static_cast<std::int32_t>(attribute.i()));
            node.attributes.set(key, dtype ? std::string(name(*dtype))
                                           : onnxTypeName(static_cast<std::int32_t>(attribute.i())));
        } else {
            node.attributes.set(key, attribute.i());
        }
        return;
    case AttributeProto::FLOAT:
        // ONNX's random ops have a floating-point seed.
        if (spec && spec->type == AttributeType::integer && attribute.f() == std::trunc(attribute.f()) &&
            std::abs(attribute.f()) < 0x1p62F)
            node.attributes.set(key, static_cast<std::int64_t>(attribute.f()));
        else
            node.attributes.set(key, static_cast<double>(attribute.f()));
        return;
    case AttributeProto::STRING:
        node.attributes.set(key, textOf(attribute.s()));
        return;
    case AttributeProto::INTS:
        node.attributes.set(key, std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end()));
        return;
    case AttributeProto::FLOATS:
        node.attributes.set(key, std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
        return;
    case AttributeProto::STRINGS: {
        std::vector<std::string> texts;
        for (const std::string& text : attribute.strings()) texts.push_back(textOf(text));
        node.attributes.set(key, std::move(texts));
        return;
    }
    case AttributeProto::TENSOR: {
        const Tensor tensor = tensorFromProto(attribute.t(), m_path.parent_path(),
                                              fmt::format("{}, attribute \"{}\"", where, attribute.name()));
        if (!op) return;                                    // not needed for a placeholder
        if (spec && spec->type == AttributeType::numbers) { // the lists of a TreeEnsemble
            std::vector<double> numbers;
            for (std::int64_t i = 0; i < tensor.elementCount(); ++i) numbers.push_back(tensor.at(i));
            node.attributes.set(key, std::move(numbers));
            return;
        }
        if (spec && spec->type == AttributeType::integers) {
            node.attributes.set(key, tensor.toIntegers());
            return;
        }
        // ConstantOfShape's value: one element, which also determines the dtype.
        if (tensor.elementCount() != 1 || !op->attribute("dtype"))
            refuse(where,
                   fmt::format("its attribute \"{}\" is a tensor of shape {}, but must have one element",
                               attribute.name(), tensor.shape().toTorchString()));
        if (holdsFractions(tensor.dtype()))
            node.attributes.set(key, tensor.at(0));
        else
            node.attributes.set(key, tensor.toIntegers()[0]);
        node.attributes.set("dtype", std::string(name(tensor.dtype())));
        return;
    }
    default:
        break;
    }
    if (op)
        refuse(where,
               fmt::format("its attribute \"{}\" holds a graph, a sparse tensor or a type, which is not "
                           "read",
                           attribute.name()));
}

void Import::addNode(const NodeProto& proto) {
    const std::string label = labelOf(proto);
    if (proto.op_type().empty()) refuse(at(label), "it names no operator");
    if (isDefaultDomain(proto.domain()) && proto.op_type() == "Constant" && proto.attribute_size() == 1 &&
        proto.output_size() == 1) {
        const AttributeProto& value = proto.attribute(0);
        const std::string& name = proto.output(0);
        Tensor tensor;
        if (value.type() == AttributeProto::TENSOR) {
            tensor = tensorFromProto(value.t(), m_path.parent_path(), at(label));
        } else if (value.type() == AttributeProto::FLOAT) {
            tensor = Tensor::of<float>(Shape{}, {value.f()});
        } else if (value.type() == AttributeProto::INT) {
            tensor = Tensor::of<std::int64_t>(Shape{}, {value.i()});
        } else if (value.type() == AttributeProto::FLOATS) {
            const std::vector<float> values(value.floats().begin(), value.floats().end());
            tensor = Tensor::of<float>(Shape{value.floats_size()}, std::span<const float>(values));
        } else if (value.type() == AttributeProto::INTS) {
            const std::vector<std::int64_t> values(value.ints().begin(), value.ints().end());
            tensor =
                Tensor::of<std::int64_t>(Shape{value.ints_size()}, std::span<const std::int64_t>(values));
        } else {
            refuse(at(label), "its value is a string or a sparse tensor, which is not supported");
        }
        const NodeId id = addTensor(name, tensor);
        return define(name, {id, 0}, label);
    }
    const Op* op = findOp(proto.op_type());
    if (!isDefaultDomain(proto.domain()) && op && op->domain != proto.domain()) op = nullptr;
    std::string name = proto.name();
    if (name.empty() && proto.output_size() > 0) name = proto.output(0);
    Node& node =
        newNode(op || isDefaultDomain(proto.domain()) ? proto.op_type()
                                                      : fmt::format("{}.{}", proto.domain(), proto.op_type()),
                name.empty() ? proto.op_type() : name);
    if (!isControl(proto)) // its graph attributes are imported with its bodies
        for (const AttributeProto& attribute : proto.attribute())
            setAttribute(node, op, attribute, at(label));
    const auto opset = m_opsets.find(isDefaultDomain(proto.domain()) ? std::string() : proto.domain());
    if (!op && opset != m_opsets.end())
        node.attributes.set("opset", opset->second); // for the message about the op
    // Split has this attribute in ONNX, too; for other ops the outputs are counted here.
    if (op && op->attribute("num_outputs") && !node.attributes.has("num_outputs"))
        node.attributes.set("num_outputs", std::int64_t{proto.output_size()});
    const NodeId id = node.id;
    for (int port = 0; port < proto.output_size(); ++port)
        if (!proto.output(port).empty()) define(proto.output(port), {id, port}, label);
}

void Import::connect(const NodeProto& proto, NodeId id) {
    const bool isConstant = proto.op_type() == "Constant";
    for (int port = 0; port < proto.input_size() && !isConstant; ++port) {
        const std::string& name = proto.input(port);
        if (name.empty()) continue;
        m_delta.edgesAdded.push_back({sourceOf(proto, port), {id, port}});
    }
}

PortRef Import::sourceOf(const NodeProto& node, int port) const {
    const PortRef* source = find(node.input(port));
    if (!source)
        refuse(at(labelOf(node)),
               fmt::format("its input {} is \"{}\", which has no source", port, node.input(port)));
    return *source;
}

void Import::addOutput(const onnx::ValueInfoProto& value) {
    const PortRef* source = find(value.name());
    if (!source) refuse(at(fmt::format("output \"{}\"", value.name())), "it has no source");
    m_out.outputs.push_back({value.name(), *source});
    Node& probe = newNode("Probe", value.name());
    m_delta.edgesAdded.push_back({*source, {probe.id, 0}});
}

/// Makes frames for modules and lays out all nodes.
void Import::layOut() {
    Graph& graph = m_out.graph;
    graph.apply(fold(graph, m_parameters));
    graph.apply(frameModules(graph));
    nameCalls();
    m_out.stacks = layOutModel(graph, m_parameters, m_out.tensors, m_options.isCancelled);
}

/// The frame around the nodes of a function's call names the function.
void Import::nameCalls() {
    if (m_calls.empty()) return;
    Graph& graph = m_out.graph;
    std::map<FrameId, std::size_t> cards; // inside each frame
    std::map<std::string, std::vector<const Node*>> nodes;
    for (const Node& node : graph.nodes()) {
        if (foldedInto(graph, node)) continue;
        for (const Frame* at = graph.find(node.frame); at; at = graph.find(at->parent)) ++cards[at->id];
        for (std::size_t slash = node.name.find('/'); slash != std::string::npos;
             slash = node.name.find('/', slash + 1))
            if (const std::string prefix = node.name.substr(0, slash); m_calls.contains(prefix))
                nodes[prefix].push_back(&node);
    }
    DeltaBuilder builder(graph, {});
    for (const auto& [prefix, inside] : nodes) {
        const auto holds = [&, &inside = inside](const Frame& frame) {
            return std::ranges::all_of(inside, [&](const Node* node) {
                for (const Frame* at = graph.find(node->frame); at; at = graph.find(at->parent))
                    if (at->id == frame.id) return true;
                return false;
            });
        };
        const Frame* frame = graph.find(inside.front()->frame);
        while (frame && !holds(*frame)) frame = graph.find(frame->parent);
        if (!frame || frame->owner != NodeId::none || cards[frame->id] != inside.size()) continue;
        const std::string& function = m_calls.at(prefix);
        auto opset = m_opsets.end(); // of its domain; both names may have dots
        for (std::size_t dot = function.rfind('.'); dot != std::string::npos && opset == m_opsets.end();
             dot = dot == 0 ? std::string::npos : function.rfind('.', dot - 1))
            opset = m_opsets.find(function.substr(0, dot));
        Frame named = *frame;
        named.body = toString(
            ModuleRef{function, opset == m_opsets.end() ? 1 : std::max<std::int64_t>(1, opset->second)});
        builder.change(named);
    }
    graph.apply(builder.take());
}

} // namespace onnx_import

using namespace onnx_import;

ImportedModel importOnnx(const fs::path& path, const ImportOptions& options) {
    return parseOnnx(readFile(path, INT_MAX), path, options);
}

ImportedModel parseOnnx(std::string_view bytes, const fs::path& path, const ImportOptions& options) {
    return Import(path, options).run(bytes);
}

Tensor readOnnxTensor(const fs::path& path) {
    return tensorFromProto(parse<onnx::TensorProto>(readFile(path, INT_MAX), path), path.parent_path(),
                           path.string());
}

} // namespace twb
