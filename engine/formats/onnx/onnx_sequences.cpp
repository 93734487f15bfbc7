#include "formats/onnx/onnx_sequences.h"

#include "formats/onnx/onnx_sequence_resolver.h"
#include "graph/known_tensors.h"
#include "placement/analysis.h"

#include <algorithm>

namespace twb {
namespace onnx_sequences {
namespace {

constexpr int kMostNodes = 200'000;
constexpr int kMostAsked = 1000; ///< nodes that are imported to learn the condition of an If

bool hasIf(const GraphProto& graph) {
    return std::any_of(graph.node().begin(), graph.node().end(), [](const NodeProto& node) {
        return (isDefaultDomain(node.domain()) && node.op_type() == "If") ||
               std::any_of(node.attribute().begin(), node.attribute().end(),
                           [](const AttributeProto& a) { return a.has_g() && hasIf(a.g()); });
    });
}

bool hasSequence(const GraphProto& graph) {
    return hasSequenceOp(graph) ||
           std::any_of(graph.input().begin(), graph.input().end(), [](const onnx::ValueInfoProto& value) {
               return value.type().has_sequence_type() || value.type().has_optional_type();
           });
}

/// The dtype and number of axes of the first output, which may come from a body; nothing if they are not
/// known.
std::optional<TensorType> withoutSizes(const ImportedModel& model, const TensorFiles* files) {
    const Analysis analysis = analyze(model.graph, DeviceMap{}, Policy::strict, files);
    std::optional<TensorType> type = analysis.typeOf(model.outputs[0].from);
    for (int axis = 0; type && axis < type->shape.rank(); ++axis) type->shape[axis] = kUnknownDim;
    return type;
}

/// The names of all tensors that a body and the bodies inside it define.
void addNamesMadeIn(const GraphProto& graph, std::set<std::string>& names) {
    for (const auto& input : graph.input()) names.insert(input.name());
    for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
    for (const NodeProto& node : graph.node()) {
        names.insert(node.output().begin(), node.output().end());
        for (const AttributeProto& attribute : node.attribute())
            if (attribute.has_g()) addNamesMadeIn(attribute.g(), names);
    }
}

bool holdsSequence(const onnx::TypeProto& type) {
    return type.has_sequence_type() ||
           (type.has_optional_type() && type.optional_type().elem_type().has_sequence_type());
}

} // namespace

bool isSequenceOp(const NodeProto& node) {
    static const std::set<std::string> kOps{"SequenceEmpty",      "SequenceConstruct", "SequenceInsert",
                                            "SequenceErase",      "SequenceAt",        "SequenceLength",
                                            "ConcatFromSequence", "SequenceMap",       "Optional",
                                            "OptionalHasElement", "SplitToSequence",   "OptionalGetElement"};
    return isDefaultDomain(node.domain()) && kOps.contains(node.op_type());
}

bool hasSequenceOp(const GraphProto& graph) {
    return std::any_of(graph.node().begin(), graph.node().end(), [](const NodeProto& node) {
        return isSequenceOp(node) ||
               std::any_of(node.attribute().begin(), node.attribute().end(),
                           [](const AttributeProto& a) { return a.has_g() && hasSequenceOp(a.g()); });
    });
}

void forNamesIn(const GraphProto& graph, const std::function<void(const std::string&)>& each) {
    for (const NodeProto& node : graph.node()) {
        for (const std::string& name : node.input()) each(name);
        for (const AttributeProto& attribute : node.attribute())
            if (attribute.has_g()) forNamesIn(attribute.g(), each);
    }
    for (const auto& output : graph.output()) each(output.name());
}

AttributeProto& addAttribute(NodeProto& node, const char* name, std::int64_t value) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
    return attribute;
}

std::int64_t integerOf(const NodeProto& node, const char* name, std::int64_t otherwise) {
    const AttributeProto* attribute = attributeOf(node, name);
    return attribute ? attribute->i() : otherwise;
}

const onnx::TypeProto& elementOf(const onnx::TypeProto& type) {
    return type.has_sequence_type()   ? elementOf(type.sequence_type().elem_type())
           : type.has_optional_type() ? elementOf(type.optional_type().elem_type())
                                      : type;
}

GraphProto Resolver::run() {
    const GraphProto& from = m_model.graph();
    m_names.take(from);
    m_graph.set_name(from.name());
    *m_graph.mutable_initializer() = from.initializer();
    *m_graph.mutable_sparse_initializer() = from.sparse_initializer();
    for (const auto& value : from.value_info())
        if (value.type().has_tensor_type()) *m_graph.add_value_info() = value;
    m_scopes.push_back({m_graph.mutable_node()});
    for (const auto& value : from.input()) addInput(value);
    resolve(from.node());
    for (const auto& value : from.output()) addOutput(value);
    return std::move(m_graph);
}

std::vector<std::string> Resolver::elementNames(const std::string& name, std::int64_t count) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < count; ++i) names.push_back(m_names.fresh(fmt::format("{}[{}]", name, i)));
    return names;
}

void Resolver::addInput(const onnx::ValueInfoProto& value) {
    if (!value.type().has_sequence_type() && !value.type().has_optional_type()) {
        *m_graph.add_input() = value;
        return;
    }
    const bool isSequence = holdsSequence(value.type());
    const auto given = m_options.dimensions.find(value.name());
    const std::int64_t count = given == m_options.dimensions.end() ? 1 : given->second;
    if (count < 0 || count > (isSequence ? kMostElements : 1))
        throw Unresolved(fmt::format("input \"{}\" cannot have {} elements", value.name(), count));
    const bool isOptional = value.type().has_optional_type();
    Value& made = m_scopes.back().values[value.name()];
    if (isOptional && count == 0)
        made = {Value::Kind::nothing};
    else if (isSequence)
        made = {Value::Kind::sequence, elementNames(value.name(), count)};
    else
        made = tensorValue(value.name());
    for (const std::string& name : made.tensors) {
        auto& input = *m_graph.add_input();
        input.set_name(name);
        *input.mutable_type() = elementOf(value.type());
    }
}

void Resolver::addOutput(const onnx::ValueInfoProto& value) {
    const Value made = valueOf(value.name());
    if (made.kind == Value::Kind::stack)
        throw Unresolved(fmt::format(
            "the length of the output \"{}\", a sequence, is not known before the run", value.name()));
    for (std::size_t i = 0; i < made.tensors.size(); ++i) {
        const std::string name = made.isTensor() ? value.name() : fmt::format("{}[{}]", value.name(), i);
        if (name != made.tensors[i]) {
            NodeProto& identity = add("Identity");
            identity.add_input(made.tensors[i]);
            identity.add_output(name);
        }
        auto& output = *m_graph.add_output();
        output.set_name(name);
        *output.mutable_type() = elementOf(value.type());
    }
}

NodeProto& Resolver::add(const char* op) {
    if (++m_count > kMostNodes)
        throw Unresolved(fmt::format("the model has more than {} nodes without its sequences", kMostNodes));
    NodeProto& node = *m_scopes.back().nodes->Add();
    node.set_op_type(op);
    return node;
}

Resolver::Known Resolver::known(const std::string& name, Inputs inputs) {
    onnx::ModelProto part;
    *part.mutable_opset_import() = m_model.opset_import();
    for (auto& import : *part.mutable_opset_import())
        if (isDefaultDomain(import.domain())) import.set_version(kOnnxOpset);
    std::set<std::string> seen;
    if (!addBefore(name, *part.mutable_graph(), seen)) return {};
    part.mutable_graph()->add_output()->set_name(name);
    ImportOptions options = m_options;
    if (inputs == Inputs::sizes) {
        if (part.graph().node_size() > kMostAsked) return {};
        for (auto& input : *part.mutable_graph()->mutable_input())
            if (const auto given = options.inputs.find(input.name()); given != options.inputs.end()) {
                auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
                shape.Clear();
                for (const std::int64_t size : given->second.shape()) shape.add_dim()->set_dim_value(size);
            }
        options.inputs.clear();
    }
    try {
        const ImportedModel made = onnx_import::Import(m_path, options).run(part.SerializeAsString());
        const auto files = makeMemoryFiles(made.tensors);
        const KnownTensors all(made.graph, files.get(), made.freeAxes);
        if (made.outputs.empty()) return {};
        Known out;
        if (const TensorType* type = all.type(made.outputs[0].from))
            out.type = *type;
        else
            out.type = withoutSizes(made, files.get());
        if (const Tensor* value = all.value(made.outputs[0].from)) out.value = *value;
        return out;
    } catch (const Error&) {
        return {}; // the import of the whole model reports it
    }
}

bool Resolver::addBefore(const std::string& name, GraphProto& part, std::set<std::string>& seen) {
    if (name.empty() || !seen.insert(name).second) return true;
    for (const GraphProto* graph : m_graphs)
        for (const auto& tensor : graph->initializer())
            if (tensor.name() == name) {
                *part.add_initializer() = tensor;
                return true;
            }
    for (const auto& value : m_graph.input())
        if (value.name() == name) {
            *part.add_input() = value;
            return true;
        }
    const auto producer = m_producers.find(name);
    if (producer == m_producers.end()) return false;
    const NodeProto& node = *producer->second;
    for (const std::string& other : node.output()) seen.insert(other);
    for (const std::string& other : node.input())
        if (!addBefore(other, part, seen)) return false;
    for (const AttributeProto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        std::set<std::string> own;
        addNamesMadeIn(attribute.g(), own);
        forNamesIn(attribute.g(), [&](const std::string& other) {
            if (!own.contains(other)) (void)addBefore(other, part, seen);
        });
    }
    *part.add_node() = node;
    return true;
}

std::optional<std::vector<std::int64_t>> Resolver::integers(const std::string& name, Inputs inputs) {
    const Known at = known(name, inputs);
    if (!at.value || holdsFractions(at.value.dtype())) return std::nullopt;
    return at.value.toIntegers();
}

std::size_t Resolver::position(const NodeProto& node, int index, std::int64_t count, std::int64_t end) {
    const std::optional<std::int64_t> given = integer(tensor(node, index));
    if (!given) fail(node, "reads a position that is not known before the run");
    const std::int64_t at = *given < 0 ? *given + count : *given;
    if (at < 0 || at >= end) fail(node, fmt::format("reads position {} of a sequence of {}", *given, count));
    return static_cast<std::size_t>(at);
}

void Resolver::resolve(const Nodes& nodes) {
    for (const NodeProto& node : nodes) resolve(node);
}

void Resolver::resolve(const NodeProto& node) {
    if (!isDefaultDomain(node.domain())) return copy(node);
    const std::string& op = node.op_type();
    if (isSequenceOp(node)) return resolveSequenceOp(node);
    if (op == "If") return resolveIf(node);
    if (op == "Loop") return resolveLoop(node);
    if (op == "Identity" && !input(node, 0).isTensor()) return set(node, 0, input(node, 0));
    copy(node);
}

} // namespace onnx_sequences

std::string resolveSequences(onnx::ModelProto& model, const std::filesystem::path& path,
                             const ImportOptions& options) {
    using namespace onnx_sequences;
    const bool isNeeded = hasSequence(model.graph());
    if (!isNeeded && !hasIf(model.graph())) return {};
    try {
        GraphProto resolved = Resolver(model, path, options).run();
        model.mutable_graph()->Swap(&resolved);
    } catch (const Unresolved& problem) {
        if (isNeeded) return problem.what();
    }
    return {};
}

} // namespace twb
