#include "backends/world.h"
#include "core/error.h"
#include "core/hash.h"
#include "ops/collectives.h"
#include "placement/device_rule.h"
#include "placement/step_transfers.h"
#include "placement/update_rule.h"
#include "runtime/compiler.h"
#include "runtime/joined_devices.h"
#include "runtime/layout_plan.h"
#include "runtime/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

const Op& castOp() {
    static const Op* const op = findOp("Cast");
    return *op;
}

} // namespace

std::shared_ptr<const Plan> Compiler::run() {
    m_plan->isPart = m_options.ownPart;
    if (!m_analysis.mayRun()) // errors come first
        throw Error(ErrorCode::badGraph,
                    fmt::format("the graph has {} error{}; the first: {}", m_analysis.errorCount(),
                                m_analysis.errorCount() == 1 ? "" : "s",
                                m_analysis.diagnostics.front().message));
    for (const ImplicitCopy& copy : m_analysis.implicitCopies)
        m_wantedCopies[{copy.from, copy.target}] = &copy;
    // Placeholders and their descendants are not sound and are left out.
    const std::vector<bool> sound = m_analysis.soundNodes();
    for (std::size_t i = 0; i < sound.size(); ++i) {
        const NodeFacts& facts = m_analysis.nodes[i];
        if (const Body* body = sound[i] && !isElsewhere(facts) ? m_bodies.around(facts.id) : nullptr)
            m_inBody[body->frame].push_back(&facts);
    }
    std::vector<bool> isPlanned = sound;
    for (std::size_t i = 0; i < sound.size(); ++i) isPlanned[i] = sound[i] || m_analysis.nodes[i].disabled;
    // The order does not depend on devices, so ranks that compile parts of a graph make their calls in one
    // order.
    m_order = orderUpdates(m_graph, m_analysis, m_bodies, isPlanned);
    for (const std::size_t i : m_order.nodes) {
        const NodeFacts& facts = m_analysis.nodes[i];
        if (isElsewhere(facts)) {
            if (sound[i]) sendFor(facts);
            continue;
        }
        if (const auto copies = m_order.copies.find(facts.id); copies != m_order.copies.end())
            for (const PortRef tensor : copies->second)
                m_before[tensor] = addIdentity(m_plan->valueOf(tensor));
        if (sound[i]) addNode(facts, *m_graph.find(facts.id));
        if (facts.disabled) passOn(facts);
    }
    if (m_options.ownPart) m_plan->devices.dropOtherRanks();
    setupFirst();
    if (m_options.fuse) {
        fuseShuffles();
        fuseJoins();
        fuseBottlenecks();
        fuseExcitations();
        fuseJoinedConvolutions();
        fuseChains();
    }
    findBodies();
    planLayouts(*m_plan);
    planMemory(*m_plan, !m_options.keepAll);
    planWaits(*m_plan, m_blocking);
    m_plan->virtualClock =
        std::any_of(m_plan->streams.begin(), m_plan->streams.end(),
                    [&](const PlanStream& s) { return m_plan->devices.isSimulated(s.device); }) ||
        std::any_of(m_plan->transfers.begin(), m_plan->transfers.end(),
                    [](const Transfer& t) { return t.modelled; });
    return m_plan;
}

std::uint32_t Compiler::streamOf(Device device, QueueKind queue) {
    const auto [at, fresh] =
        m_streams.try_emplace({device, queue}, static_cast<std::uint32_t>(m_plan->streams.size()));
    if (fresh) {
        constexpr const char* labels[] = {"compute", "host→device", "device→host", "loader", "ranks"};
        const bool isLink = queue == QueueKind::network;
        const std::string what =
            isLink ? m_plan->devices.link().name : labels[static_cast<std::size_t>(queue)];
        m_plan->streams.push_back({device, queue, fmt::format("{} {}", device.toString(), what),
                                   isLink || m_plan->devices.isSimulated(device)});
    }
    return at->second;
}

/// All calls over ranks are in one stream, so that each rank makes them in the same order. A device that
/// makes calls itself has a stream of its own.
std::uint32_t Compiler::collectiveStream(Device device) {
    if (makesCalls(m_plan->devices, device)) return streamOf(device, QueueKind::collective);
    const auto known = std::ranges::find_if(m_plan->streams, [&](const PlanStream& stream) {
        return stream.queue == QueueKind::collective && !makesCalls(m_plan->devices, stream.device);
    });
    if (known != m_plan->streams.end()) return static_cast<std::uint32_t>(known - m_plan->streams.begin());
    const std::uint32_t stream = streamOf(device, QueueKind::collective);
    if (m_plan->devices.world().info().simulated) m_plan->streams[stream].modelled = true;
    return stream;
}

/// A row of the ledger for a call over ranks. Its result differs between runs, so it is not cached.
void Compiler::addCollective(Step& step, const NodeFacts& facts) {
    const World& world = m_plan->devices.world();
    Transfer transfer;
    transfer.kind = TransferKind::collective;
    transfer.from = *facts.inputs[0];
    transfer.to = {facts.id, 0};
    transfer.node = facts.id;
    transfer.source = transfer.target = facts.device;
    transfer.modelled = world.info().simulated;
    transfer.label = step.label;
    if (!step.dynamic) {
        std::vector<TensorType> inputs;
        for (const ValueId v : step.inputs) inputs.push_back(m_plan->values[v].type);
        const CollectiveLoad load = collectiveLoad(*step.op, inputs, world.size());
        transfer.bytes = load.bytes;
        transfer.wireBytes = twb::wireBytes(load.kind, load.bytes, world.size());
        if (transfer.modelled) transfer.predictedNs = world.predictNs(load.kind, load.bytes);
        step.predictedNs = transfer.predictedNs;
    }
    step.transfer = static_cast<std::uint32_t>(m_plan->transfers.size());
    m_plan->transfers.push_back(std::move(transfer));
}

Compiler::ValueId Compiler::addValue(PortRef source, TensorType type, Device device, std::string label) {
    PlanValue value;
    value.source = source;
    value.type = std::move(type);
    value.device = device;
    value.memory = device.isCpu() ? MemoryKind::pageable : MemoryKind::device;
    value.kept = m_options.keepAll || m_options.keep.contains(source);
    value.label = std::move(label);
    value.isUpdated = isUpdated(m_graph, source);
    m_plan->values.push_back(std::move(value));
    m_producer.push_back(kNone);
    m_isAhead.push_back(false);
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

/// The signature of a result: op, attributes, device, and the signatures of its inputs.
void Compiler::sign(Step& step) {
    ContentHash hash;
    const Device device = m_plan->streams[step.stream].device;
    hash.add(step.op ? step.op->name : std::string("copy"))
        .add(device.toString())
        .add(m_plan->devices.at(device).info().name)
        .add(step.outputs.empty() ? std::string() : m_plan->values[step.outputs[0]].device.toString());
    for (const auto& [name, value] : step.attributes) {
        hash.add(name).add(toString(value));
        const AttributeSpec* spec = step.op ? step.op->attribute(name) : nullptr;
        if (spec && spec->type == AttributeType::file && step.op->role != OpRole::sink)
            hash.add(m_plan->files ? m_plan->files->fingerprint(toString(value)) : std::string());
    }
    for (ValueId v : step.inputs) hash.add(v == kNone ? 0 : m_signature[v]);
    // The results of a body differ between its runs, and so do results computed from them.
    const bool isState =
        std::ranges::any_of(step.outputs, [&](ValueId v) { return m_plan->values[v].isUpdated; });
    const bool changes = step.owner != kNone || step.control != kNone || isState ||
                         std::any_of(step.inputs.begin(), step.inputs.end(),
                                     [&](ValueId v) { return v != kNone && m_signature[v] == 0; });
    if (changes) return;
    step.signature = hash.value();
    for (std::size_t port = 0; port < step.outputs.size(); ++port)
        m_signature[step.outputs[port]] = ContentHash(hash).add(port).value();
}

/// A copy on the same device.
Compiler::ValueId Compiler::addIdentity(ValueId from) {
    static const Op& identity = *findOp("Identity");
    const PlanValue before = m_plan->values[from];
    const ValueId out = addValue(before.source, before.type, before.device, before.label);
    m_plan->values[out].kept = m_plan->values[out].isUpdated = false;
    Step& step = addStep(&identity, before.source.node, streamOf(before.device, QueueKind::compute), {from},
                         {out}, fmt::format("{} before its update", before.label), false);
    step.attributes = completeAttributes(identity, {});
    price(step);
    return out;
}

Compiler::ValueId Compiler::addCast(ValueId from, DType to, NodeId node, bool setup) {
    const PlanValue before = m_plan->values[from];
    const ValueId out = addValue({node, 0}, {to, before.type.shape}, before.device, before.label);
    const bool isAhead = m_isAhead[from] && before.device.isCpu();
    Step& step =
        addStep(&castOp(), node, streamOf(before.device, isAhead ? QueueKind::load : QueueKind::compute),
                {from}, {out}, fmt::format("{} as {}", before.label, name(to)), setup);
    setAhead(step, isAhead);
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
    const bool isAhead = m_isAhead[from] && before.device.isCpu();
    const bool isToOther = !before.device.sharesRankWith(target);
    if (isAhead) transfer.pinned = true;
    if (isToOther) transfer.pinned = blocking = false; // neither memory nor rank waits for the link
    const auto [accelerator, direction] = m_plan->devices.route(before.device, target);
    if (transfer.pinned) // its host side
        for (const ValueId v : {from, out})
            if (m_plan->values[v].device.isCpu()) m_plan->values[v].memory = MemoryKind::pinned;
    const std::uint32_t stream =
        streamOf(accelerator, isToOther                                  ? QueueKind::network
                              : direction == CopyDirection::hostToDevice ? QueueKind::hostToDevice
                                                                         : QueueKind::deviceToHost);
    transfer.source = before.device;
    transfer.target = target;
    transfer.setup = setup;
    transfer.modelled = isToOther || m_plan->devices.isSimulated(accelerator);
    if (isToOther) transfer.link = m_plan->devices.link().name;
    // A copy of a copy: "a → rank1/cuda:0", where a is the To.
    const Node* maker = m_graph.find(before.source.node);
    const bool isCopy = maker && maker->op == "To" && maker->id != transfer.node;
    transfer.label =
        fmt::format("{} → {}", isCopy ? labelOf(m_graph, maker->id) : before.label, target.toString());
    Step& step = addStep(nullptr, transfer.node, stream, {from}, {out}, transfer.label, setup);
    setAhead(step, isAhead);
    if (!step.dynamic) {
        transfer.bytes = static_cast<std::uint64_t>(before.type.byteCount());
        transfer.predictedNs =
            m_plan->devices.copyNs(before.device, target, static_cast<double>(transfer.bytes),
                                   transfer.pinned ? MemoryKind::pinned : MemoryKind::pageable);
        step.predictedNs = transfer.predictedNs;
        step.cost.bytes = static_cast<double>(transfer.bytes);
    }
    step.transfer = static_cast<std::uint32_t>(m_plan->transfers.size());
    m_blocking.back() = blocking && !isAhead;
    // A copy from pinned memory that the host does not wait for may run while the previous iteration
    // computes.
    if (transfer.pinned && !blocking && !setup && !step.dynamic && m_scopes.size() == 1 &&
        direction == CopyDirection::hostToDevice)
        m_plan->values[out].ahead = true;
    sign(step);
    m_plan->transfers.push_back(std::move(transfer));
    return out;
}

/// The value of a tensor for one of its readers.
Compiler::ValueId Compiler::valueFor(const NodeFacts& reader, PortRef from) const {
    if (!m_before.contains(from)) return m_plan->valueOf(from);
    NodeId outermost = reader.id;
    while (const Body* body = m_bodies.around(outermost)) outermost = body->owner;
    return m_order.readsCopy.contains({outermost, from}) ? m_before.at(from) : m_plan->valueOf(from);
}

Compiler::ValueId Compiler::addImplicitCopy(ValueId value, Device target, const Edge& edge, bool setup) {
    Transfer transfer;
    transfer.kind = TransferKind::implicitTo;
    transfer.from = edge.from;
    transfer.to = edge.to;
    return addCopy(value, target, std::move(transfer), setup, false);
}

Compiler::ValueId Compiler::inputFor(const NodeFacts& facts, int port) {
    const auto p = static_cast<std::size_t>(port);
    if (p >= facts.inputs.size() || !facts.inputs[p]) return kNone;
    const PortRef from = *facts.inputs[p];
    const ValueId value = valueFor(facts, from);
    const Device wanted = facts.op->inputAt(port).hostValue ? facts.device.host() : facts.device;
    if (m_plan->values[value].device == wanted) return value;
    const auto copy = m_wantedCopies.find({from, wanted});
    if (copy == m_wantedCopies.end()) return value; // a 0-dimensional cpu tensor, passed with the launch
    for (const Scope& scope : m_scopes)
        if (const auto known = m_implicit.find({scope, from, wanted}); known != m_implicit.end())
            return known->second;
    const bool setup = copy->second->hoisted && isSetup(value);
    const ValueId out = addImplicitCopy(value, wanted, copy->second->edges.front(), setup);
    m_implicit[{setup ? Scope{} : m_scopes.back(), from, wanted}] = out;
    return out;
}

void Compiler::addTo(const NodeFacts& facts, const Node& node) {
    if (isElsewhere(*m_analysis.find(facts.inputs[0]->node))) return receiveFor(facts);
    ValueId value = valueFor(facts, *facts.inputs[0]);
    const TensorType& wanted = *facts.outputs[0];
    const Device source = m_plan->values[value].device;
    const DType before = m_plan->values[value].type.dtype;
    const bool castFirst =
        before != wanted.dtype &&
        convertsFirst(m_plan->devices, source, facts.device, before, wanted.dtype).value_or(true);
    const bool setup = isSetup(value) && m_graph.runsOnce(node);
    if (castFirst) value = addCast(value, wanted.dtype, node.id, setup);
    if (source != facts.device) {
        Transfer transfer;
        transfer.kind = TransferKind::explicitTo;
        transfer.from = m_graph.sourceOf({node.id, 0}).value_or(*facts.inputs[0]);
        transfer.to = {node.id, 0};
        transfer.node = node.id;
        transfer.pinned = facts.attributes.flag("pin_memory");
        value =
            addCopy(value, facts.device, std::move(transfer), setup, !facts.attributes.flag("non_blocking"));
    }
    if (before != wanted.dtype && !castFirst) value = addCast(value, wanted.dtype, node.id, setup);
    // Without a change of device and dtype it is free: an alias of the tensor, unless that changes later.
    if (m_plan->values[value].isUpdated) value = addIdentity(value);
    m_plan->valuesOfNode[node.id] = {value};
    if (m_options.keep.contains({node.id, 0})) m_plan->values[value].kept = true;
}

/// A request for the result of a disabled node gets the tensor that is passed on instead.
void Compiler::passOn(const NodeFacts& facts) {
    const ValueId value = facts.passes ? valueFor(facts, *facts.passes) : kNone;
    if (value == kNone) return;
    m_plan->valuesOfNode[facts.id] = {value};
    if (m_options.keep.contains({facts.id, 0})) m_plan->values[value].kept = true;
}

void Compiler::addStagedFile(const NodeFacts& facts, const Node& node) {
    const std::string label = labelOf(m_graph, node.id);
    const Device reader = facts.device.host();
    const ValueId host = addValue({node.id, 0}, *facts.outputs[0], reader, label);
    m_plan->values[host].kept = m_plan->values[host].isUpdated = false;
    Step& read = addStep(facts.op, node.id, streamOf(reader, QueueKind::compute), {}, {host}, label, true);
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
    std::vector<ValueId> inputs;
    for (std::size_t port = 0; port < facts.inputs.size(); ++port)
        inputs.push_back(inputFor(facts, static_cast<int>(port)));
    const bool setup =
        facts.op->role == OpRole::source ||
        (facts.op->role == OpRole::compute && m_graph.runsOnce(node) &&
         std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return v == kNone || isSetup(v); }));
    if (facts.op->role == OpRole::sink)
        for (ValueId v : inputs)
            if (v != kNone) m_plan->values[v].kept = true;
    if (!facts.op->kernel) return; // a Probe only keeps its input
    const std::string label = labelOf(m_graph, node.id);
    const bool isCollective = facts.op->role == OpRole::collective;
    const bool isByHost = isCollective && callsByHost(m_plan->devices, facts.device);
    const Device device = isByHost ? facts.device.host() : facts.device;
    const auto copyFor = [&](ValueId value, Device target, PortRef from, std::size_t port) {
        if (value == kNone || m_plan->values[value].device == target) return value;
        return addImplicitCopy(value, target, {from, {node.id, static_cast<std::int32_t>(port)}}, false);
    };
    if (isByHost)
        for (std::size_t port = 0; port < inputs.size(); ++port)
            inputs[port] = copyFor(inputs[port], device, *facts.inputs[port], port);
    std::vector<ValueId> outputs;
    for (std::size_t port = 0; port < facts.outputs.size(); ++port)
        outputs.push_back(
            addValue({node.id, static_cast<std::int32_t>(port)}, *facts.outputs[port], device, label));
    for (std::size_t port = 0; port < outputs.size(); ++port) {
        const auto reads = [&](const Edge& edge) {
            return edge.from.port == static_cast<std::int32_t>(port);
        };
        const auto& readers = m_graph.outgoing(node.id);
        PlanValue& value = m_plan->values[outputs[port]];
        value.absent = facts.op->outputAt(static_cast<int>(port)).optional && !value.kept &&
                       std::none_of(readers.begin(), readers.end(), reads);
    }
    const bool isAhead = runsAhead(facts, inputs, outputs);
    const std::uint32_t stream = isCollective
                                     ? collectiveStream(device)
                                     : streamOf(facts.device, isAhead ? QueueKind::load : QueueKind::compute);
    Step& step = addStep(facts.op, node.id, stream, std::move(inputs), outputs, label, setup);
    setAhead(step, isAhead);
    step.attributes = facts.attributes;
    step.last = facts.op->role == OpRole::sink;
    price(step);
    if (isCollective)
        addCollective(step, facts);
    else
        sign(step);
    if (facts.op->role == OpRole::sink) step.signature = 0; // it has an effect, so it always runs
    bindUpdates(step);
    if (isByHost)
        for (std::size_t port = 0; port < outputs.size(); ++port) {
            PlanValue& onHost = m_plan->values[outputs[port]];
            onHost.kept = onHost.isUpdated = false;
            outputs[port] = copyFor(outputs[port], facts.device, onHost.source, port);
        }
    m_plan->valuesOfNode[node.id] = std::move(outputs);
}

/// Whether a loader thread runs the op: it loads batches ahead, or prepares such batches on the cpu. Raises
/// Plan::inFlight to the number of batches that are loaded ahead, plus 1.
bool Compiler::runsAhead(const NodeFacts& facts, const std::vector<ValueId>& inputs,
                         const std::vector<ValueId>& outputs) {
    const auto isKnown = [&](ValueId v) { return m_plan->values[v].type.isKnown(); };
    if (!facts.device.isCpu() || m_scopes.size() > 1 || facts.op->role != OpRole::compute ||
        !facts.op->updates.empty() || !std::ranges::all_of(outputs, isKnown))
        return false;
    const std::int64_t batches = facts.attributes.has("prefetch") ? facts.attributes.integer("prefetch") : 0;
    m_plan->inFlight = std::max(m_plan->inFlight, static_cast<std::uint32_t>(batches) + 1);
    const auto comesAhead = [&](ValueId v) { return v == kNone || m_isAhead[v] || isSetup(v); };
    return batches > 0 ||
           (std::ranges::all_of(inputs, comesAhead) &&
            std::ranges::any_of(inputs, [&](ValueId v) { return v != kNone && m_isAhead[v]; }));
}

void Compiler::setAhead(Step& step, bool isAhead) {
    step.ahead = isAhead;
    for (const ValueId v : step.outputs) m_isAhead[v] = isAhead;
}

/// The outputs of an update are the tensors that it writes.
void Compiler::bindUpdates(Step& step) {
    for (std::size_t i = 0; i < step.op->updates.size(); ++i) {
        const auto port = static_cast<std::size_t>(step.op->updates[i]);
        const ValueId written = port < step.inputs.size() ? step.inputs[port] : kNone;
        PlanValue& output = m_plan->values[step.outputs[i]];
        output.absent = written == kNone;
        output.updateOf = written;
        if (written != kNone) step.signature = 0;
    }
}

/// Moves setup steps to the front and renumbers.
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

std::shared_ptr<const Plan> compile(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files, const CompileOptions& options) {
    return Compiler(graph, analysis, devices, std::move(files), options).run();
}

} // namespace twb
