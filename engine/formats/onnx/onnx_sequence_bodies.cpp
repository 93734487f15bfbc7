#include "formats/onnx/onnx_sequence_resolver.h"

#include <algorithm>

namespace twb::onnx_sequences {

std::vector<Value> Resolver::inlined(const NodeProto& owner, const GraphProto& body,
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

Resolver::Body Resolver::kept(const NodeProto& owner, const GraphProto& from,
                              const std::vector<Value>& inputs) {
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
    for (const auto& tensor : from.initializer()) scope.values[tensor.name()] = tensorValue(tensor.name());
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

void Resolver::addResults(Body& body) {
    for (const Value& value : body.results)
        for (const std::string& name : value.tensors) body.graph->add_output()->set_name(name);
}

bool Resolver::concerns(const GraphProto& body) const {
    bool reads = hasSequenceOp(body);
    forNamesIn(body, [&](const std::string& name) { reads = reads || !valueOf(name).isTensor(); });
    return reads;
}

void Resolver::resolveIf(const NodeProto& node) {
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

void Resolver::addBody(NodeProto& node, const char* name, const GraphProto& graph) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::GRAPH);
    *attribute.mutable_g() = graph;
}

NodeProto& Resolver::addControl(const NodeProto& from, const std::vector<Value>& outputs) {
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

void Resolver::resolveLoop(const NodeProto& node) {
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
        const auto trips =
            input(node, 0).tensors.empty() ? std::optional<std::int64_t>(0) : integer(tensor(node, 0));
        const bool isShort = trips && *trips <= kMostElements;
        if (!isShort && growLoop(node, body->g(), states)) return;
        unrollLoop(node, body->g(), std::move(states), problem.what());
    }
}

void Resolver::keepLoop(const NodeProto& node, const GraphProto& from, const std::vector<Value>& states) {
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

void Resolver::unrollLoop(const NodeProto& node, const GraphProto& body, std::vector<Value> states,
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

void Resolver::copy(const NodeProto& node) {
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

} // namespace twb::onnx_sequences
