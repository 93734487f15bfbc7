#pragma once

#include "formats/onnx/onnx_importer.h"
#include "formats/onnx/onnx_tensor.h"
#include "formats/onnx/onnx_upgrade.h"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb::onnx_sequences {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx_import::labelOf;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

constexpr std::int64_t kMostElements = 1000; ///< of a sequence, and iterations of a Loop that is unrolled

/// What a name stands for: a tensor, or the tensors of a sequence or optional.
struct Value {
    enum class Kind : std::uint8_t {
        tensor,
        sequence,
        stack,   ///< a sequence whose length the run decides: one tensor, with the elements along its first
                 ///< axis
        nothing, ///< an optional without element
    };
    Kind kind = Kind::tensor;
    std::vector<std::string> tensors{};

    bool isTensor() const { return kind == Kind::tensor; }
    bool operator==(const Value&) const = default;
};

inline Value tensorValue(std::string name) { return {Value::Kind::tensor, {std::move(name)}}; }

/// The clause after the node's label.
struct Unresolved : std::runtime_error {
    using std::runtime_error::runtime_error;
};

bool isSequenceOp(const NodeProto& node);
bool hasSequenceOp(const GraphProto& graph);
/// Calls each(name) for all tensors that a graph's nodes and results read.
void forNamesIn(const GraphProto& graph, const std::function<void(const std::string&)>& each);
AttributeProto& addAttribute(NodeProto& node, const char* name, std::int64_t value);
std::int64_t integerOf(const NodeProto& node, const char* name, std::int64_t otherwise);
/// The element types of a sequence or optional; the kind says which.
const onnx::TypeProto& elementOf(const onnx::TypeProto& type);

/// Replaces the sequences of one model: onnx_sequences.cpp reads what is known before the run,
/// onnx_sequence_ops.cpp has the sequence ops, onnx_sequence_bodies.cpp the bodies of If, Loop and others,
/// onnx_sequence_stacks.cpp the sequences whose length the run decides.
class Resolver {
public:
    Resolver(const onnx::ModelProto& model, const std::filesystem::path& path, const ImportOptions& options)
        : m_model(model), m_path(path), m_options(options) {}

    GraphProto run();

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
    std::vector<std::string> elementNames(const std::string& name, std::int64_t count);
    void addInput(const onnx::ValueInfoProto& value);
    void addOutput(const onnx::ValueInfoProto& value);

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
        if (value.kind == Value::Kind::stack)
            fail(node, "changes a sequence whose length is not known before the run");
        if (value.kind != Value::Kind::sequence)
            fail(node, fmt::format("needs a sequence as its input {}", index));
        return value;
    }
    void set(const NodeProto& node, int output, Value value) {
        if (output < node.output_size()) m_scopes.back().values[node.output(output)] = std::move(value);
    }

    NodeProto& add(const char* op);
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
    /// these values or, with `Inputs::sizes`, only their sizes. Of a result of a Loop, no sizes are known.
    enum class Inputs : std::uint8_t { values, sizes };
    Known known(const std::string& name, Inputs inputs = Inputs::values);

    /// Adds what a tensor is computed from. False if it depends on the state of a Loop or Scan.
    bool addBefore(const std::string& name, GraphProto& part, std::set<std::string>& seen);

    std::optional<std::vector<std::int64_t>> integers(const std::string& name,
                                                      Inputs inputs = Inputs::values);
    std::optional<std::int64_t> integer(const std::string& name, Inputs inputs = Inputs::values) {
        const auto all = integers(name, inputs);
        return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
    }

    /// A position in a sequence, of which negative ones count from the end. `end`: the number of positions.
    std::size_t position(const NodeProto& node, int index, std::int64_t count, std::int64_t end);

    // --- Ops ---

    void resolve(const Nodes& nodes);
    void resolve(const NodeProto& node);
    void resolveSequenceOp(const NodeProto& node);
    void setConstant(const NodeProto& node, const Tensor& value);

    /// A name for an output in the current scope.
    std::string newName(const std::string& name) {
        const std::string& prefix = m_scopes.back().prefix;
        return prefix.empty() ? name : m_names.fresh(prefix + name);
    }

    void split(const NodeProto& node);
    void changeRank(const char* op, const std::string& from, const std::string& to, std::int64_t axis);
    void concat(const NodeProto& node);

    /// Joins tensors along an axis, or along a new one.
    std::string join(std::vector<std::string> parts, const std::string& to, std::int64_t axis, bool isNew,
                     const std::string& name);
    void map(const NodeProto& node);

    // --- Stacks ---

    NodeProto& addOne(const char* op, const std::vector<std::string>& inputs, const std::string& to);
    /// A tensor with one of its axes at another place.
    std::string moved(const std::string& from, const std::string& base, int rank, int axis, int to);
    /// The parts of size 1 along an axis, which lose this axis if `drops`.
    Value stackOf(const NodeProto& node, const std::string& from, int rank, int axis, bool drops);
    std::string lengthOf(const std::string& stack, const std::string& base);
    std::string elementAt(const NodeProto& node, const std::string& stack);
    std::string joinStack(const NodeProto& node, const std::string& stack);
    /// A SequenceMap as a Loop.
    void mapStacks(const NodeProto& node, const GraphProto& from);
    /// A Loop that appends one tensor to an empty sequence in each iteration: the tensors become one that the
    /// Loop stacks. False, without an effect, if there is no such sequence.
    bool growLoop(const NodeProto& node, const GraphProto& from, const std::vector<Value>& states);

    /// Adds the nodes of a body under new names, and gives its results.
    std::vector<Value> inlined(const NodeProto& owner, const GraphProto& body,
                               const std::vector<Value>& inputs, std::size_t lap);

    /// A body that stays a body. Its inputs of sequences become inputs of their elements.
    struct Body {
        GraphProto* graph = nullptr;
        std::vector<Value> results{};
    };
    Body kept(const NodeProto& owner, const GraphProto& from, const std::vector<Value>& inputs);
    static void addResults(Body& body);

    /// Whether a body contains sequence ops, or reads sequences.
    bool concerns(const GraphProto& body) const;
    void resolveIf(const NodeProto& node);
    static void addBody(NodeProto& node, const char* name, const GraphProto& graph);

    /// An If or Loop with these outputs, of which sequences are several.
    NodeProto& addControl(const NodeProto& from, const std::vector<Value>& outputs);
    void resolveLoop(const NodeProto& node);

    /// A Loop that computes each element of a sequence. The number of elements stays the same.
    void keepLoop(const NodeProto& node, const GraphProto& from, const std::vector<Value>& states);

    /// Unrolls a Loop: its body once for each iteration. `problem`: why it cannot stay a Loop.
    void unrollLoop(const NodeProto& node, const GraphProto& body, std::vector<Value> states,
                    const std::string& problem);

    /// A node on tensors. Bodies inside it may use sequences.
    void copy(const NodeProto& node);

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

} // namespace twb::onnx_sequences
