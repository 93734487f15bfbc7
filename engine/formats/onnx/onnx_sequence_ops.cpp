#include "formats/onnx/onnx_sequence_resolver.h"

#include <algorithm>
#include <span>

namespace twb::onnx_sequences {

void Resolver::resolveSequenceOp(const NodeProto& node) {
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
    const Value first = input(node, 0);
    if (first.kind == Value::Kind::stack) {
        const std::string& stack = first.tensors[0];
        if (op == "SequenceAt") return set(node, 0, tensorValue(elementAt(node, stack)));
        if (op == "SequenceLength")
            return set(node, 0, tensorValue(lengthOf(stack, newName(node.output(0)))));
        if (op == "ConcatFromSequence") return set(node, 0, tensorValue(joinStack(node, stack)));
    }
    if (op == "SequenceAt") {
        const Value made = sequence(node, 0);
        const auto count = static_cast<std::int64_t>(made.tensors.size());
        return set(node, 0, tensorValue(made.tensors[position(node, 1, count, count)]));
    }
    if (op == "SequenceLength")
        return setConstant(node, Tensor::of<std::int64_t>(
                                     Shape{}, {static_cast<std::int64_t>(sequence(node, 0).tensors.size())}));
    if (op == "Optional") return set(node, 0, input(node, 0));
    if (op == "OptionalHasElement")
        return setConstant(node, Tensor::of<bool>(Shape{}, {input(node, 0).kind != Value::Kind::nothing}));
    if (op == "OptionalGetElement") {
        if (input(node, 0).kind == Value::Kind::nothing) fail(node, "reads an optional that has no element");
        return set(node, 0, input(node, 0));
    }
    if (op == "SplitToSequence") return split(node);
    if (op == "ConcatFromSequence") return concat(node);
    map(node);
}

void Resolver::setConstant(const NodeProto& node, const Tensor& value) {
    set(node, 0, tensorValue(addConstant(newName(node.output(0)), value)));
}

void Resolver::split(const NodeProto& node) {
    const std::string from = tensor(node, 0);
    const std::optional<TensorType> type = known(from).type;
    const std::int64_t given = integerOf(node, "axis", 0);
    const auto axis = type ? normalizeAxis(given, type->shape.rank()) : std::nullopt;
    if (!axis) fail(node, "splits an axis whose size is not known before the run");
    const bool isGiven = !input(node, 1).tensors.empty();
    const bool drops = !isGiven && integerOf(node, "keepdims", 1) == 0;
    const std::int64_t size = type->shape[*axis];
    if (size == kUnknownDim) {
        if (isGiven) fail(node, "splits an axis whose size is not known before the run");
        return set(node, 0, stackOf(node, from, type->shape.rank(), *axis, drops));
    }
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
                for (std::int64_t left = size; left > 0; left -= each) sizes.push_back(std::min(each, left));
        }
    }
    if (static_cast<std::int64_t>(sizes.size()) > kMostElements || (sizes.empty() && size > 0))
        fail(node, fmt::format("makes a sequence of more than {}", kMostElements));
    const std::string base = newName(node.output(0));
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

void Resolver::changeRank(const char* op, const std::string& from, const std::string& to, std::int64_t axis) {
    const std::string axes = addAxis(to, axis);
    NodeProto& node = add(op);
    node.add_input(from);
    node.add_input(axes);
    node.add_output(to);
    note(node);
}

void Resolver::concat(const NodeProto& node) {
    const Value parts = sequence(node, 0);
    if (parts.tensors.empty()) fail(node, "joins an empty sequence");
    const std::int64_t axis = integerOf(node, "axis", 0);
    set(node, 0,
        tensorValue(join(parts.tensors, newName(node.output(0)), axis, integerOf(node, "new_axis", 0) != 0,
                         node.name())));
}

std::string Resolver::join(std::vector<std::string> parts, const std::string& to, std::int64_t axis,
                           bool isNew, const std::string& name) {
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

void Resolver::map(const NodeProto& node) {
    const AttributeProto* attribute = attributeOf(node, "body");
    if (!attribute || !attribute->has_g()) fail(node, "has no body");
    for (int i = 0; i < node.input_size(); ++i)
        if (input(node, i).kind == Value::Kind::stack) return mapStacks(node, attribute->g());
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

} // namespace twb::onnx_sequences
