#include "formats/onnx/onnx_function_ops.h"

#include "core/error.h"
#include "formats/onnx/onnx_functions.h"
#include "formats/onnx/onnx_model.h"
#include "formats/onnx/onnx_nodes.h"
#include "formats/project.h"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace twb {
namespace {

namespace fs = std::filesystem;
using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::ModelProto;
using onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

constexpr std::uint64_t kLargestModel = std::uint64_t{1} << 30;

template <class Use> void forEachNode(const Nodes& nodes, const Use& use) {
    for (const NodeProto& node : nodes) {
        use(node);
        for (const AttributeProto& attribute : node.attribute())
            if (attribute.has_g()) forEachNode(attribute.g().node(), use);
    }
}

/// The same kind of value, but another one.
AttributeProto changed(AttributeProto attribute) {
    switch (attribute.type()) {
    case AttributeProto::INT:
        attribute.set_i(attribute.i() == 1 ? 0 : attribute.i() + 1); // a flag is 0 or 1
        break;
    case AttributeProto::FLOAT:
        attribute.set_f(attribute.f() * 0.5F + 1.0F == attribute.f() ? 0.0F : attribute.f() * 0.5F + 1.0F);
        break;
    case AttributeProto::STRING:
        attribute.set_s(attribute.s() + "'");
        break;
    case AttributeProto::INTS:
        attribute.add_ints(1);
        break;
    case AttributeProto::FLOATS:
        attribute.add_floats(1);
        break;
    case AttributeProto::STRINGS:
        attribute.add_strings("'");
        break;
    default:
        break;
    }
    return attribute;
}

/// Makes a module op of one function of a model.
class FunctionOp {
public:
    FunctionOp(const ModelProto& model, const FunctionProto& function, const fs::path& file)
        : m_model(model), m_function(function), m_file(file) {}

    ModuleOp make() {
        const ImportedModel plain = importBody(nullptr);
        for (const auto& [path, tensor] : plain.tensors)
            throw Error(ErrorCode::badFile,
                        fmt::format("it contains a tensor of {} elements; a module can contain only small "
                                    "constants, so make the tensor an input of the function",
                                    tensor.elementCount()));
        ModuleOp op;
        op.name = fullNameOf(m_function);
        op.version = versionOf(m_function.domain());
        op.file = m_file;
        takeContents(op, plain.graph);
        const std::size_t count = op.fragment.nodes.size();
        op.doc = m_function.doc_string();
        if (const std::size_t line = op.doc.find('\n'); line != std::string::npos) op.doc.resize(line);
        if (op.doc.empty()) op.doc = fmt::format("ONNX function of {} node{}", count, count == 1 ? "" : "s");
        takeAttributes(op, plain.graph);
        frameFragment(op);
        return op;
    }

private:
    std::int64_t versionOf(const std::string& domain) const {
        for (const auto& import : m_model.opset_import())
            if (import.domain() == domain) return std::max<std::int64_t>(1, import.version());
        return 1;
    }

    /// A model whose graph is a call of the function without its attributes' values, or with one value.
    ImportedModel importBody(const AttributeProto* given) const {
        ModelProto model;
        model.set_ir_version(m_model.ir_version());
        *model.mutable_opset_import() = m_model.opset_import();
        addCalled(model, m_function);
        onnx::GraphProto& graph = *model.mutable_graph();
        graph.set_name(m_function.name());
        NodeProto& call = *graph.add_node();
        call.set_domain(m_function.domain());
        call.set_op_type(m_function.name());
        call.set_name(std::string(kCall));
        for (const std::string& name : m_function.input()) {
            onnx::ValueInfoProto& input = *graph.add_input();
            input.set_name(name);
            input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
            call.add_input(name);
        }
        for (const std::string& name : m_function.output()) {
            // A value of the model has one source.
            const bool isInput = std::ranges::find(m_function.input(), name) != m_function.input().end();
            const std::string fresh = isInput ? name + "'" : name;
            graph.add_output()->set_name(fresh);
            call.add_output(fresh);
        }
        if (given) *call.add_attribute() = *given;
        return parseOnnx(model.SerializeAsString(), m_file, {});
    }

    /// With the functions that it calls.
    void addCalled(ModelProto& model, const FunctionProto& function) const {
        const auto isSame = [](const FunctionProto& a, const std::string& domain, const std::string& name) {
            return a.domain() == domain && a.name() == name;
        };
        for (const FunctionProto& known : model.functions())
            if (isSame(known, function.domain(), function.name())) return;
        *model.add_functions() = function;
        forEachNode(function.node(), [&](const NodeProto& node) {
            for (const FunctionProto& other : m_model.functions())
                if (isSame(other, node.domain(), node.op_type())) addCalled(model, other);
        });
    }

    /// The nodes without the Inputs and Probes of the model around them.
    void takeContents(ModuleOp& op, const Graph& graph) {
        const auto count = [&](std::string_view name) {
            return std::ranges::count(graph.nodes(), name, &Node::op);
        };
        if (count("Probe") != m_function.output_size() || count("Input") > m_function.input_size())
            throw Error(ErrorCode::unsupported,
                        fmt::format("the function {} has a node with the op Probe or Input, which ONNX does "
                                    "not have",
                                    m_function.name()));
        std::set<NodeId> outside;
        std::set<NodeId> passed; // inputs that several nodes read: an Identity gives them one port
        for (const Node& node : graph.nodes()) {
            if (node.op == "Probe") outside.insert(node.id);
            if (node.op != "Input") continue;
            const std::vector<Edge>& readers = graph.outgoing(node.id);
            const Node* first = readers.empty() ? nullptr : graph.find(readers.front().to.node);
            const Frame* frame = first ? graph.find(first->frame) : nullptr;
            const bool isInBody = frame && frame->owner != NodeId::none;
            if (readers.size() > 1 || (first && (first->op == "Probe" || isInBody)))
                passed.insert(node.id);
            else
                outside.insert(node.id);
        }
        std::vector<NodeId> kept;
        for (const Node& node : graph.nodes())
            if (!outside.contains(node.id)) kept.push_back(node.id);
        op.fragment = copyOf(graph, kept);
        op.fragment.lanes.clear();
        op.fragment.routes.clear();
        FrameId body = FrameId::none; // around the nodes of the call, unless it is a single card
        for (Frame& frame : op.fragment.frames)
            if (frame.parent == FrameId::none && frame.owner == NodeId::none && frame.title == kCall) {
                body = frame.id;
                frame.title = m_function.name();
                frame.collapsed = false;
            }
        Position corner{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
        for (Node& node : op.fragment.nodes) {
            if (passed.contains(node.id)) {
                node.op = "Identity";
                node.attributes = {};
            }
            node.lane = LaneId::none;
            if (node.frame == FrameId::none) node.frame = body;
            if (node.name.starts_with(kPrefix)) node.name.erase(0, kPrefix.size());
            if (!node.folded)
                corner = {std::min(corner.x, node.position.x), std::min(corner.y, node.position.y)};
        }
        for (Node& node : op.fragment.nodes)
            node.position = {std::max(0.0, node.position.x - corner.x),
                             std::max(0.0, node.position.y - corner.y)};
        for (const std::string& name : m_function.input())
            for (const Node& node : graph.nodes()) {
                if (node.op != "Input" || node.name != name) continue;
                if (passed.contains(node.id))
                    op.inputs.push_back({name, {node.id, 0}});
                else if (!graph.outgoing(node.id).empty())
                    op.inputs.push_back({name, graph.outgoing(node.id).front().to});
            }
        int output = 0;
        for (const Node& node : graph.nodes())
            if (node.op == "Probe")
                op.outputs.push_back({m_function.output(output++), *graph.sourceOf({node.id, 0})});
    }

    /// Attributes of nodes belong to an attribute of the function if they change with its value.
    void takeAttributes(ModuleOp& op, const Graph& plain) const {
        for (const AttributeProto& usual : attributesOf()) {
            ModuleOp::Attribute attribute{usual.name(), {}, {}};
            ImportedModel other;
            try {
                const AttributeProto value = changed(usual);
                other = importBody(&value);
            } catch (const Error&) {
                continue; // the value determines the structure
            }
            bool isSame = other.graph.nodes().size() == plain.nodes().size();
            for (const Node& node : other.graph.nodes()) {
                const Node* before = plain.find(node.id);
                isSame = isSame && before && before->op == node.op;
                if (!isSame) break;
                for (const auto& [name, value] : node.attributes) {
                    // A Constant without a default has no dtype and shape either.
                    if (node.op == "Constant" && name != "value") continue;
                    const AttributeValue* was = before->attributes.find(name);
                    if (!was || *was != value) attribute.sets.push_back({node.id, name});
                }
            }
            if (isSame && !attribute.sets.empty() && specOf(op, attribute))
                op.attributes.push_back(std::move(attribute));
        }
    }

    /// The function's attributes with their defaults; without a default, with any value of their kind.
    std::vector<AttributeProto> attributesOf() const {
        std::vector<AttributeProto> out = onnxAttributeDefaults(m_function);
        for (const std::string& name : m_function.attribute()) {
            if (std::ranges::any_of(out, [&](const auto& known) { return known.name() == name; })) continue;
            forEachNode(m_function.node(), [&](const NodeProto& node) {
                for (const AttributeProto& attribute : node.attribute()) {
                    if (attribute.ref_attr_name() != name) continue;
                    if (std::ranges::any_of(out, [&](const auto& known) { return known.name() == name; }))
                        return;
                    AttributeProto any;
                    any.set_name(name);
                    any.set_type(attribute.type());
                    out.push_back(std::move(any));
                }
            });
        }
        return out;
    }

    static constexpr std::string_view kCall = "call";
    static constexpr std::string_view kPrefix = "call/"; ///< of the names of its nodes

    const ModelProto& m_model;
    const FunctionProto& m_function;
    const fs::path& m_file;
};

} // namespace

ModuleOps onnxFunctionOps(const fs::path& file) {
    ModuleOps out;
    ModelProto model;
    if (!model.ParseFromString(readFile(file, kLargestModel)))
        throw Error(ErrorCode::badFile, "not an ONNX file, or the file is damaged");
    for (const FunctionProto& function : model.functions()) {
        try {
            out.ops.push_back(FunctionOp(model, function, file).make());
        } catch (const Error& error) {
            out.problems.push_back({file, fmt::format("its function {}: {}", function.name(), error.what())});
        }
    }
    return out;
}

} // namespace twb
