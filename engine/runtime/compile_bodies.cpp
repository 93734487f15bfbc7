#include "placement/device_rule.h"
#include "runtime/compiler.h"

#include <set>

// If, Loop and Scan, and the steps of their bodies.

namespace twb {

void Compiler::addState(const NodeFacts& facts, PlanBody& body) {
    PlanState state;
    state.value = addValue({facts.id, 0}, *facts.outputs[0], facts.device, labelOf(m_graph, facts.id));
    m_plan->values[state.value].kept = false; // it has no producing step
    m_plan->valuesOfNode[facts.id] = {state.value};
    state.stream = streamOf(facts.device, QueueKind::compute);
    if (facts.op->name == "Iteration") {
        state.kind = PlanState::Kind::iteration;
    } else {
        const Scope inside = m_scopes.back();
        m_scopes.pop_back();
        state.from = inputFor(facts, 0);
        m_scopes.push_back(inside);
    }
    if (facts.op->name == "Carried")
        state.result = static_cast<std::uint32_t>(facts.attributes.integer("index"));
    if (facts.op->name == "ScanSlice") {
        state.kind = PlanState::Kind::slice;
        const int rank = m_plan->values[state.from].type.shape.rank();
        state.axis = *normalizeAxis(facts.attributes.integer("axis"), rank);
        state.reverse = facts.attributes.flag("reverse");
    }
    body.states.push_back(state);
}

/// The steps of one body, followed by the copies of its results to the owner's device.
void Compiler::addBody(const NodeFacts& facts, PlanControl& control, Scope scope) {
    const Body* body = m_bodies.of(facts.id, static_cast<int>(scope.body));
    PlanBody& out = control.bodies[scope.body];
    if (body) m_scopes.push_back(scope);
    for (const NodeFacts* inside : body ? m_inBody[body->frame] : std::vector<const NodeFacts*>{}) {
        if (inside->op->role == OpRole::state)
            addState(*inside, out);
        else
            addNode(*inside, *m_graph.find(inside->id));
    }
    const int connected = static_cast<int>(facts.inputs.size());
    for (int port = 0; port < connected; ++port) {
        if (Bodies::bodyOfInput(*facts.op, port, connected) != static_cast<int>(scope.body)) continue;
        const ValueId value = inputFor(facts, port);
        if (port >= Bodies::firstResult(*facts.op))
            out.results.push_back(value);
        else
            control.goesOn = value;
    }
    // They are read after the body has run. A condition, too, may not share its memory with a later step.
    std::vector<ValueId> readAfter = out.results;
    if (control.goesOn != kNone) readAfter.push_back(control.goesOn);
    for (const ValueId v : readAfter) {
        const std::uint32_t producer = m_producer[v];
        if (body && producer != kNone && m_plan->steps[producer].owner == scope.owner)
            m_plan->values[v].handedOn = true;
    }
    if (body) m_scopes.pop_back();
}

/// The values that steps from `firstStep` on, and the control itself, read from outside.
std::vector<Compiler::ValueId> Compiler::readFromOutside(std::uint32_t firstStep,
                                                         const PlanControl& control) const {
    std::set<ValueId> out;
    const auto read = [&](ValueId v) {
        if (v == kNone || m_producer[v] == kNone) return;
        const Step& producer = m_plan->steps[m_producer[v]];
        if (producer.index < firstStep || producer.setup) out.insert(v);
    };
    for (std::size_t i = firstStep; i < m_plan->steps.size(); ++i)
        for (const ValueId v : m_plan->steps[i].inputs) read(v);
    for (const PlanBody& body : control.bodies) {
        for (const PlanState& state : body.states) read(state.from);
        for (const ValueId v : body.results) read(v);
    }
    read(control.goesOn);
    return {out.begin(), out.end()};
}

void Compiler::addControl(const NodeFacts& facts, const Node& node) {
    const auto index = static_cast<std::uint32_t>(m_plan->controls.size());
    m_plan->controls.emplace_back(); // reserves its index before inner controls
    PlanControl control;
    const auto firstStep = static_cast<std::uint32_t>(m_plan->steps.size());
    std::vector<ValueId> inputs;
    for (int port = 0; port < static_cast<int>(facts.inputs.size()) && port < Bodies::firstResult(*facts.op);
         ++port) {
        if (Bodies::bodyOfInput(*facts.op, port, 0) >= 0) continue;
        const ValueId value = inputFor(facts, port);
        inputs.push_back(value);
        (facts.op->inputAt(port).name == "M" ? control.trips : control.condition) = value;
    }
    control.bodies.resize(facts.op->bodies.size());
    for (std::uint32_t b = 0; b < control.bodies.size(); ++b) addBody(facts, control, {index, b});
    if (facts.op->name == "If") {
        control.kind = PlanControl::Kind::branch;
    } else {
        control.kind = facts.op->name == "Loop" ? PlanControl::Kind::loop : PlanControl::Kind::scan;
        control.carried = static_cast<std::uint32_t>(facts.attributes.integer("carried"));
        control.stacks.resize(facts.outputs.size() - control.carried);
        for (std::size_t i = 0; i < control.stacks.size(); ++i) {
            const int rank = facts.outputs[control.carried + i]->shape.rank();
            if (facts.attributes.has("scan_output_axes"))
                control.stacks[i].axis =
                    *normalizeAxis(facts.attributes.integers("scan_output_axes")[i], rank);
            if (facts.attributes.has("scan_output_directions"))
                control.stacks[i].reverse = facts.attributes.integers("scan_output_directions")[i] == 1;
        }
    }
    for (const ValueId v : readFromOutside(firstStep, control)) inputs.push_back(v);
    const std::string label = labelOf(m_graph, node.id);
    std::vector<ValueId> outputs;
    for (std::size_t port = 0; port < facts.outputs.size(); ++port)
        outputs.push_back(
            addValue({node.id, static_cast<std::int32_t>(port)}, *facts.outputs[port], facts.device, label));
    Step& step = addStep(facts.op, node.id, streamOf(facts.device, QueueKind::compute), std::move(inputs),
                         outputs, label, false);
    step.attributes = facts.attributes;
    step.control = index;
    price(step);
    m_plan->controls[index] = std::move(control);
    m_plan->valuesOfNode[node.id] = std::move(outputs);
}

/// Sets the step ranges of the bodies after the final ordering.
void Compiler::findBodies() {
    std::vector<const Step*> runner(m_plan->controls.size(), nullptr); // by control: its step
    for (const Step& step : m_plan->steps)
        if (step.control != kNone) runner[step.control] = &step;
    for (const Step& step : m_plan->steps)
        for (const Step* at = &step; at->owner != kNone; at = runner[at->owner]) {
            PlanBody& range = m_plan->controls[at->owner].bodies[at->body];
            if (range.last == 0) range.first = step.index;
            range.last = step.index + 1;
        }
}

} // namespace twb
