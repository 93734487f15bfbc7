#include "core/error.h"
#include "formats/pytorch/aten_mapping.h"
#include "ops/composition.h"

#include <algorithm>
#include <deque>
#include <map>

namespace twb::aten {
namespace {

/// A tensor that the forward call reads.
struct Operand {
    TensorType type;
    std::optional<Value> value;       ///< nothing if the backward call does not have it
    std::optional<std::size_t> place; ///< of its gradient among the results; nothing if it is not wanted
};

/// The backward call as the gradient of its forward call sees it. The inputs are the operands.
class BackwardCall final : public GradientContext {
public:
    BackwardCall(Mapping& mapping, const std::vector<Operand>& operands, const Value& gradient)
        : m_mapping(mapping), m_operands(operands) {
        for (const Operand& operand : operands) m_tensors.push_back({operand.type, operand.value});
        m_tensors.push_back({gradient.type, gradient});
    }

    const Attributes& attributes() const override { return m_noAttributes; }
    int inputCount() const override { return static_cast<int>(m_operands.size()); }
    GraphTensor input(int port) override { return {*this, static_cast<std::uint32_t>(port)}; }
    GraphTensor output(int) override { refuse("its gradient needs its result"); }
    int outputCount() const override { return 1; }
    GraphTensor gradient(int port) override {
        return port == 0 ? GraphTensor(*this, static_cast<std::uint32_t>(m_operands.size())) : GraphTensor();
    }
    bool isWanted(int port) const override { return placeOf(port).has_value(); }
    void give(int port, GraphTensor gradient) override {
        m_mapping.give(*placeOf(port), *m_tensors[gradient.id()].value);
    }
    std::optional<std::vector<std::int64_t>> integers(int) const override { return std::nullopt; }
    std::optional<std::vector<double>> numbers(int) const override { return std::nullopt; }
    GraphTensor add(std::string_view op, std::span<const GraphTensor> inputs,
                    const Attributes& attributes) override;
    const TensorType& typeOf(GraphTensor tensor) const override { return m_tensors[tensor.id()].type; }
    [[noreturn]] void refuse(std::string_view why) const override { Mapping::refuse(std::string(why)); }

private:
    struct Known {
        TensorType type;
        std::optional<Value> value;
    };

    const std::optional<std::size_t>& placeOf(int port) const {
        return m_operands[static_cast<std::size_t>(port)].place;
    }

    Mapping& m_mapping;
    const std::vector<Operand>& m_operands;
    const Attributes m_noAttributes;
    std::deque<Known> m_tensors; ///< references stay valid
};

GraphTensor BackwardCall::add(std::string_view op, std::span<const GraphTensor> inputs,
                              const Attributes& attributes) {
    Mapping::Inputs values;
    for (const GraphTensor& input : inputs) {
        if (input && !m_tensors[input.id()].value)
            refuse("its gradient needs an operand that it does not have");
        values.push_back(input ? m_tensors[input.id()].value : std::nullopt);
    }
    const GraphTensor first(*this, static_cast<std::uint32_t>(m_tensors.size()));
    for (const Value& value : m_mapping.makeAll(op, values, attributes))
        m_tensors.push_back({value.type, value});
    return first;
}

/// The nodes of a mapped forward call as ops whose gradients are known; returns its result. A node reads an
/// operand from the port of NodeId::none that is the operand's index.
GraphTensor replay(GradientContext& g, const std::vector<NewNode>& nodes, PortRef result) {
    std::map<PortRef, GraphTensor> made;
    const auto at = [&](PortRef from) {
        return from.node == NodeId::none ? g.input(from.port) : made.at(from);
    };
    for (const NewNode& node : nodes) {
        std::vector<GraphTensor> inputs;
        for (const auto& from : node.inputs) inputs.push_back(from ? at(*from) : GraphTensor());
        const GraphTensor first = g.add(node.node.op, inputs, node.node.attributes);
        const Op& op = *findOp(node.node.op);
        const int count = op.outputCount(completeAttributes(op, node.node.attributes));
        for (int port = 0; port < count; ++port) made[{node.node.id, port}] = outputOf(first, port);
    }
    return at(result);
}

} // namespace

std::optional<std::size_t> Mapping::placeOf(std::size_t result) const {
    const Ints mask = integers(has("grad_input_mask") ? "grad_input_mask" : "output_mask", Ints{1, 1, 1});
    if (result >= mask.size() || mask[result] == 0) return std::nullopt;
    const auto isComputed = [](std::int64_t flag) { return flag != 0; };
    const auto end = mask.begin() + static_cast<std::ptrdiff_t>(result);
    const bool isShort =
        std::count_if(mask.begin(), mask.end(), isComputed) == static_cast<std::ptrdiff_t>(resultCount());
    const auto place =
        isShort ? static_cast<std::size_t>(std::count_if(mask.begin(), end, isComputed)) : result;
    return place < resultCount() ? std::optional(place) : std::nullopt;
}

void Mapping::giveGradients(std::string_view forward, std::initializer_list<const char*> names) {
    const char* const gradientNames[] = {"grad_output", "grad_out", "grad_out_"};
    const auto* given = std::ranges::find_if(gradientNames, [&](const char* name) { return has(name); });
    const Value gradient = tensor(given == std::end(gradientNames) ? "grad" : *given);

    Call call = m_call;
    call.op = forward;
    call.results = {{ValueId::none, gradient.type, m_call.device}};
    std::vector<Operand> operands;
    std::deque<Value> inside; // by operand: see replay()
    std::map<ValueId, std::size_t> indices;
    const auto addOperand = [&](ValueId id, Operand operand) {
        indices.emplace(id, operands.size());
        inside.push_back(
            {{NodeId::none, static_cast<std::int32_t>(operands.size())}, operand.type, m_call.device});
        operands.push_back(std::move(operand));
    };
    std::size_t result = 0;
    for (const char* name : names) {
        const auto place = placeOf(result++);
        const std::optional<Value> value = optionalTensor(name);
        if (!value && !place) continue;
        // An id of its own: a tensor that the call reads twice has two gradients.
        const auto id =
            ValueId(std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(operands.size()));
        std::erase_if(call.arguments, [&](const auto& argument) { return argument.first == name; });
        call.arguments.emplace_back(name, id);
        addOperand(id, {value ? value->type : type(*place), value, place});
    }
    const Find find = [&](ValueId id) -> const Value* {
        if (!indices.contains(id)) addOperand(id, {valueOf(id).type, valueOf(id), std::nullopt});
        return &inside[indices.at(id)];
    };
    Mapping mapping(call, find, m_firstNode + m_nodes.size(), m_seed);
    findRow(forward)->map(mapping);
    const std::optional<Value> output = mapping.given().front();
    if (!output) refuse("its forward call has no counterpart among the ops of Tensor Workbench");
    const std::vector<NewNode> nodes = mapping.takeNodes();
    BackwardCall backward(*this, operands, gradient);
    try {
        differentiate(backward,
                      [&](GradientContext& g) { return std::vector{replay(g, nodes, output->from)}; });
    } catch (const Error& error) {
        refuse(error.what());
    }
}

} // namespace twb::aten
