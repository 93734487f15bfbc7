#include "formats/onnx/onnx_functions.h"

#include "core/error.h"
#include "formats/onnx/onnx_flex_attention.h"
#include "formats/onnx/onnx_nodes.h"
#include "formats/onnx/onnx_upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <google/protobuf/unknown_field_set.h>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using Names = std::unordered_map<std::string, std::string>;

constexpr int kDeepestCalls = 64;
constexpr std::size_t kMostNodes = 200'000;
/// FunctionProto.attribute_proto, which the installed ONNX library does not know yet.
constexpr int kAttributeDefaults = 11;

class Inliner {
public:
    Inliner(onnx::ModelProto& model, const std::filesystem::path& path) : m_path(path) {
        for (FunctionProto& function : *model.mutable_functions()) {
            Function& known = m_functions[{function.domain(), function.name()}];
            if (known.proto)
                refuse(
                    fmt::format("it has two functions \"{}\" of domain \"{}\"; overloads are not supported",
                                function.name(), function.domain()));
            known = {&function, defaultsOf(function)};
            known.isOfModel = true;
            upgrade(function);
        }
        m_valueNames.take(model.graph());
        takeTypes(model.graph());
    }

    void expand(Nodes& nodes, int depth) {
        if (depth > kDeepestCalls)
            refuse(
                fmt::format("its functions are recursive, or nested deeper than {} levels", kDeepestCalls));
        Nodes out;
        for (NodeProto& node : nodes) {
            for (AttributeProto& attribute : *node.mutable_attribute())
                if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node(), depth + 1);
            if (isFlexAttention(node)) callFlexAttention(node);
            const auto function = m_functions.find({node.domain(), node.op_type()});
            if (function == m_functions.end()) {
                if (++m_count > kMostNodes)
                    refuse(fmt::format("its functions expand to more than {} nodes", kMostNodes));
                *out.Add() = std::move(node);
                continue;
            }
            Nodes body = instantiate(node, function->second);
            expand(body, depth + 1);
            for (NodeProto& inside : body) *out.Add() = std::move(inside);
        }
        nodes.Swap(&out);
    }

    std::map<std::string, std::string> takeCalls() { return std::move(m_called); }

private:
    struct Function {
        const FunctionProto* proto = nullptr;
        std::map<std::string, AttributeProto> defaults{};
        bool isOfModel = false;
    };

    [[noreturn]] void refuse(const std::string& problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_path.string(), problem));
    }

    std::map<std::string, AttributeProto> defaultsOf(const FunctionProto& function) const {
        std::map<std::string, AttributeProto> out;
        try {
            for (AttributeProto& attribute : onnxAttributeDefaults(function))
                out[attribute.name()] = std::move(attribute);
        } catch (const Error& error) {
            refuse(error.what());
        }
        return out;
    }

    static void upgrade(FunctionProto& function) {
        for (const auto& import : function.opset_import()) {
            if (!isDefaultDomain(import.domain())) continue;
            onnx::GraphProto graph;
            graph.mutable_node()->Swap(function.mutable_node());
            upgradeNodes(graph, import.version());
            for (const onnx::TensorProto& tensor : graph.initializer()) { // a function cannot have them
                NodeProto& constant = *function.add_node();
                constant.set_op_type("Constant");
                constant.add_output(tensor.name());
                AttributeProto& value = *constant.add_attribute();
                value.set_name("value");
                value.set_type(AttributeProto::TENSOR);
                *value.mutable_t() = tensor;
            }
            for (NodeProto& node : *graph.mutable_node()) *function.add_node() = std::move(node);
        }
    }

    /// Turns the node into a call of a function that computes it.
    void callFlexAttention(NodeProto& node) {
        const std::string domain = "FlexAttention";
        if (node.name().empty()) node.set_name(fmt::format("{}_{}", node.op_type(), ++m_calls));
        const auto type = m_types.find(node.input_size() > 0 ? node.input(0) : std::string());
        for (FunctionProto& made :
             flexAttentionFunctions(node, domain, fmt::format("_{}", ++m_calls),
                                    type == m_types.end() ? std::nullopt : std::optional(type->second))) {
            const FunctionProto& kept = m_made.emplace_back(std::move(made));
            m_functions[{domain, kept.name()}] = {&kept};
            if (kept.name().starts_with(node.op_type())) node.set_op_type(kept.name());
        }
        node.set_domain(domain);
        node.clear_attribute();
    }

    void takeTypes(const onnx::GraphProto& graph) {
        for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
            for (const auto& value : *values)
                if (value.type().has_tensor_type())
                    m_types[value.name()] = value.type().tensor_type().elem_type();
        for (const auto& tensor : graph.initializer()) m_types[tensor.name()] = tensor.data_type();
        for (const NodeProto& node : graph.node())
            for (const AttributeProto& attribute : node.attribute())
                if (attribute.has_g()) takeTypes(attribute.g());
    }

    /// The nodes of a function with the names, inputs, outputs and attributes of one call.
    Nodes instantiate(const NodeProto& call, const Function& function) {
        const FunctionProto& proto = *function.proto;
        if (call.input_size() > proto.input_size() || call.output_size() > proto.output_size())
            refuse(fmt::format(
                "node \"{}\" calls function \"{}\" with more inputs or outputs than the function has",
                call.name(), proto.name()));
        const std::string prefix =
            call.name().empty() ? fmt::format("{}_{}", proto.name(), ++m_calls) : call.name();
        if (function.isOfModel) m_called[prefix] = fullNameOf(proto);
        Nodes out;
        Names names;
        for (int i = 0; i < proto.input_size(); ++i)
            names[proto.input(i)] = i < call.input_size() ? call.input(i) : std::string();
        for (int i = 0; i < proto.output_size(); ++i) {
            const bool wanted = i < call.output_size() && !call.output(i).empty();
            if (const auto passed = names.find(proto.output(i)); passed != names.end()) {
                if (!wanted) continue;
                NodeProto& identity = *out.Add(); // for an input that is returned, or a repeated output
                identity.set_op_type("Identity");
                identity.set_name(prefix + "/Identity");
                identity.add_input(passed->second);
                identity.add_output(call.output(i));
                continue;
            }
            names[proto.output(i)] =
                wanted ? call.output(i) : m_valueNames.fresh(prefix + "/" + proto.output(i));
        }
        for (const NodeProto& node : proto.node())
            for (const std::string& name : node.output())
                if (!name.empty() && !names.contains(name))
                    names[name] = m_valueNames.fresh(prefix + "/" + name);
        for (const NodeProto& node : proto.node()) {
            NodeProto& copy = *out.Add() = node;
            copy.set_name(fmt::format("{}/{}", prefix, node.name().empty() ? node.op_type() : node.name()));
            bind(copy, names, call, function);
        }
        return out;
    }

    void bind(NodeProto& node, const Names& names, const NodeProto& call, const Function& function) const {
        const auto rename = [&](std::string& name) {
            if (const auto at = names.find(name); at != names.end()) name = at->second;
        };
        for (std::string& name : *node.mutable_input()) rename(name);
        for (std::string& name : *node.mutable_output()) rename(name);
        for (int i = node.attribute_size() - 1; i >= 0; --i) {
            AttributeProto& attribute = *node.mutable_attribute(i);
            if (attribute.has_g()) {
                onnx::GraphProto& graph = *attribute.mutable_g();
                for (NodeProto& inside : *graph.mutable_node()) bind(inside, names, call, function);
                for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
            }
            if (attribute.ref_attr_name().empty()) continue;
            const AttributeProto* given = attributeOf(call, attribute.ref_attr_name());
            if (const auto usual = function.defaults.find(attribute.ref_attr_name());
                !given && usual != function.defaults.end())
                given = &usual->second;
            if (!given) { // then the op's own default applies
                node.mutable_attribute()->DeleteSubrange(i, 1);
                continue;
            }
            const std::string name = attribute.name();
            attribute = *given;
            attribute.set_name(name);
        }
    }

    const std::filesystem::path& m_path;
    std::map<std::pair<std::string, std::string>, Function> m_functions; ///< by domain and name
    std::deque<FunctionProto> m_made;                                    ///< in place of FlexAttention
    std::unordered_map<std::string, std::int32_t> m_types; ///< ONNX's codes of known dtypes, by tensor
    std::map<std::string, std::string> m_called;           ///< by the prefix: the function's full name
    ValueNames m_valueNames;
    std::size_t m_count = 0;
    int m_calls = 0;
};

bool hasFlexAttention(const Nodes& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](const NodeProto& node) {
        return isFlexAttention(node) ||
               std::any_of(node.attribute().begin(), node.attribute().end(),
                           [](const AttributeProto& a) { return hasFlexAttention(a.g().node()); });
    });
}

} // namespace

std::map<std::string, std::string> inlineFunctions(onnx::ModelProto& model,
                                                   const std::filesystem::path& path) {
    if (model.functions_size() == 0 && !hasFlexAttention(model.graph().node())) return {};
    Inliner inliner(model, path);
    inliner.expand(*model.mutable_graph()->mutable_node(), 0);
    return inliner.takeCalls();
}

std::string fullNameOf(const FunctionProto& function) {
    return function.domain().empty() ? function.name()
                                     : fmt::format("{}.{}", function.domain(), function.name());
}

std::vector<AttributeProto> onnxAttributeDefaults(const FunctionProto& function) {
    std::vector<AttributeProto> out;
    const auto& unknown = FunctionProto::GetReflection()->GetUnknownFields(function);
    for (int i = 0; i < unknown.field_count(); ++i) {
        const google::protobuf::UnknownField& field = unknown.field(i);
        if (field.number() != kAttributeDefaults) continue;
        AttributeProto attribute;
        const bool isText = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
        if (!isText || !attribute.ParseFromString(field.length_delimited()))
            throw Error(ErrorCode::badFile,
                        fmt::format("function \"{}\" has a default that does not parse", function.name()));
        out.push_back(std::move(attribute));
    }
    return out;
}

} // namespace twb
