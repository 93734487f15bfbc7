#include "formats/onnx/onnx_sequences.h"

#include "formats/onnx/onnx_importer.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/onnx/onnx_upgrade.h"
#include "graph/known_tensors.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx_import::labelOf;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

constexpr std::int64_t kMostElements = 1000; ///< of a sequence, and iterations of a Loop that is unrolled
constexpr int kMostNodes = 200'000;
constexpr int kMostAsked = 1000; ///< nodes that are imported to learn the condition of an If

/// What a name stands for: a tensor, or the tensors of a sequence or optional.
struct Value {
    enum class Kind : std::uint8_t { tensor, sequence, nothing }; ///< nothing: an optional without element
    Kind kind = Kind::tensor;
    std::vector<std::string> tensors{};

    bool isTensor() const { return kind == Kind::tensor; }
    bool operator==(const Value&) const = default;
};

Value tensorValue(std::string name) { return {Value::Kind::tensor, {std::move(name)}}; }

/// The clause after the node's label.
struct Unresolved : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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

/// Calls each(name) for all tensors that a graph's nodes and results read.
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

/// The element types of a sequence or optional; the kind says which.
const onnx::TypeProto& elementOf(const onnx::TypeProto& type) {
    return type.has_sequence_type()   ? elementOf(type.sequence_type().elem_type())
           : type.has_optional_type() ? elementOf(type.optional_type().elem_type())
                                      : type;
}

bool holdsSequence(const onnx::TypeProto& type) {
    return type.has_sequence_type() ||
           (type.has_optional_type() && type.optional_type().elem_type().has_sequence_type());
}

class Resolver {
public:
    Resolver(const onnx::ModelProto& model, const std::filesystem::path& path, const ImportOptions& options)
        : m_model(model), m_path(path), m_options(options) {}

    GraphProto run() {
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

private:
    /// The names of one graph. The nodes of an inlined body go to the graph around it, under new names.
    struct Scope {
        Nodes* nodes = nullptr;
        std::string prefix{}; ///< empty: names are kept
        std::unordered_map<std::string, Value> values{};
    };

    [[noreturn]] static void fail(const NodeProto& node, const std::string& clause) {
        throw Unresolved(fmt::format("{} {}", labelOf(node), clause));
    }

    /// Names of a sequence's elements.
    std::vector<std::string> elementNames(const std::string& name, std::int64_t count) {
        std::vector<std::string> names;
        for (std::int64_t i = 0; i < count; ++i)
            names.push_back(m_names.fresh(fmt::format("{}[{}]", name, i)));
        return names;
    }

    void addInput(const onnx::ValueInfoProto& value) {
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

    void addOutput(const onnx::ValueInfoProto& value) {
        const Value made = valueOf(value.name());
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

    Value valueOf(const std::string& name) const {
        for (auto scope = m_scopes.rbegin(); scope != m_scopes.rend(); ++scope)
            if (const auto at = scope->values.find(name); at != scope->values.end()) return at->second;
        return tensorValue(name);
    }
    Value input(const NodeProto& node, int index) const {
        if (index >= node.input_size() || node.input(index).empty()) return {Value::Kind::nothing};
        return valueOf(node.input(index));
    }
    std::string tensor(const NodeProto& node, int index) const {
        const Value value = input(node, index);
        if (!value.isTensor())
            fail(node, fmt::format("reads a sequence or an optional as its input {}", index));
        return value.tensors[0];
    }
    Value sequence(const NodeProto& node, int index) const {
        const Value value = input(node, index);
        if (value.kind != Value::Kind::sequence)
            fail(node, fmt::format("needs a sequence as its input {}", index));
        return value;
    }
    void set(const NodeProto& node, int output, Value value) {
        if (output < node.output_size()) m_scopes.back().values[node.output(output)] = std::move(value);
    }

    NodeProto& add(const char* op) {
        if (++m_count > kMostNodes)
            throw Unresolved(
                fmt::format("the model has more than {} nodes without its sequences", kMostNodes));
        NodeProto& node = *m_scopes.back().nodes->Add();
        node.set_op_type(op);
        return node;
    }
    /// The producer of a tensor for queries. Nodes do not move.
    void note(const NodeProto& node) {
        for (const std::string& name : node.output()) m_producers[name] = &node;
    }
    std::string addConstant(const std::string& name, const onnx::TensorProto& value) {
        NodeProto& node = add("Constant");
        node.add_output(name);
        AttributeProto& attribute = *node.add_attribute();
        attribute.set_name("value");
        attribute.set_type(AttributeProto::TENSOR);
        *attribute.mutable_t() = value;
        note(node);
        return name;
    }
    std::string addConstant(const std::string& name, const Tensor& value) {
        return addConstant(name, protoFromTensor(value.view(), ""));
    }
    std::string addAxis(const std::string& base, std::int64_t axis) {
        return addConstant(m_names.fresh(base + "/axes"), Tensor::of<std::int64_t>(Shape{1}, {axis}));
    }

    // --- What is known before the run ---

    struct Known {
        std::optional<TensorType> type{};
        Tensor value{};
    };

    /// Imports the nodes before a tensor and asks what is known about it. Inputs with given tensors have
    /// these values or, with `Inputs::sizes`, only their sizes.
    enum class Inputs : std::uint8_t { values, sizes };
    Known known(const std::string& name, Inputs inputs = Inputs::values) {
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
                    for (const std::int64_t size : given->second.shape())
                        shape.add_dim()->set_dim_value(size);
                }
            options.inputs.clear();
        }
        try {
            const ImportedModel made = onnx_import::Import(m_path, options).run(part.SerializeAsString());
            const auto files = makeMemoryFiles(made.tensors);
            const KnownTensors all(made.graph, files.get(), made.freeAxes);
            if (made.outputs.empty()) return {};
            Known out;
            if (const TensorType* type = all.type(made.outputs[0].from)) out.type = *type;
            if (const Tensor* value = all.value(made.outputs[0].from)) out.value = *value;
            return out;
        } catch (const Error&) {
            return {}; // the import of the whole model reports it
        }
    }

    /// Adds what a tensor is computed from. False if it depends on the state of a Loop or Scan.
    bool addBefore(const std::string& name, GraphProto& part, std::set<std::string>& seen) {
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
        for (const AttributeProto& attribute : node.attribute())
            if (attribute.has_g())
                forNamesIn(attribute.g(),
                           [&](const std::string& other) { (void)addBefore(other, part, seen); });
        *part.add_node() = node;
        return true;
    }

    std::optional<std::vector<std::int64_t>> integers(const std::string& name,
                                                      Inputs inputs = Inputs::values) {
        const Known at = known(name, inputs);
        if (!at.value || holdsFractions(at.value.dtype())) return std::nullopt;
        return at.value.toIntegers();
    }
    std::optional<std::int64_t> integer(const std::string& name, Inputs inputs = Inputs::values) {
        const auto all = integers(name, inputs);
        return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
    }

    /// A position in a sequence, of which negative ones count from the end. `end`: the number of positions.
    std::size_t position(const NodeProto& node, int index, std::int64_t count, std::int64_t end) {
        const std::optional<std::int64_t> given = integer(tensor(node, index));
        if (!given) fail(node, "reads a position that is not known before the run");
        const std::int64_t at = *given < 0 ? *given + count : *given;
        if (at < 0 || at >= end)
            fail(node, fmt::format("reads position {} of a sequence of {}", *given, count));
        return static_cast<std::size_t>(at);
    }

    // --- Ops ---

    void resolve(const Nodes& nodes) {
        for (const NodeProto& node : nodes) resolve(node);
    }

    void resolve(const NodeProto& node) {
        if (!isDefaultDomain(node.domain())) return copy(node);
        const std::string& op = node.op_type();
        if (isSequenceOp(node)) return resolveSequenceOp(node);
        if (op == "If") return resolveIf(node);
        if (op == "Loop") return resolveLoop(node);
        if (op == "Identity" && !input(node, 0).isTensor()) return set(node, 0, input(node, 0));
        copy(node);
    }

    void resolveSequenceOp(const NodeProto& node) {
        const std::string& op = node.op_type();
        if (op == "SequenceEmpty") return set(node, 0, {Value::Kind::sequence});
        if (op == "SequenceConstruct") {
            Value made{Value::Kind::sequence};
            for (int i = 0; i < node.input_size(); ++i) made.tensors.push_back(tensor(node, i));
            return set(node, 0, std::move(made));
        }
        if (op == "SequenceInsert") {
            Value made = sequence(node, 0);
            const auto count = static_cast<std::int64_t>(made.tensors.size());
            if (count >= kMostElements)
                fail(node, fmt::format("makes a sequence of more than {}", kMostElements));
            const std::size_t at =
                input(node, 2).tensors.empty() ? made.tensors.size() : position(node, 2, count, count + 1);
            made.tensors.insert(made.tensors.begin() + static_cast<std::ptrdiff_t>(at), tensor(node, 1));
            return set(node, 0, std::move(made));
        }
        if (op == "SequenceErase") {
            Value made = sequence(node, 0);
            const auto count = static_cast<std::int64_t>(made.tensors.size());
            if (count == 0) fail(node, "erases from an empty sequence");
            const std::size_t at =
                input(node, 1).tensors.empty() ? made.tensors.size() - 1 : position(node, 1, count, count);
            made.tensors.erase(made.tensors.begin() + static_cast<std::ptrdiff_t>(at));
            return set(node, 0, std::move(made));
        }
        if (op == "SequenceAt") {
            const Value made = sequence(node, 0);
            const auto count = static_cast<std::int64_t>(made.tensors.size());
            return set(node, 0, tensorValue(made.tensors[position(node, 1, count, count)]));
        }
        if (op == "SequenceLength")
            return setConstant(node,
                               Tensor::of<std::int64_t>(
                                   Shape{}, {static_cast<std::int64_t>(sequence(node, 0).tensors.size())}));
        if (op == "Optional") return set(node, 0, input(node, 0));
        if (op == "OptionalHasElement")
            return setConstant(node,
                               Tensor::of<bool>(Shape{}, {input(node, 0).kind != Value::Kind::nothing}));
        if (op == "OptionalGetElement") {
            if (input(node, 0).kind == Value::Kind::nothing)
                fail(node, "reads an optional that has no element");
            return set(node, 0, input(node, 0));
        }
        if (op == "SplitToSequence") return split(node);
        if (op == "ConcatFromSequence") return concat(node);
        map(node);
    }

    void setConstant(const NodeProto& node, const Tensor& value) {
        set(node, 0, tensorValue(addConstant(newName(node.output(0)), value)));
    }

    /// A name for an output in the current scope.
    std::string newName(const std::string& name) {
        const std::string& prefix = m_scopes.back().prefix;
        return prefix.empty() ? name : m_names.fresh(prefix + name);
    }

    void split(const NodeProto& node) {
        const std::string from = tensor(node, 0);
        const std::optional<TensorType> type = known(from).type;
        const std::int64_t given = integerOf(node, "axis", 0);
        const auto axis = type ? normalizeAxis(given, type->shape.rank()) : std::nullopt;
        if (!axis || type->shape[*axis] == kUnknownDim)
            fail(node, "splits an axis whose size is not known before the run");
        const std::int64_t size = type->shape[*axis];
        const bool isGiven = !input(node, 1).tensors.empty();
        std::vector<std::int64_t> sizes;
        if (!isGiven) {
            if (size <= kMostElements) sizes.assign(static_cast<std::size_t>(size), 1);
        } else {
            const std::string splitName = tensor(node, 1);
            const Known lengths = known(splitName);
            if (!lengths.value) fail(node, "splits into sizes that are not known before the run");
            sizes = lengths.value.toIntegers();
            if (lengths.value.shape().rank() == 0) {
                const std::int64_t each = sizes[0];
                if (each < 1) fail(node, fmt::format("splits into parts of {}", each));
                sizes.clear();
                if (size / each <= kMostElements)
                    for (std::int64_t left = size; left > 0; left -= each)
                        sizes.push_back(std::min(each, left));
            }
        }
        if (static_cast<std::int64_t>(sizes.size()) > kMostElements || (sizes.empty() && size > 0))
            fail(node, fmt::format("makes a sequence of more than {}", kMostElements));
        const std::string base = newName(node.output(0));
        const bool drops = !isGiven && integerOf(node, "keepdims", 1) == 0;
        Value made{Value::Kind::sequence, elementNames(base, static_cast<std::int64_t>(sizes.size()))};
        if (!sizes.empty()) {
            std::vector<std::string> parts = made.tensors;
            if (drops)
                for (std::string& part : parts) part = m_names.fresh(part + "/kept");
            const std::string lengths =
                addConstant(m_names.fresh(base + "/split"),
                            Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(sizes.size())},
                                                     std::span<const std::int64_t>(sizes)));
            NodeProto& whole = add("Split");
            whole.set_name(node.name());
            whole.add_input(from);
            whole.add_input(lengths);
            for (const std::string& part : parts) whole.add_output(part);
            addAttribute(whole, "axis", *axis);
            note(whole);
            for (std::size_t i = 0; drops && i < parts.size(); ++i)
                changeRank("Squeeze", parts[i], made.tensors[i], *axis);
        }
        set(node, 0, std::move(made));
    }

    void changeRank(const char* op, const std::string& from, const std::string& to, std::int64_t axis) {
        const std::string axes = addAxis(to, axis);
        NodeProto& node = add(op);
        node.add_input(from);
        node.add_input(axes);
        node.add_output(to);
        note(node);
    }

    void concat(const NodeProto& node) {
        const Value parts = sequence(node, 0);
        if (parts.tensors.empty()) fail(node, "joins an empty sequence");
        const std::int64_t axis = integerOf(node, "axis", 0);
        set(node, 0,
            tensorValue(join(parts.tensors, newName(node.output(0)), axis,
                             integerOf(node, "new_axis", 0) != 0, node.name())));
    }

    /// Joins tensors along an axis, or along a new one.
    std::string join(std::vector<std::string> parts, const std::string& to, std::int64_t axis, bool isNew,
                     const std::string& name) {
        if (isNew)
            for (std::string& part : parts) {
                const std::string wide = m_names.fresh(to + "/part");
                changeRank("Unsqueeze", part, wide, axis);
                part = wide;
            }
        NodeProto& whole = add("Concat");
        whole.set_name(name);
        for (const std::string& part : parts) whole.add_input(part);
        whole.add_output(to);
        addAttribute(whole, "axis", axis);
        note(whole);
        return to;
    }

    void map(const NodeProto& node) {
        const AttributeProto* attribute = attributeOf(node, "body");
        if (!attribute || !attribute->has_g()) fail(node, "has no body");
        const std::size_t count = sequence(node, 0).tensors.size();
        std::vector<Value> made(static_cast<std::size_t>(node.output_size()), {Value::Kind::sequence});
        std::vector<Value> given;
        for (int i = 0; i < node.input_size(); ++i) given.push_back(input(node, i));
        for (std::size_t at = 0; at < count; ++at) {
            std::vector<Value> inputs;
            for (const Value& value : given) {
                if (value.kind == Value::Kind::sequence && value.tensors.size() != count)
                    fail(node, fmt::format("maps sequences of {} and {}", count, value.tensors.size()));
                inputs.push_back(value.isTensor() ? value : tensorValue(value.tensors[at]));
            }
            const std::vector<Value> results = inlined(node, attribute->g(), inputs, at);
            for (std::size_t i = 0; i < made.size() && i < results.size(); ++i) {
                if (!results[i].isTensor()) fail(node, "has a body that returns a sequence");
                made[i].tensors.push_back(results[i].tensors[0]);
            }
        }
        for (int i = 0; i < node.output_size(); ++i) set(node, i, made[static_cast<std::size_t>(i)]);
    }

    /// Adds the nodes of a body under new names, and gives its results.
    std::vector<Value> inlined(const NodeProto& owner, const GraphProto& body,
                               const std::vector<Value>& inputs, std::size_t lap) {
        if (m_scopes.size() > kDeepest) fail(owner, "is nested too deeply");
        if (static_cast<std::size_t>(body.input_size()) != inputs.size())
            fail(owner,
                 fmt::format("has a body with {} inputs, but gives it {}", body.input_size(), inputs.size()));
        const std::string name = owner.name().empty() ? owner.output(0) : owner.name();
        Scope scope{m_scopes.back().nodes, fmt::format("{}{}[{}]/", m_scopes.back().prefix, name, lap)};
        for (int i = 0; i < body.input_size(); ++i)
            scope.values[body.input(i).name()] = inputs[static_cast<std::size_t>(i)];
        m_scopes.push_back(std::move(scope));
        for (const auto& tensor : body.initializer()) {
            const std::string made = m_names.fresh(m_scopes.back().prefix + tensor.name());
            addConstant(made, tensor);
            m_scopes.back().values[tensor.name()] = tensorValue(made);
        }
        resolve(body.node());
        std::vector<Value> results;
        for (const auto& output : body.output()) results.push_back(valueOf(output.name()));
        m_scopes.pop_back();
        return results;
    }

    /// A body that stays a body. Its inputs of sequences become inputs of their elements.
    struct Body {
        GraphProto* graph = nullptr;
        std::vector<Value> results{};
    };
    Body kept(const NodeProto& owner, const GraphProto& from, const std::vector<Value>& inputs) {
        if (m_scopes.size() > kDeepest) fail(owner, "is nested too deeply");
        Body body{&m_bodies.emplace_back()};
        body.graph->set_name(from.name());
        *body.graph->mutable_initializer() = from.initializer();
        m_graphs.push_back(body.graph);
        Scope scope{body.graph->mutable_node()};
        for (int i = 0; i < from.input_size(); ++i) {
            const auto& value = from.input(i);
            const auto at = static_cast<std::size_t>(i);
            Value& made = scope.values[value.name()] = tensorValue(value.name());
            if (at < inputs.size() && !inputs[at].isTensor())
                made = {inputs[at].kind,
                        elementNames(value.name(), static_cast<std::int64_t>(inputs[at].tensors.size()))};
            for (const std::string& name : made.tensors) {
                auto& input = *body.graph->add_input();
                input.set_name(name);
                if (made.isTensor()) *input.mutable_type() = elementOf(value.type());
            }
        }
        for (const auto& tensor : from.initializer())
            scope.values[tensor.name()] = tensorValue(tensor.name());
        // Outputs of this graph's nodes hide names around it.
        for (const NodeProto& node : from.node())
            for (const std::string& name : node.output()) scope.values[name] = tensorValue(name);
        m_scopes.push_back(std::move(scope));
        try {
            resolve(from.node());
        } catch (...) {
            m_scopes.pop_back();
            m_graphs.pop_back();
            throw;
        }
        for (const auto& output : from.output()) body.results.push_back(valueOf(output.name()));
        m_scopes.pop_back();
        m_graphs.pop_back();
        return body;
    }
    static void addResults(Body& body) {
        for (const Value& value : body.results)
            for (const std::string& name : value.tensors) body.graph->add_output()->set_name(name);
    }

    /// Whether a body contains sequence ops, or reads sequences.
    bool concerns(const GraphProto& body) const {
        bool reads = hasSequenceOp(body);
        forNamesIn(body, [&](const std::string& name) { reads = reads || !valueOf(name).isTensor(); });
        return reads;
    }

    void resolveIf(const NodeProto& node) {
        const AttributeProto* then = attributeOf(node, "then_branch");
        const AttributeProto* other = attributeOf(node, "else_branch");
        if (!then || !other) fail(node, "has no branches");
        const std::string cond = tensor(node, 0);
        // Without sequences, an If stays one if its condition depends on the data.
        const bool needsBranch = concerns(then->g()) || concerns(other->g());
        if (const std::optional<std::int64_t> taken =
                integer(cond, needsBranch ? Inputs::values : Inputs::sizes)) {
            const std::vector<Value> results = inlined(node, *taken != 0 ? then->g() : other->g(), {}, 0);
            for (int i = 0; i < node.output_size() && i < static_cast<int>(results.size()); ++i)
                set(node, i, results[static_cast<std::size_t>(i)]);
            return;
        }
        Body first = kept(node, then->g(), {});
        Body second = kept(node, other->g(), {});
        std::vector<Value> outputs;
        for (std::size_t i = 0; i < std::min(first.results.size(), second.results.size()); ++i) {
            const Value& a = first.results[i];
            const Value& b = second.results[i];
            if (a.kind != b.kind || a.tensors.size() != b.tensors.size())
                fail(node,
                     "has branches that return different numbers of tensors, and its condition is not known "
                     "before the run");
            outputs.push_back(a);
        }
        addResults(first);
        addResults(second);
        NodeProto& made = addControl(node, outputs);
        made.add_input(cond);
        addBody(made, "then_branch", *first.graph);
        addBody(made, "else_branch", *second.graph);
        note(made);
    }

    static void addBody(NodeProto& node, const char* name, const GraphProto& graph) {
        AttributeProto& attribute = *node.add_attribute();
        attribute.set_name(name);
        attribute.set_type(AttributeProto::GRAPH);
        *attribute.mutable_g() = graph;
    }

    /// An If or Loop with these outputs, of which sequences are several.
    NodeProto& addControl(const NodeProto& from, const std::vector<Value>& outputs) {
        std::vector<std::string> names;
        for (int i = 0; i < from.output_size() && i < static_cast<int>(outputs.size()); ++i) {
            const Value& shape = outputs[static_cast<std::size_t>(i)];
            Value value{shape.kind};
            const std::string name = from.output(i).empty() ? std::string() : newName(from.output(i));
            if (shape.isTensor())
                value.tensors = {name};
            else
                value.tensors = elementNames(name, static_cast<std::int64_t>(shape.tensors.size()));
            names.insert(names.end(), value.tensors.begin(), value.tensors.end());
            set(from, i, std::move(value));
        }
        NodeProto& made = add(from.op_type().c_str());
        made.set_name(from.name().empty() ? std::string() : m_scopes.back().prefix + from.name());
        for (const std::string& name : names) made.add_output(name);
        return made;
    }

    void resolveLoop(const NodeProto& node) {
        const AttributeProto* body = attributeOf(node, "body");
        if (!body || !body->has_g()) fail(node, "has no body");
        std::vector<Value> states;
        for (int i = 2; i < node.input_size(); ++i) states.push_back(input(node, i));
        const bool hasSequences =
            concerns(body->g()) ||
            !std::all_of(states.begin(), states.end(), [](const Value& value) { return value.isTensor(); });
        if (!hasSequences) return keepLoop(node, body->g(), states);
        const std::size_t depth = m_scopes.size();
        try {
            keepLoop(node, body->g(), states);
        } catch (const Unresolved& problem) {
            m_scopes.resize(depth);
            unrollLoop(node, body->g(), std::move(states), problem.what());
        }
    }

    /// A Loop over the elements, whose number stays the same.
    void keepLoop(const NodeProto& node, const GraphProto& from, const std::vector<Value>& states) {
        std::vector<Value> inputs{tensorValue(""), tensorValue("")};
        inputs.insert(inputs.end(), states.begin(), states.end());
        Body body = kept(node, from, inputs);
        for (std::size_t i = 0; i + 1 < body.results.size(); ++i) {
            const Value& result = body.results[i + 1];
            const bool isState = i < states.size();
            if (isState ? result.kind != states[i].kind || result.tensors.size() != states[i].tensors.size()
                        : !result.isTensor())
                fail(node, "changes the length of a sequence");
        }
        addResults(body);
        const std::vector<Value> outputs(body.results.begin() + (body.results.empty() ? 0 : 1),
                                         body.results.end());
        const std::string trips = input(node, 0).tensors.empty() ? std::string() : tensor(node, 0);
        const std::string cond = input(node, 1).tensors.empty() ? std::string() : tensor(node, 1);
        NodeProto& made = addControl(node, outputs);
        made.add_input(trips);
        made.add_input(cond);
        for (const Value& state : states)
            for (const std::string& name : state.tensors) made.add_input(name);
        addBody(made, "body", *body.graph);
        note(made);
    }

    /// The body once for each iteration. `problem`: why the Loop cannot stay one.
    void unrollLoop(const NodeProto& node, const GraphProto& body, std::vector<Value> states,
                    const std::string& problem) {
        std::optional<std::int64_t> trips = kMostElements + 1; // without a number, the condition ends it
        if (!input(node, 0).tensors.empty()) trips = integer(tensor(node, 0));
        std::optional<std::int64_t> cond = 1;
        std::string condName = input(node, 1).tensors.empty() ? std::string() : tensor(node, 1);
        if (!condName.empty()) cond = integer(condName);
        if (!trips || !cond)
            throw Unresolved(
                fmt::format("{}, and the number of its iterations is not known before the run", problem));
        const std::size_t carried = states.size();
        std::vector<std::vector<std::string>> stacks(static_cast<std::size_t>(
            std::max<std::int64_t>(0, body.output_size() - 1 - static_cast<std::int64_t>(carried))));
        const std::string base = newName(node.output_size() > 0 ? node.output(0) : "loop");
        for (std::int64_t i = 0; i < *trips && *cond != 0; ++i) {
            if (i == kMostElements) fail(node, fmt::format("has more than {} iterations", kMostElements));
            const std::string lap = addConstant(m_names.fresh(fmt::format("{}/iteration {}", base, i)),
                                                Tensor::of<std::int64_t>(Shape{}, {i}));
            const std::string isOn = addConstant(m_names.fresh(fmt::format("{}/condition {}", base, i)),
                                                 Tensor::of<bool>(Shape{}, {true}));
            std::vector<Value> inputs{tensorValue(lap), tensorValue(isOn)};
            inputs.insert(inputs.end(), states.begin(), states.end());
            const std::vector<Value> results = inlined(node, body, inputs, static_cast<std::size_t>(i));
            if (results.size() < 1 + carried || !results[0].isTensor())
                fail(node, "has a body with too few results");
            cond = integer(results[0].tensors[0]);
            if (!cond) fail(node, "has a condition that is not known before the run");
            std::copy_n(results.begin() + 1, carried, states.begin());
            for (std::size_t s = 0; s < stacks.size(); ++s) {
                if (!results[1 + carried + s].isTensor()) fail(node, "stacks sequences");
                stacks[s].push_back(results[1 + carried + s].tensors[0]);
            }
        }
        for (std::size_t i = 0; i < carried; ++i) set(node, static_cast<int>(i), states[i]);
        for (std::size_t s = 0; s < stacks.size(); ++s) {
            const auto port = static_cast<int>(carried + s);
            if (port >= node.output_size() || node.output(port).empty()) continue;
            if (stacks[s].empty()) fail(node, "stacks no results");
            set(node, port, tensorValue(join(stacks[s], newName(node.output(port)), 0, true, {})));
        }
    }

    /// A node on tensors. Bodies inside it may use sequences.
    void copy(const NodeProto& node) {
        std::vector<std::string> inputs;
        for (int i = 0; i < node.input_size(); ++i)
            inputs.push_back(node.input(i).empty() ? std::string() : tensor(node, i));
        std::vector<GraphProto*> bodies;
        for (const AttributeProto& attribute : node.attribute()) {
            if (!attribute.has_g()) continue;
            Body body = kept(node, attribute.g(), {});
            for (const Value& value : body.results)
                if (!value.isTensor()) fail(node, "has a body that returns a sequence");
            addResults(body);
            bodies.push_back(body.graph);
        }
        NodeProto& made = add(node.op_type().c_str());
        made = node;
        if (!node.name().empty()) made.set_name(m_scopes.back().prefix + node.name());
        made.clear_input();
        made.clear_output();
        for (const std::string& name : inputs) made.add_input(name);
        for (const std::string& name : node.output()) {
            const std::string to = name.empty() ? std::string() : newName(name);
            made.add_output(to);
            if (!name.empty()) m_scopes.back().values[name] = tensorValue(to);
        }
        std::size_t next = 0;
        for (AttributeProto& attribute : *made.mutable_attribute())
            if (attribute.has_g()) *attribute.mutable_g() = *bodies[next++];
        note(made);
    }

    static constexpr std::size_t kDeepest = 64;

    const onnx::ModelProto& m_model;
    const std::filesystem::path& m_path;
    const ImportOptions& m_options;
    GraphProto m_graph;
    std::vector<Scope> m_scopes;
    std::deque<GraphProto> m_bodies; ///< kept to the end, since m_producers points into them
    std::vector<const GraphProto*> m_graphs{&m_graph}; ///< those around the current node
    std::unordered_map<std::string, const NodeProto*> m_producers;
    ValueNames m_names;
    int m_count = 0;
};

} // namespace

std::string resolveSequences(onnx::ModelProto& model, const std::filesystem::path& path,
                             const ImportOptions& options) {
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
