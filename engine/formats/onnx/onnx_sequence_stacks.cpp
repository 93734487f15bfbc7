#include "formats/onnx/onnx_sequence_resolver.h"

#include <algorithm>
#include <numeric>

// Sequences whose length is not known before the run. Their elements must have one shape.

namespace twb::onnx_sequences {
namespace {

void addIntegers(NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
}

/// An input without axes.
void addScalarInput(GraphProto& graph, const std::string& name, int elementType) {
    auto& input = *graph.add_input();
    input.set_name(name);
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(elementType);
    type.mutable_shape();
}

void addNode(GraphProto& graph, const char* op, const std::vector<std::string>& inputs,
             const std::string& output) {
    NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
}

} // namespace

NodeProto& Resolver::addOne(const char* op, const std::vector<std::string>& inputs, const std::string& to) {
    NodeProto& node = add(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(to);
    note(node);
    return node;
}

std::string Resolver::moved(const std::string& from, const std::string& base, int rank, int axis, int to) {
    if (axis == to) return from;
    std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + axis);
    order.insert(order.begin() + to, axis);
    const std::string name = m_names.fresh(base + "/moved");
    addIntegers(addOne("Transpose", {from}, name), "perm", order);
    return name;
}

Value Resolver::stackOf(const NodeProto& node, const std::string& from, int rank, int axis, bool drops) {
    const std::string base = newName(node.output(0));
    std::string stack = moved(from, base, rank, axis, 0);
    if (!drops) {
        const std::string wide = m_names.fresh(base + "/kept");
        changeRank("Unsqueeze", stack, wide, axis + 1);
        stack = wide;
    }
    return {Value::Kind::stack, {stack}};
}

std::string Resolver::lengthOf(const std::string& stack, const std::string& base) {
    const std::string sizes = m_names.fresh(base + "/sizes");
    NodeProto& shape = addOne("Shape", {stack}, sizes);
    addAttribute(shape, "start", 0);
    addAttribute(shape, "end", 1);
    const std::string length = m_names.fresh(base + "/length");
    changeRank("Squeeze", sizes, length, 0);
    return length;
}

std::string Resolver::elementAt(const NodeProto& node, const std::string& stack) {
    std::string at = tensor(node, 1);
    const std::string base = newName(node.output(0));
    const Known position = known(at);
    if (!position.type || position.type->shape.rank() != 0) { // one element in one axis
        const std::string shape =
            addConstant(m_names.fresh(base + "/shape"), Tensor::onHost({DType::i64, Shape{0}}));
        at = m_names.fresh(base + "/position");
        addOne("Reshape", {tensor(node, 1), shape}, at);
    }
    addAttribute(addOne("Gather", {stack, at}, base), "axis", 0);
    return base;
}

std::string Resolver::joinStack(const NodeProto& node, const std::string& stack) {
    const std::optional<TensorType> type = known(stack).type;
    if (!type) fail(node, "joins tensors whose number of axes is not known before the run");
    const int rank = type->shape.rank();
    const bool isNew = integerOf(node, "new_axis", 0) != 0;
    const auto axis = normalizeAxis(integerOf(node, "axis", 0), isNew ? rank : rank - 1);
    if (!axis) fail(node, "joins along an axis that the tensors do not have");
    const std::string base = newName(node.output(0));
    const std::string all = moved(stack, base, rank, 0, *axis);
    if (isNew) return all;
    // The axis of the elements merges with that of the stack.
    std::vector<std::string> sizes;
    const auto addSizes = [&](int first, int last) {
        if (first == last) return;
        sizes.push_back(m_names.fresh(base + "/sizes"));
        NodeProto& shape = addOne("Shape", {all}, sizes.back());
        addAttribute(shape, "start", first);
        addAttribute(shape, "end", last);
    };
    addSizes(0, *axis);
    sizes.push_back(addConstant(m_names.fresh(base + "/rest"), Tensor::of<std::int64_t>(Shape{1}, {-1})));
    addSizes(*axis + 2, rank);
    std::string shape = sizes[0];
    if (sizes.size() > 1) shape = join(sizes, m_names.fresh(base + "/shape"), 0, false, {});
    addOne("Reshape", {all, shape}, base);
    return base;
}

void Resolver::mapStacks(const NodeProto& node, const GraphProto& from) {
    const std::string base = newName(node.output(0));
    NodeProto loop;
    loop.set_op_type("Loop");
    loop.set_name(node.name());
    GraphProto body;
    body.set_name(from.name());
    *body.mutable_initializer() = from.initializer();
    const std::string lap = m_names.fresh(base + "/iteration");
    const std::string isOn = m_names.fresh(base + "/condition");
    addScalarInput(body, lap, onnx::TensorProto::INT64);
    addScalarInput(body, isOn, onnx::TensorProto::BOOL);
    for (int i = 0; i < node.input_size() && i < from.input_size(); ++i) {
        const Value value = input(node, i);
        if (value.kind != Value::Kind::stack && !value.isTensor())
            fail(node, "maps a sequence whose length is known before the run, and one whose length is not");
        const std::string alias = m_names.fresh(base + "/input"); // names mean something else in other scopes
        m_scopes.back().values[alias] = tensorValue(value.tensors[0]);
        if (value.isTensor()) {
            addNode(body, "Identity", {alias}, from.input(i).name());
            continue;
        }
        addNode(body, "Gather", {alias, lap}, from.input(i).name());
        if (loop.input_size() > 0) continue;
        const std::string trips = m_names.fresh(base + "/trips");
        m_scopes.back().values[trips] = tensorValue(lengthOf(value.tensors[0], base));
        loop.add_input(trips);
    }
    body.mutable_node()->MergeFrom(from.node());
    const std::string goesOn = m_names.fresh(base + "/goes on");
    addNode(body, "Identity", {isOn}, goesOn);
    body.add_output()->set_name(goesOn);
    for (const auto& output : from.output()) *body.add_output() = output;
    for (int i = 0; i < from.output_size(); ++i) loop.add_output(m_names.fresh(base + "/stack"));
    addBody(loop, "body", body);
    resolveLoop(loop);
    for (int i = 0; i < node.output_size() && i < loop.output_size(); ++i)
        set(node, i, {Value::Kind::stack, valueOf(loop.output(i)).tensors});
}

bool Resolver::growLoop(const NodeProto& node, const GraphProto& from, const std::vector<Value>& states) {
    const auto carried = static_cast<int>(states.size());
    if (from.input_size() != 2 + carried || from.output_size() < 1 + carried) return false;
    /// The SequenceInsert that makes the state of the next iteration.
    std::vector<const NodeProto*> inserts(states.size());
    for (int i = 0; i < carried; ++i) {
        const Value& state = states[static_cast<std::size_t>(i)];
        if (state.kind != Value::Kind::sequence || !state.tensors.empty()) continue;
        for (const NodeProto& each : from.node())
            if (each.op_type() == "SequenceInsert" && isSequenceOp(each) && each.input_size() == 2 &&
                each.input(0) == from.input(2 + i).name() && each.output(0) == from.output(1 + i).name())
                inserts[static_cast<std::size_t>(i)] = &each;
    }
    NodeProto loop;
    loop.set_op_type("Loop");
    loop.set_name(node.name());
    for (int i = 0; i < 2; ++i) loop.add_input(node.input_size() > i ? node.input(i) : std::string());
    GraphProto body;
    body.set_name(from.name());
    *body.mutable_initializer() = from.initializer();
    for (const NodeProto& each : from.node())
        if (std::ranges::find(inserts, &each) == inserts.end()) *body.add_node() = each;
    for (int i = 0; i < 2; ++i) *body.add_input() = from.input(i);
    *body.add_output() = from.output(0);
    std::vector<std::pair<int, std::string>> grown; // outputs of the node, and names of their stacks
    std::set<std::string> gone;
    for (int i = 0; i < carried; ++i) {
        const NodeProto* const insert = inserts[static_cast<std::size_t>(i)];
        if (insert) {
            gone.insert({insert->input(0), insert->output(0)});
            grown.emplace_back(i, insert->input(1));
            continue;
        }
        loop.add_input(node.input(2 + i));
        *body.add_input() = from.input(2 + i);
        *body.add_output() = from.output(1 + i);
        loop.add_output(i < node.output_size() ? node.output(i) : std::string());
    }
    if (grown.empty()) return false;
    for (int i = carried; i + 1 < from.output_size(); ++i) {
        *body.add_output() = from.output(1 + i);
        loop.add_output(i < node.output_size() ? node.output(i) : std::string());
    }
    bool isReadElsewhere = false;
    forNamesIn(body,
               [&](const std::string& name) { isReadElsewhere = isReadElsewhere || gone.contains(name); });
    if (isReadElsewhere) return false;
    for (auto& [output, element] : grown) {
        body.add_output()->set_name(element);
        element = m_names.fresh(newName(node.output(0)) + "/stack");
        loop.add_output(element);
    }
    addBody(loop, "body", body);
    resolveLoop(loop);
    for (const auto& [output, stack] : grown) set(node, output, {Value::Kind::stack, valueOf(stack).tensors});
    return true;
}

} // namespace twb::onnx_sequences
