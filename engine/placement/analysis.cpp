#include "placement/analysis.h"

#include "core/error.h"
#include "core/format.h"
#include "ops/input_errors.h"
#include "placement/body_rule.h"
#include "placement/cycle_rule.h"
#include "placement/device_rule.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"
#include "placement/lints.h"
#include "placement/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

namespace twb {
namespace {

/// Values that the host may need before the run are small: shapes, axes.
constexpr std::int64_t kMaxHostValue = 4096;

class Analyzer {
public:
    Analyzer(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files)
        : m_graph(graph), m_devices(devices), m_files(files), m_bodies(graph), m_topology(graph, m_bodies),
          m_rule(graph, devices, m_out), m_bodyRule(graph, m_bodies, m_out),
          m_disabledRule(graph, m_bodies, m_out) {
        m_out.policy = policy;
    }

    Analysis run();

private:
    void addNode(std::uint32_t index);
    void checkLanes();
    void checkNode(NodeFacts& facts, const Node& node, const Links& links);
    std::optional<TensorType> wouldMake(NodeFacts& facts, const Node& node);
    std::vector<const TensorType*> inputTypes(const NodeFacts& facts) const;
    bool checkPorts(const NodeFacts& facts, const Node& node);
    bool checkInputs(const NodeFacts& facts, const Node& node, std::span<const TensorType* const> types);
    void checkDevices(NodeFacts& facts, bool& sound);
    bool inferOutputs(NodeFacts& facts, const Node& node, std::span<const TensorType* const> types);
    bool checkSupport(const NodeFacts& facts, const Node& node);
    const Tensor* hostValue(PortRef from, int depth = 0);
    void add(Diagnostic d) { m_out.diagnostics.push_back(std::move(d)); }
    Diagnostic describe(const InferError& e, const NodeFacts& facts, const Node& node) const;
    Fix castFix(const Edge& edge, DType dtype) const {
        Fix fix;
        fix.kind = Fix::Kind::insertCast;
        fix.title = fmt::format("insert Cast({}) on {} -> {}", name(dtype), labelOf(m_graph, edge.from.node),
                                labelOf(m_graph, edge.to.node));
        fix.node = edge.to.node;
        fix.edge = edge;
        fix.dtype = dtype;
        return fix;
    }

    const Graph& m_graph;
    const DeviceMap& m_devices;
    const TensorFiles* m_files;
    Bodies m_bodies;
    Topology m_topology;
    Analysis m_out;
    DeviceRule m_rule;
    BodyRule m_bodyRule;
    DisabledRule m_disabledRule;
    std::vector<bool> m_valuesTried; ///< by node of m_out: hostValue() has found it or given it up
    std::map<std::pair<PortRef, Device>, std::size_t> m_copies; ///< into m_out.implicitCopies
};

Analysis Analyzer::run() {
    m_out.nodes.reserve(m_topology.nodes.size());
    m_valuesTried.resize(m_topology.nodes.size());
    m_out.index.reserve(m_topology.nodes.size());
    checkLanes();
    for (std::uint32_t index : m_topology.order) addNode(index);
    if (m_topology.order.size() < m_topology.nodes.size()) {
        for (std::uint32_t index = 0; index < m_topology.nodes.size(); ++index)
            if (!m_out.index.contains(m_topology.nodes[index]->id)) addNode(index);
        addCycles(m_graph, m_topology, m_out.diagnostics);
    }
    for (Diagnostic& d : m_out.diagnostics)
        if (d.code == "device-mismatch") m_rule.addFixes(d);
    addLints(m_graph, m_devices, m_out);
    m_disabledRule.nameEdges();
    std::stable_sort(m_out.diagnostics.begin(), m_out.diagnostics.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
    return std::move(m_out);
}

void Analyzer::checkLanes() {
    std::map<Device, const Lane*> missing;
    for (const Lane& lane : m_graph.lanes()) {
        if (lane.device.isAuto()) {
            const Device took = m_devices.resolve(lane.device);
            Diagnostic d;
            d.severity = Severity::note;
            d.code = "auto-device";
            d.message =
                took.isCpu()
                    ? "auto took cpu: this run has no cuda:0 (a simulated one counts when it is chosen, for "
                      "example with --device-map cuda:0=simulated:h200)"
                    : fmt::format("auto took {}: {}", took.toString(), m_devices.at(took).info().name);
            add(std::move(d));
        }
        if (!m_devices.find(lane.device)) missing.emplace(lane.device, &lane);
    }
    for (const auto& [device, lane] : missing)
        add(makeError(
            "missing-device", NodeId::none, -1,
            fmt::format("nothing stands behind {0} in this run; map it, for example with --device-map "
                        "{0}=simulated:h200",
                        device.toString())));
}

void Analyzer::addNode(std::uint32_t index) {
    const Node& node = *m_topology.nodes[index];
    m_out.index.emplace(node.id, static_cast<std::uint32_t>(m_out.nodes.size()));
    NodeFacts& facts = m_out.nodes.emplace_back();
    facts.id = node.id;
    facts.op = findOp(node.op);
    facts.device = m_devices.resolve(m_graph.deviceOf(node));
    facts.inputs = m_topology.links[index]->inputs;
    m_disabledRule.follow(facts.inputs);
    if (node.disabled) {
        const std::optional<TensorType> made = wouldMake(facts, node);
        m_disabledRule.standAside(facts, made);
        return;
    }
    checkNode(facts, node, *m_topology.links[index]);
    m_disabledRule.checkReads(facts);
}

/// The type of a disabled node's output 0, if it ran; nothing where the rules would not let it, or do not
/// know.
std::optional<TensorType> Analyzer::wouldMake(NodeFacts& facts, const Node& node) {
    facts.outputs.resize(1);
    if (!facts.op) return std::nullopt;
    const std::size_t said = m_out.diagnostics.size();
    try {
        facts.attributes = completeAttributes(*facts.op, node.attributes);
    } catch (const InferError&) {
        return std::nullopt;
    }
    facts.outputs.resize(static_cast<std::size_t>(facts.op->outputCount(facts.attributes)));
    const std::vector<const TensorType*> types = inputTypes(facts);
    bool known = true;
    for (std::size_t port = 0; port < types.size(); ++port)
        known = known && (types[port] || !facts.inputs[port]);
    const bool inferred = known && checkPorts(facts, node) && checkInputs(facts, node, types) &&
                          inferOutputs(facts, node, types);
    m_out.diagnostics.resize(said); // it is not run: nothing is wrong with it
    return inferred && !facts.outputs.empty() ? facts.outputs[0] : std::nullopt;
}

/// By input port. Null: not connected, or not known.
std::vector<const TensorType*> Analyzer::inputTypes(const NodeFacts& facts) const {
    std::vector<const TensorType*> types;
    for (const auto& from : facts.inputs) {
        const TensorType* type = nullptr;
        if (from)
            if (const auto& known = m_out.typeOf(*from)) type = &*known;
        types.push_back(type);
    }
    return types;
}

void Analyzer::checkNode(NodeFacts& facts, const Node& node, const Links& links) {
    if (!facts.op) {
        // A placeholder has the outputs that its edges say it has, of types nobody knows.
        if (!links.outgoing.empty())
            facts.outputs.resize(static_cast<std::size_t>(links.outgoing.back().from.port) + 1);
        const AttributeValue* opset = node.attributes.find("opset"); // as the import of a model leaves it
        const auto* version = opset ? std::get_if<std::int64_t>(opset) : nullptr;
        Diagnostic d = makeError(
            "unknown-op", node.id, -1,
            fmt::format("there is no op \"{}\"{} (node \"{}\"); it is kept as it is, and what does not "
                        "depend on it can run",
                        node.op, version ? fmt::format(" of opset {}", *version) : "", node.name));
        Fix remove;
        remove.kind = Fix::Kind::removeNode;
        remove.title = fmt::format("remove {}", labelOf(m_graph, node.id));
        remove.node = node.id;
        d.fixes.push_back(std::move(remove));
        add(std::move(d));
        return;
    }
    bool sound = m_devices.find(facts.device) != nullptr;
    try {
        facts.attributes = completeAttributes(*facts.op, node.attributes);
    } catch (const InferError& e) {
        sound = false;
        add(makeError("attribute", node.id, -1, fmt::format("{} (of {})", e.what(), quoted(node))));
    }
    facts.outputs.resize(static_cast<std::size_t>(facts.op->outputCount(facts.attributes)));
    for (const Edge& edge : links.outgoing) {
        if (edge.from.port < static_cast<std::int32_t>(facts.outputs.size())) continue;
        Diagnostic d = makeError("unknown-port", node.id, -1,
                                 fmt::format("{} has no output {}; it has {}", quoted(node), edge.from.port,
                                             facts.outputs.size()));
        d.edge = edge;
        d.fixes.push_back(disconnectFix(m_graph, edge));
        add(std::move(d));
    }
    const std::vector<const TensorType*> types = inputTypes(facts);
    bool inputsKnown = true;
    for (std::size_t port = 0; port < types.size(); ++port)
        inputsKnown = inputsKnown && (types[port] || !facts.inputs[port]);
    const bool complete = sound;
    const bool portsFit = checkPorts(facts, node);
    const bool inputsFit = checkInputs(facts, node, types);
    checkDevices(facts, sound);
    // A device mismatch leaves the types alone: they are inferred all the same, so that one wrong device does
    // not hide a wrong shape behind it.
    const bool inferred =
        complete && portsFit && inputsFit && inputsKnown && inferOutputs(facts, node, types);
    const bool bodiesFit = m_bodyRule.check(facts, node);
    sound = inferred && bodiesFit && sound && checkSupport(facts, node);
    for (const auto& from : facts.inputs) {
        if (!from) continue;
        const NodeFacts* source = m_out.find(from->node);
        sound = sound && source && source->sound;
    }
    facts.sound = sound;
}

bool Analyzer::checkPorts(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    if (op.isVariadic()) return true;
    bool fine = true;
    for (std::size_t port = op.inputs.size(); port < facts.inputs.size(); ++port) {
        if (!facts.inputs[port]) continue;
        fine = false;
        Diagnostic d =
            makeError("unknown-port", node.id, static_cast<int>(port),
                      fmt::format("{} has no input {}; it has {}", quoted(node), port, op.inputs.size()));
        d.edge = Edge{*facts.inputs[port], {node.id, static_cast<std::int32_t>(port)}};
        d.fixes.push_back(disconnectFix(m_graph, *d.edge));
        add(std::move(d));
    }
    return fine;
}

/// What an op says of its inputs, as a diagnostic of this node, with the fix that its kind has.
Diagnostic Analyzer::describe(const InferError& e, const NodeFacts& facts, const Node& node) const {
    Diagnostic d = makeError(e.kind(), node.id, e.port(),
                             fmt::format("{} (when checking arguments of {})", e.what(), quoted(node)));
    const auto port = static_cast<std::size_t>(e.port());
    if (e.port() >= 0 && port < facts.inputs.size() && facts.inputs[port])
        d.edge = Edge{*facts.inputs[port], {node.id, e.port()}};
    if (d.edge && e.wantedDType()) d.fixes.push_back(castFix(*d.edge, *e.wantedDType()));
    return d;
}

bool Analyzer::checkInputs(const NodeFacts& facts, const Node& node,
                           std::span<const TensorType* const> types) {
    bool fine = true;
    for (const InferError& e : inputErrors(*facts.op, types)) {
        const auto port = static_cast<std::size_t>(e.port());
        // A type that is not known is its source's fault, and an error there.
        if (port < types.size() && facts.inputs[port] && !types[port]) continue;
        fine = false;
        add(describe(e, facts, node));
    }
    return fine;
}

void Analyzer::checkDevices(NodeFacts& facts, bool& sound) {
    for (int port : m_rule.mismatches(facts)) {
        const PortRef from = *facts.inputs[static_cast<std::size_t>(port)];
        const Device target = m_rule.wanted(facts, port);
        const Policy::Action action = m_out.policy.actionFor(m_out.find(from.node)->device, target);
        if (action == Policy::Action::disallow) {
            sound = false;
            add(m_rule.describe(facts, port));
            continue;
        }
        const Edge edge{from, {facts.id, port}};
        const auto [known, fresh] = m_copies.try_emplace({from, target}, m_out.implicitCopies.size());
        if (!fresh) {
            m_out.implicitCopies[known->second].edges.push_back(edge);
            continue;
        }
        const NodeFacts& source = *m_out.find(from.node);
        ImplicitCopy copy;
        copy.from = from;
        copy.target = target;
        copy.edges.push_back(edge);
        copy.hoisted = source.op && source.op->role == OpRole::source;
        if (const auto& type = m_out.typeOf(from))
            copy.price = priceOfTransfer(*type, source.device, target, false, m_devices);
        m_out.implicitCopies.push_back(copy);
        if (action == Policy::Action::allow) continue;
        Diagnostic d;
        d.severity = Severity::warning;
        d.code = "implicit-transfer";
        d.node = facts.id;
        d.port = port;
        d.edge = edge;
        d.message = fmt::format("{} is copied from {} to {} for {}{}", labelOf(m_graph, from.node),
                                source.device.toString(), target.toString(), labelOf(m_graph, facts.id),
                                copy.hoisted ? ", once before the first iteration" : ", in every iteration");
        Fix fix;
        fix.kind = Fix::Kind::insertTo;
        fix.title = fmt::format("make it a To({}) on {} -> {}", target.toString(),
                                labelOf(m_graph, from.node), labelOf(m_graph, facts.id));
        fix.node = facts.id;
        fix.edge = edge;
        fix.device = target;
        fix.price = copy.price;
        d.fixes.push_back(std::move(fix));
        add(std::move(d));
    }
}

/// The tensor that an output will be, where the host can know it before the run: a small source, the Shape of
/// a known shape, and what is computed from those alone.
const Tensor* Analyzer::hostValue(PortRef from, int depth) {
    constexpr int deepest = 64; // how far a chain of such ops is followed
    const auto at = m_out.index.find(from.node);
    if (at == m_out.index.end() || from.port != 0 || depth > deepest) return nullptr;
    NodeFacts& facts = m_out.nodes[at->second];
    if (facts.value) return &facts.value;
    const Op* op = facts.op;
    if (!op || !op->kernel || facts.disabled || facts.outputs.size() != 1) return nullptr;
    if (m_valuesTried[at->second]) return nullptr;
    if (op->role != OpRole::source && op->role != OpRole::compute) return nullptr;
    if (op->name == "Input") return nullptr; // another run may be given another one
    m_valuesTried[at->second] = true;
    const std::optional<TensorType>& type = facts.outputs[0];
    if (!type || !type->isKnown() || type->shape.elementCount() > kMaxHostValue) return nullptr;
    std::vector<TensorView> inputs;
    for (const auto& source : facts.inputs) {
        TensorView& view = inputs.emplace_back();
        if (!source) continue;
        const auto& inputType = m_out.typeOf(*source);
        if (!inputType || !inputType->isKnown()) return nullptr;
        view = {nullptr, inputType->dtype, inputType->shape, denseStrides(inputType->shape)};
        if (op->readsTypesOnly) continue;
        const Tensor* value = hostValue(*source, depth + 1);
        if (!value) return nullptr;
        view = value->view();
    }
    try {
        Tensor value = Tensor::onHost(*type);
        const std::array<TensorView, 1> outputs{value.view()};
        op->kernel({inputs, outputs, facts.attributes, m_files});
        facts.value = std::move(value);
        return &facts.value;
    } catch (const Error&) {
        return nullptr; // the run will say what is wrong with it
    }
}

bool Analyzer::inferOutputs(NodeFacts& facts, const Node& node, std::span<const TensorType* const> types) {
    const Op& op = *facts.op;
    std::vector<const Tensor*> values(facts.inputs.size(), nullptr);
    for (std::size_t p = 0; p < facts.inputs.size(); ++p) {
        const PortSpec& spec = op.inputAt(static_cast<int>(p));
        if (facts.inputs[p] && (spec.hostValue || spec.shapesOutput)) values[p] = hostValue(*facts.inputs[p]);
    }
    std::vector<TensorType> outputs(facts.outputs.size());
    const InferContext context(op, facts.attributes, types, values, m_files, outputs);
    try {
        InferContext writable = context;
        op.infer(writable);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].isKnown()) {
                const auto bytes = static_cast<std::uint64_t>(outputs[i].byteCount());
                const Backend* backend = m_devices.find(facts.device);
                if (backend && bytes > backend->info().memoryBytes) {
                    add(makeError(
                        "too-large", node.id, -1,
                        fmt::format("{} would make a tensor of {} ({}); {} has {} of memory", quoted(node),
                                    formatBytes(static_cast<double>(bytes)), outputs[i].toString(),
                                    facts.device.toString(),
                                    formatBytes(static_cast<double>(backend->info().memoryBytes)))));
                    return false;
                }
            }
            facts.outputs[i] = std::move(outputs[i]);
        }
        return true;
    } catch (const InferError& e) {
        add(describe(e, facts, node));
    } catch (const Error& e) {
        const bool file = e.code() == ErrorCode::io || e.code() == ErrorCode::badFile;
        add(makeError(file ? "file" : "too-large", node.id, -1,
                      fmt::format("{} (of {})", e.what(), quoted(node))));
    }
    return false;
}

bool Analyzer::checkSupport(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    const Backend* backend = m_devices.find(facts.device);
    if (op.role == OpRole::transfer || op.role == OpRole::control || op.role == OpRole::state || !backend)
        return true;
    if (node.op == "Save" && !facts.device.isCpu()) {
        Diagnostic d = makeError("unsupported", node.id, -1,
                                 fmt::format("{} writes a file and runs on cpu only", quoted(node)));
        d.fixes.push_back(moveFix(m_graph, node.id, Device::cpu()));
        add(std::move(d));
        return false;
    }
    std::vector<DType> dtypes;
    for (const auto& from : facts.inputs)
        if (from) dtypes.push_back(m_out.typeOf(*from)->dtype);
    for (const auto& output : facts.outputs)
        if (dtypes.empty() && output) dtypes.push_back(output->dtype);
    // A file is read on the host wherever its tensor goes.
    if (op.role == OpRole::source && op.attribute("path")) backend = &m_devices.at(Device::cpu());
    if (backend->supports(op.name.c_str(), op.kernel, dtypes)) return true;
    std::vector<std::string_view> names;
    for (DType d : dtypes) names.push_back(name(d));
    Diagnostic d =
        makeError("unsupported", node.id, -1,
                  fmt::format("{} has no kernel for {} on {} ({})", quoted(node), fmt::join(names, ", "),
                              facts.device.toString(), backend->info().name));
    if (!facts.device.isCpu() && m_devices.at(Device::cpu()).supports(op.name.c_str(), op.kernel, dtypes))
        d.fixes.push_back(moveFix(m_graph, node.id, Device::cpu()));
    add(std::move(d));
    return false;
}

} // namespace

const NodeFacts* Analysis::find(NodeId id) const noexcept {
    const auto at = index.find(id);
    return at == index.end() ? nullptr : &nodes[at->second];
}

const std::optional<TensorType>& Analysis::typeOf(PortRef output) const noexcept {
    static const std::optional<TensorType> unknown;
    const NodeFacts* facts = find(output.node);
    const auto port = static_cast<std::size_t>(output.port);
    return facts && output.port >= 0 && port < facts->outputs.size() ? facts->outputs[port] : unknown;
}

std::optional<PortRef> Analysis::sourceOf(PortRef input) const noexcept {
    const NodeFacts* facts = find(input.node);
    const auto port = static_cast<std::size_t>(input.port);
    return facts && input.port >= 0 && port < facts->inputs.size() ? facts->inputs[port] : std::nullopt;
}

std::size_t Analysis::errorCount() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

bool Analysis::mayRun() const noexcept {
    return std::none_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
        return d.severity == Severity::error && d.code != "unknown-op";
    });
}

Analysis analyze(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files) {
    return Analyzer(graph, devices, policy, files).run();
}

} // namespace twb
