#include "core/error.h"
#include "core/hash.h"
#include "graph/bodies.h"
#include "placement/device_rule.h"
#include "runtime/layout_plan.h"
#include "runtime/memory_plan.h"
#include "runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace twb {
namespace {

const Op& castOp() {
    static const Op* const op = findOp("Cast");
    return *op;
}

class Compiler {
public:
    Compiler(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
             std::shared_ptr<const TensorFiles> files, const CompileOptions& options)
        : m_graph(graph), m_analysis(analysis), m_options(options), m_bodies(graph) {
        m_plan->revision = options.revision;
        m_plan->devices = devices;
        m_plan->files = std::move(files);
    }

    std::shared_ptr<const Plan> run();

private:
    using ValueId = std::uint32_t;

    /// Where steps are being added: a body of a control, or outside of all.
    struct Scope {
        std::uint32_t owner = kNone;
        std::uint32_t body = 0;
        auto operator<=>(const Scope&) const = default;
    };

    void addNode(const NodeFacts& facts, const Node& node);
    void addControl(const NodeFacts& facts, const Node& node);
    void addBody(const NodeFacts& facts, PlanControl& control, Scope scope);
    void addState(const NodeFacts& facts, PlanBody& body);
    std::vector<ValueId> readFromOutside(std::uint32_t firstStep, const PlanControl& control) const;
    void findBodies();
    void addTo(const NodeFacts& facts, const Node& node);
    void addStagedFile(const NodeFacts& facts, const Node& node);
    ValueId inputFor(const NodeFacts& facts, int port);
    ValueId addValue(PortRef source, TensorType type, Device device, std::string label);
    Step& addStep(const Op* op, NodeId node, std::uint32_t stream, std::vector<ValueId> inputs,
                  std::vector<ValueId> outputs, std::string label, bool setup);
    ValueId addCopy(ValueId from, Device target, Transfer transfer, bool setup, bool blocking);
    ValueId addCast(ValueId from, DType to, NodeId node, bool setup);
    std::uint32_t streamOf(Device device, QueueKind queue);
    void price(Step& step);
    void sign(Step& step);
    void setupFirst();
    bool isSetup(ValueId value) const {
        return m_producer[value] != kNone && m_plan->steps[m_producer[value]].setup;
    }

    const Graph& m_graph;
    const Analysis& m_analysis;
    const CompileOptions& m_options;
    std::shared_ptr<Plan> m_plan = std::make_shared<Plan>();
    std::vector<std::uint32_t> m_producer;  ///< by value: its step, in order of creation
    std::vector<std::uint64_t> m_signature; ///< by value
    std::vector<bool> m_blocking;           ///< by step
    std::map<std::pair<Device, QueueKind>, std::uint32_t> m_streams;
    std::map<std::tuple<Scope, PortRef, Device>, ValueId> m_implicit;
    std::map<std::pair<PortRef, Device>, const ImplicitCopy*> m_wantedCopies;
    const Bodies m_bodies;
    std::map<FrameId, std::vector<const NodeFacts*>> m_inBody;
    std::vector<Scope> m_scopes{Scope{}}; ///< around what is being added, innermost last
};

std::shared_ptr<const Plan> Compiler::run() {
    for (const Diagnostic& d : m_analysis.diagnostics)
        if (d.severity == Severity::error && !m_analysis.mayRun())
            throw Error(ErrorCode::badGraph,
                        fmt::format("the graph has {} error{}; the first: {}", m_analysis.errorCount(),
                                    m_analysis.errorCount() == 1 ? "" : "s", d.message));
    for (const ImplicitCopy& copy : m_analysis.implicitCopies)
        m_wantedCopies[{copy.from, copy.target}] = &copy;
    // Placeholders and what depends on them are not sound, and left out.
    for (const NodeFacts& facts : m_analysis.nodes)
        if (const Body* body = facts.sound ? m_bodies.around(facts.id) : nullptr)
            m_inBody[body->frame].push_back(&facts);
    for (const NodeFacts& facts : m_analysis.nodes)
        if (facts.sound && !m_bodies.around(facts.id)) addNode(facts, *m_graph.find(facts.id));
    setupFirst();
    findBodies();
    planLayouts(*m_plan);
    planMemory(*m_plan, !m_options.keepAll);
    planWaits(*m_plan, m_blocking);
    m_plan->virtualClock =
        std::any_of(m_plan->streams.begin(), m_plan->streams.end(),
                    [&](const PlanStream& s) { return m_plan->devices.isSimulated(s.device); });
    return m_plan;
}

std::uint32_t Compiler::streamOf(Device device, QueueKind queue) {
    const auto [at, fresh] =
        m_streams.try_emplace({device, queue}, static_cast<std::uint32_t>(m_plan->streams.size()));
    if (fresh) {
        const char* what = queue == QueueKind::compute        ? "compute"
                           : queue == QueueKind::hostToDevice ? "host→device"
                                                              : "device→host";
        m_plan->streams.push_back({device, queue, fmt::format("{} {}", device.toString(), what)});
    }
    return at->second;
}

Compiler::ValueId Compiler::addValue(PortRef source, TensorType type, Device device, std::string label) {
    PlanValue value;
    value.source = source;
    value.type = std::move(type);
    value.device = device;
    value.memory = device.isCpu() ? MemoryKind::pageable : MemoryKind::device;
    value.kept = m_options.keepAll || m_options.keep.contains(source);
    value.label = std::move(label);
    m_plan->values.push_back(std::move(value));
    m_producer.push_back(kNone);
    m_signature.push_back(0);
    return static_cast<ValueId>(m_plan->values.size() - 1);
}

Step& Compiler::addStep(const Op* op, NodeId node, std::uint32_t stream, std::vector<ValueId> inputs,
                        std::vector<ValueId> outputs, std::string label, bool setup) {
    Step step;
    step.index = static_cast<std::uint32_t>(m_plan->steps.size());
    step.node = node;
    step.op = op;
    step.stream = stream;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.label = std::move(label);
    step.setup = setup;
    if (!setup) {
        step.owner = m_scopes.back().owner;
        step.body = m_scopes.back().body;
    }
    const auto unsized = [&](ValueId v) { return v != kNone && !m_plan->values[v].type.isKnown(); };
    step.dynamic = std::any_of(step.inputs.begin(), step.inputs.end(), unsized) ||
                   std::any_of(step.outputs.begin(), step.outputs.end(), unsized);
    for (ValueId v : step.outputs) m_producer[v] = step.index;
    m_blocking.push_back(false);
    m_plan->steps.push_back(std::move(step));
    return m_plan->steps.back();
}

void Compiler::price(Step& step) {
    if (step.dynamic) return;
    const DeviceProfile& profile = m_plan->devices.at(m_plan->streams[step.stream].device).profile();
    std::vector<TensorType> inputs;
    std::vector<TensorType> outputs;
    for (ValueId v : step.inputs)
        inputs.push_back(v == kNone ? TensorType{DType::f32, Shape{0}} : m_plan->values[v].type);
    for (ValueId v : step.outputs) outputs.push_back(m_plan->values[v].type);
    step.cost = costOf(*step.op, inputs, outputs, step.attributes);
    step.predictedNs = profile.kernelNs(step.cost);
}

/// A result is known by what made it: op, attributes, device and the results it was made from.
void Compiler::sign(Step& step) {
    ContentHash hash;
    const Device device = m_plan->streams[step.stream].device;
    hash.add(step.op ? step.op->name : std::string("copy"))
        .add(device.toString())
        .add(m_plan->devices.at(device).info().name)
        .add(step.outputs.empty() ? std::string() : m_plan->values[step.outputs[0]].device.toString());
    for (const auto& [name, value] : step.attributes) {
        hash.add(name).add(toString(value));
        if (step.op && step.op->role == OpRole::source && name == "path")
            hash.add(m_plan->files ? m_plan->files->fingerprint(toString(value)) : std::string());
    }
    for (ValueId v : step.inputs) hash.add(v == kNone ? 0 : m_signature[v]);
    // What a body makes is another thing each time, and so is what is made of it.
    const bool changes = step.owner != kNone || step.control != kNone ||
                         std::any_of(step.inputs.begin(), step.inputs.end(),
                                     [&](ValueId v) { return v != kNone && m_signature[v] == 0; });
    if (changes) return;
    step.signature = hash.value();
    for (std::size_t port = 0; port < step.outputs.size(); ++port)
        m_signature[step.outputs[port]] = ContentHash(hash).add(port).value();
}

Compiler::ValueId Compiler::addCast(ValueId from, DType to, NodeId node, bool setup) {
    const PlanValue before = m_plan->values[from];
    const ValueId out = addValue({node, 0}, {to, before.type.shape}, before.device, before.label);
    Step& step = addStep(&castOp(), node, streamOf(before.device, QueueKind::compute), {from}, {out},
                         fmt::format("{} as {}", before.label, name(to)), setup);
    step.attributes = completeAttributes(castOp(), {{"to", std::string(name(to))}});
    price(step);
    sign(step);
    return out;
}

Compiler::ValueId Compiler::addCopy(ValueId from, Device target, Transfer transfer, bool setup,
                                    bool blocking) {
    const PlanValue before = m_plan->values[from];
    const ValueId out = addValue(transfer.node == NodeId::none ? before.source : PortRef{transfer.node, 0},
                                 before.type, target, before.label);
    const Device accelerator = before.device.isCpu() ? target : before.device;
    const CopyDirection direction = !before.device.isCpu() && !target.isCpu() ? CopyDirection::peer
                                    : before.device.isCpu()                   ? CopyDirection::hostToDevice
                                                                              : CopyDirection::deviceToHost;
    const std::uint32_t stream =
        streamOf(accelerator, direction == CopyDirection::hostToDevice ? QueueKind::hostToDevice
                                                                       : QueueKind::deviceToHost);
    transfer.source = before.device;
    transfer.target = target;
    transfer.setup = setup;
    transfer.modelled = m_plan->devices.isSimulated(accelerator);
    transfer.label = fmt::format("{} → {}", before.label, target.toString());
    Step& step = addStep(nullptr, transfer.node, stream, {from}, {out}, transfer.label, setup);
    if (!step.dynamic) {
        transfer.bytes = static_cast<std::uint64_t>(before.type.byteCount());
        transfer.predictedNs = m_plan->devices.at(accelerator)
                                   .profile()
                                   .copyNs(static_cast<double>(transfer.bytes), direction,
                                           transfer.pinned ? MemoryKind::pinned : MemoryKind::pageable);
        step.predictedNs = transfer.predictedNs;
        step.cost.bytes = static_cast<double>(transfer.bytes);
    }
    step.transfer = static_cast<std::uint32_t>(m_plan->transfers.size());
    m_blocking.back() = blocking;
    sign(step);
    m_plan->transfers.push_back(std::move(transfer));
    return out;
}

Compiler::ValueId Compiler::inputFor(const NodeFacts& facts, int port) {
    const auto p = static_cast<std::size_t>(port);
    if (p >= facts.inputs.size() || !facts.inputs[p]) return kNone;
    const PortRef from = *facts.inputs[p];
    const ValueId value = m_plan->valueOf(from);
    const Device wanted = facts.op->inputAt(port).hostValue ? Device::cpu() : facts.device;
    if (m_plan->values[value].device == wanted) return value;
    const auto copy = m_wantedCopies.find({from, wanted});
    if (copy == m_wantedCopies.end())
        return value; // a 0-dimensional cpu tensor, passed along with the launch
    for (const Scope& scope : m_scopes)
        if (const auto known = m_implicit.find({scope, from, wanted}); known != m_implicit.end())
            return known->second;
    Transfer transfer;
    transfer.kind = TransferKind::implicitTo;
    transfer.from = from;
    transfer.to = copy->second->edges.front().to;
    const bool setup = copy->second->hoisted && isSetup(value);
    const ValueId out = addCopy(value, wanted, std::move(transfer), setup, false);
    m_implicit[{setup ? Scope{} : m_scopes.back(), from, wanted}] = out;
    return out;
}

void Compiler::addTo(const NodeFacts& facts, const Node& node) {
    ValueId value = m_plan->valueOf(*facts.inputs[0]);
    const TensorType& wanted = *facts.outputs[0];
    const Device source = m_plan->values[value].device;
    const DType before = m_plan->values[value].type.dtype;
    // Convert on the side where the narrower tensor crosses the link.
    const bool castFirst = before != wanted.dtype && sizeOf(wanted.dtype) <= sizeOf(before);
    if (castFirst) value = addCast(value, wanted.dtype, node.id, false);
    if (source != facts.device) {
        Transfer transfer;
        transfer.kind = TransferKind::explicitTo;
        transfer.from = *facts.inputs[0];
        transfer.to = {node.id, 0};
        transfer.node = node.id;
        transfer.pinned = facts.attributes.flag("pin_memory");
        value =
            addCopy(value, facts.device, std::move(transfer), false, !facts.attributes.flag("non_blocking"));
    }
    if (before != wanted.dtype && !castFirst) value = addCast(value, wanted.dtype, node.id, false);
    // To the same device and dtype it is free: the same tensor under another name.
    m_plan->valuesOfNode[node.id] = {value};
    if (m_options.keep.contains({node.id, 0})) m_plan->values[value].kept = true;
}

void Compiler::addStagedFile(const NodeFacts& facts, const Node& node) {
    const std::string label = labelOf(m_graph, node.id);
    const ValueId host = addValue({node.id, 0}, *facts.outputs[0], Device::cpu(), label);
    m_plan->values[host].kept = false;
    Step& read =
        addStep(facts.op, node.id, streamOf(Device::cpu(), QueueKind::compute), {}, {host}, label, true);
    read.attributes = facts.attributes;
    price(read);
    sign(read);
    Transfer transfer;
    transfer.kind = TransferKind::staging;
    transfer.from = transfer.to = {node.id, 0};
    transfer.node = node.id;
    m_plan->valuesOfNode[node.id] = {addCopy(host, facts.device, std::move(transfer), true, false)};
}

void Compiler::addNode(const NodeFacts& facts, const Node& node) {
    if (facts.op->role == OpRole::transfer) return addTo(facts, node);
    if (facts.op->role == OpRole::control) return addControl(facts, node);
    if (facts.op->attribute("path") && facts.op->role == OpRole::source && !facts.device.isCpu())
        return addStagedFile(facts, node);
    const bool setup = facts.op->role == OpRole::source;
    std::vector<ValueId> inputs;
    for (std::size_t port = 0; port < facts.inputs.size(); ++port)
        inputs.push_back(inputFor(facts, static_cast<int>(port)));
    if (facts.op->role == OpRole::sink)
        for (ValueId v : inputs)
            if (v != kNone) m_plan->values[v].kept = true;
    if (!facts.op->kernel) return; // a Probe only asks for its input to be kept
    const std::string label = labelOf(m_graph, node.id);
    std::vector<ValueId> outputs;
    for (std::size_t port = 0; port < facts.outputs.size(); ++port)
        outputs.push_back(
            addValue({node.id, static_cast<std::int32_t>(port)}, *facts.outputs[port], facts.device, label));
    for (std::size_t port = 0; port < outputs.size(); ++port) {
        const auto reads = [&](const Edge& edge) {
            return edge.from.port == static_cast<std::int32_t>(port);
        };
        const auto& readers = m_graph.outgoing(node.id);
        PlanValue& value = m_plan->values[outputs[port]];
        value.absent = facts.op->outputAt(static_cast<int>(port)).optional && !value.kept &&
                       std::none_of(readers.begin(), readers.end(), reads);
    }
    Step& step = addStep(facts.op, node.id, streamOf(facts.device, QueueKind::compute), std::move(inputs),
                         outputs, label, setup);
    step.attributes = facts.attributes;
    step.last = facts.op->role == OpRole::sink;
    price(step);
    sign(step);
    if (facts.op->role == OpRole::sink) step.signature = 0; // it has an effect: it always runs
    m_plan->valuesOfNode[node.id] = std::move(outputs);
}

void Compiler::addState(const NodeFacts& facts, PlanBody& body) {
    PlanState state;
    state.value = addValue({facts.id, 0}, *facts.outputs[0], facts.device, labelOf(m_graph, facts.id));
    m_plan->values[state.value].kept = false; // no step makes it
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

/// The steps of one body, which end with what brings its results to where the owner stands.
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
    for (const ValueId v : out.results) {
        const std::uint32_t producer = m_producer[v];
        if (body && producer != kNone && m_plan->steps[producer].owner == scope.owner)
            m_plan->values[v].handedOn = true;
    }
    if (body) m_scopes.pop_back();
}

/// What steps from `firstStep` on, and the control itself, read and none of them makes.
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
    m_plan->controls.emplace_back(); // its place, before those inside
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

/// Where the steps of each body are, once all of them have their place.
void Compiler::findBodies() {
    std::vector<std::uint32_t> around(m_plan->controls.size(),
                                      kNone); // the control in whose body each stands
    for (Step& step : m_plan->steps) {
        if (step.control == kNone) continue;
        m_plan->controls[step.control].step = step.index;
        around[step.control] = step.owner;
    }
    std::vector<std::uint32_t> bodyOf(m_plan->controls.size(), 0);
    for (const Step& step : m_plan->steps)
        if (step.control != kNone) bodyOf[step.control] = step.body;
    for (const Step& step : m_plan->steps) {
        std::uint32_t body = step.body;
        for (std::uint32_t owner = step.owner; owner != kNone; body = bodyOf[owner], owner = around[owner]) {
            PlanBody& range = m_plan->controls[owner].bodies[body];
            if (range.last == 0) range.first = step.index;
            range.last = step.index + 1;
        }
    }
}

/// Orders setup steps before the rest and renumbers.
void Compiler::setupFirst() {
    auto& steps = m_plan->steps;
    std::vector<std::uint32_t> before(steps.size());
    for (std::uint32_t i = 0; i < before.size(); ++i) before[i] = i;
    const auto rest =
        std::stable_partition(before.begin(), before.end(), [&](auto i) { return steps[i].setup; });
    m_plan->setupSteps = static_cast<std::uint32_t>(rest - before.begin());
    std::vector<Step> sorted;
    std::vector<bool> blocking;
    sorted.reserve(steps.size());
    for (std::uint32_t i : before) {
        sorted.push_back(std::move(steps[i]));
        sorted.back().index = static_cast<std::uint32_t>(sorted.size() - 1);
        blocking.push_back(m_blocking[i]);
    }
    steps = std::move(sorted);
    m_blocking = std::move(blocking);
}

} // namespace

std::shared_ptr<const Plan> compile(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files, const CompileOptions& options) {
    return Compiler(graph, analysis, devices, std::move(files), options).run();
}

} // namespace twb
