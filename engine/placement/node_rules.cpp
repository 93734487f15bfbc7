#include "placement/node_rules.h"

#include "backends/world.h"
#include "core/error.h"
#include "core/format.h"
#include "graph/rank_lanes.h"
#include "graph/unknown_element.h"
#include "ops/input_errors.h"
#include "ops/opaque.h"
#include "ops/plugins/plugins.h"
#include "placement/fixes.h"
#include "placement/step_transfers.h"
#include "placement/update_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace twb {
namespace {

/// Host values that are needed before the run are small: shapes, axes.
constexpr std::int64_t kMaxHostValue = 4096;

std::string portsOf(std::size_t count, std::string_view noun) {
    if (count == 0) return fmt::format("it has no {}s", noun);
    if (count == 1) return fmt::format("its only {} is number 0", noun);
    return fmt::format("its {} {}s are numbered from 0", count, noun);
}

} // namespace

void NodeRules::check(NodeFacts& facts, const Node& node, const Links& links) {
    facts.op = findOp(node.op);
    facts.device = m_devices.resolve(m_graph.deviceOf(node));
    facts.inputs = links.inputs;
    m_disabledRule.follow(facts.inputs);
    if (node.disabled) {
        const std::optional<TensorType> made = wouldMake(facts, node);
        m_disabledRule.standAside(facts, made);
        return;
    }
    checkNode(facts, node, links);
    m_disabledRule.checkReads(facts);
}

/// The type of a disabled node's output 0 if it ran; nothing if the rules reject it or do not know.
std::optional<TensorType> NodeRules::wouldMake(NodeFacts& facts, const Node& node) {
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
    m_out.diagnostics.resize(said); // the node does not run, so it has no errors
    return inferred && !facts.outputs.empty() ? facts.outputs[0] : std::nullopt;
}

/// By input port. Null: not connected, or unknown.
std::vector<const TensorType*> NodeRules::inputTypes(const NodeFacts& facts) const {
    std::vector<const TensorType*> types;
    for (const auto& from : facts.inputs) {
        const TensorType* type = nullptr;
        if (from)
            if (const auto& known = m_out.typeOf(*from)) type = &*known;
        types.push_back(type);
    }
    return types;
}

/// What the project's file says about the origin of an unknown op; empty if it says nothing.
std::string NodeRules::originOf(const std::string& op) const {
    for (const NeededPlugin& plugin : m_graph.info().plugins)
        if (std::ranges::find(plugin.ops, op) != plugin.ops.end())
            return fmt::format("it is in the plug-in {}{}, which is not loaded{}; ", plugin.name,
                               plugin.version.empty() ? "" : ' ' + plugin.version,
                               plugin.homepage.empty() ? "" : " and available at " + plugin.homepage);
    return {};
}

void NodeRules::checkNode(NodeFacts& facts, const Node& node, const Links& links) {
    if (!facts.op) {
        // A placeholder has as many outputs as its edges use, with unknown types.
        if (!links.outgoing.empty())
            facts.outputs.resize(static_cast<std::size_t>(links.outgoing.back().from.port) + 1);
        const AttributeValue* opset = node.attributes.find("opset"); // set by the import of a model
        const auto* version = opset ? std::get_if<std::int64_t>(opset) : nullptr;
        Diagnostic d = makeError(
            "unknown-op", node.id, -1,
            fmt::format("unknown op \"{}\"{} (node \"{}\"): {}it stays in the file unchanged; nodes "
                        "that do not depend on it can run",
                        node.op, version ? fmt::format(" of opset {}", *version) : "", node.name,
                        originOf(node.op)));
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
                                 fmt::format("{} has no output {}: {}; remove the edge", quoted(node),
                                             edge.from.port, portsOf(facts.outputs.size(), "output")));
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
    sound = checkDevices(facts) && sound;
    // Types are inferred in spite of a device mismatch, so that it does not hide a wrong shape.
    const bool inferred =
        complete && portsFit && inputsFit && inputsKnown && inferOutputs(facts, node, types);
    const bool bodiesFit = m_bodyRule.check(facts, node);
    if (inferred && isOpaque(*facts.op)) {
        Diagnostic d = makeError("opaque", node.id, -1, opaqueSentence(node.name, facts.attributes));
        d.severity = Severity::note;
        add(std::move(d));
    }
    const bool updatesFit = checkUpdates(m_graph, m_bodies, facts, node, m_out);
    facts.fine = inferred && bodiesFit && updatesFit && sound && checkSupport(facts, node);
}

bool NodeRules::checkPorts(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    if (op.isVariadic()) return true;
    bool fine = true;
    for (std::size_t port = op.inputs.size(); port < facts.inputs.size(); ++port) {
        if (!facts.inputs[port]) continue;
        fine = false;
        Diagnostic d = makeError("unknown-port", node.id, static_cast<int>(port),
                                 fmt::format("{} has no input {}: {}; remove the edge", quoted(node), port,
                                             portsOf(op.inputs.size(), "input")));
        d.edge = Edge{*facts.inputs[port], {node.id, static_cast<std::int32_t>(port)}};
        d.fixes.push_back(disconnectFix(m_graph, *d.edge));
        add(std::move(d));
    }
    return fine;
}

Fix NodeRules::castFix(const Edge& edge, DType dtype) const {
    Fix fix;
    fix.kind = Fix::Kind::insertCast;
    fix.title = fmt::format("insert Cast({}) on {} -> {}", name(dtype), labelOf(m_graph, edge.from.node),
                            labelOf(m_graph, edge.to.node));
    fix.node = edge.to.node;
    fix.edge = edge;
    fix.dtype = dtype;
    return fix;
}

/// An op's error about its inputs as a diagnostic of this node, with a fix.
Diagnostic NodeRules::describe(const InferError& e, const NodeFacts& facts, const Node& node) const {
    Diagnostic d = makeError(e.kind(), node.id, e.port(),
                             fmt::format("{} (when checking arguments of {})", e.what(), quoted(node)));
    const auto port = static_cast<std::size_t>(e.port());
    if (e.port() >= 0 && port < facts.inputs.size() && facts.inputs[port])
        d.edge = Edge{*facts.inputs[port], {node.id, e.port()}};
    if (d.edge && e.wantedDType()) d.fixes.push_back(castFix(*d.edge, *e.wantedDType()));
    return d;
}

bool NodeRules::checkInputs(const NodeFacts& facts, const Node& node,
                            std::span<const TensorType* const> types) {
    bool fine = true;
    for (const InferError& e : inputErrors(*facts.op, types)) {
        const auto port = static_cast<std::size_t>(e.port());
        // An unknown type is its source's error.
        if (port < types.size() && facts.inputs[port] && !types[port]) continue;
        fine = false;
        add(describe(e, facts, node));
    }
    return fine;
}

bool NodeRules::checkDevices(NodeFacts& facts) {
    bool fine = true;
    for (const int port : m_rule.mismatches(facts)) {
        const PortRef from = *facts.inputs[static_cast<std::size_t>(port)];
        const Device target = m_rule.wanted(facts, port);
        // A copy would receive the update instead of the tensor.
        const bool mayCopy = !updatesInput(*facts.op, port);
        if (mayCopy &&
            m_out.policy.actionFor(m_out.find(from.node)->device, target) != Policy::Action::disallow) {
            facts.copied.push_back(port);
            continue;
        }
        fine = false;
        add(m_rule.describe(facts, port));
    }
    return fine;
}

/// The value of an output, if it is known before the run: of a small source, of Shape with a known shape, and
/// of ops on such values.
const Tensor* NodeRules::hostValue(PortRef from, int depth) {
    constexpr int deepest = 64; // limit of such a chain of ops
    const auto at = m_out.index.find(from.node);
    if (at == m_out.index.end() || from.port != 0 || depth > deepest) return nullptr;
    NodeFacts& facts = m_out.nodes[at->second];
    if (facts.value) return &facts.value;
    const Op* op = facts.op;
    if (!op || facts.disabled || facts.outputs.size() != 1) return nullptr;
    if (facts.asked) return nullptr;
    if (op->role == OpRole::transfer && !facts.attributes.has("dtype") && !facts.inputs.empty() &&
        facts.inputs[0]) {
        facts.asked = true;
        if (const Tensor* value = hostValue(*facts.inputs[0], depth + 1)) facts.value = *value;
        return facts.value ? &facts.value : nullptr;
    }
    if (!op->kernel) return nullptr;
    if (op->role != OpRole::source && op->role != OpRole::compute) return nullptr;
    if (op->name == "Input") return nullptr; // its value may differ between runs
    if (!op->updates.empty() || isUpdated(m_graph, from)) return nullptr;
    facts.asked = true;
    const std::optional<TensorType>& type = facts.outputs[0];
    if (!type || !type->isKnown() || type->shape.elementCount() > kMaxHostValue) return nullptr;
    if (const Tensor* sizes = gatheredSizes(facts, depth)) return sizes;
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
        return nullptr; // the run will report the error
    }
}

/// The result of a Gather from the Shape of a tensor with unknown sizes, if it takes only known ones.
const Tensor* NodeRules::gatheredSizes(NodeFacts& facts, int depth) {
    if (facts.op->name != "Gather" || !facts.inputs[0] || !facts.inputs[1]) return nullptr;
    const auto at = m_out.index.find(facts.inputs[0]->node);
    NodeFacts* const list = at == m_out.index.end() ? nullptr : &m_out.nodes[at->second];
    if (!list || !list->op || list->op->name != "Shape" || list->disabled || !list->inputs[0] ||
        !list->outputs[0] || !list->outputs[0]->isKnown())
        return nullptr;
    const auto& of = m_out.typeOf(*list->inputs[0]);
    const Tensor* indices = of && !of->isKnown() ? hostValue(*facts.inputs[1], depth + 1) : nullptr;
    if (!indices) return nullptr;
    list->asked = true;
    Shape marked = of->shape;
    for (int axis = 0; axis < marked.rank(); ++axis)
        if (marked[axis] == kUnknownDim) marked[axis] = kUnknownElement;
    try {
        const Tensor sizes = Tensor::onHost(*list->outputs[0]);
        Tensor taken = Tensor::onHost(*facts.outputs[0]);
        const std::array<TensorView, 1> whole{TensorView{nullptr, of->dtype, marked, {}}};
        const std::array<TensorView, 1> all{sizes.view()};
        list->op->kernel({whole, all, list->attributes, m_files});
        const std::array<TensorView, 2> inputs{sizes.view(), indices->view()};
        const std::array<TensorView, 1> outputs{taken.view()};
        facts.op->kernel({inputs, outputs, facts.attributes, m_files});
        const std::span<const std::int64_t> elements = taken.values<std::int64_t>();
        if (std::any_of(elements.begin(), elements.end(), isUnknownElement)) return nullptr;
        facts.value = std::move(taken);
        return &facts.value;
    } catch (const Error&) {
        return nullptr; // the run will report the error
    }
}

bool NodeRules::inferOutputs(NodeFacts& facts, const Node& node, std::span<const TensorType* const> types) {
    const Op& op = *facts.op;
    std::vector<const Tensor*> values(facts.inputs.size(), nullptr);
    for (std::size_t p = 0; p < facts.inputs.size(); ++p) {
        const PortSpec& spec = op.inputAt(static_cast<int>(p));
        if (facts.inputs[p] && (spec.hostValue || spec.shapesOutput)) values[p] = hostValue(*facts.inputs[p]);
    }
    std::vector<TensorType> outputs(facts.outputs.size());
    const InferContext context(op, facts.attributes, types, values, m_files, outputs,
                               m_devices.world().size());
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
                        fmt::format("{} would create a tensor of {} ({}), but {} has {} of memory",
                                    quoted(node), formatBytes(static_cast<double>(bytes)),
                                    outputs[i].toString(), facts.device.toString(),
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

/// A To needs a kernel on one of its two devices if it changes the dtype.
bool NodeRules::checkConversion(const NodeFacts& facts, const Node& node) {
    const DType before = m_out.typeOf(*facts.inputs[0])->dtype;
    const DType after = facts.outputs[0]->dtype;
    const Device source = m_out.find(facts.inputs[0]->node)->device;
    if (before == after || convertsFirst(m_devices, source, facts.device, before, after)) return true;
    const std::string places = source == facts.device
                                   ? source.toString()
                                   : fmt::format("{} or {}", source.toString(), facts.device.toString());
    add(makeError("unsupported", node.id, -1,
                  fmt::format("{} converts {} to {}, for which {} has no kernel; convert on cpu",
                              quoted(node), name(before), name(after), places)));
    return false;
}

bool NodeRules::checkSupport(const NodeFacts& facts, const Node& node) {
    const Op& op = *facts.op;
    const Backend* backend = m_devices.find(facts.device);
    if (op.role == OpRole::transfer) return checkConversion(facts, node);
    if (op.role == OpRole::collective && dividesNodes(m_graph)) {
        add(makeError("unsupported", node.id, -1,
                      fmt::format("{} is a call of all ranks, but the lanes of other ranks divide the nodes "
                                  "among the ranks; copy tensors between their lanes with To nodes",
                                  quoted(node))));
        return false;
    }
    if (op.role == OpRole::control || op.role == OpRole::state || isOpaque(op) || !backend) return true;
    const bool usesFiles = op.role != OpRole::source && op.attribute("path");
    if (usesFiles && !facts.device.isCpu()) {
        Diagnostic d =
            makeError("unsupported", node.id, -1,
                      fmt::format("{} {} and runs only on cpu; move it to a cpu lane", quoted(node),
                                  op.role == OpRole::sink ? "writes a file" : "reads files"));
        d.fixes.push_back(moveFix(m_graph, node.id, facts.device.host()));
        add(std::move(d));
        return false;
    }
    std::vector<DType> dtypes;
    for (const auto& from : facts.inputs)
        if (from) dtypes.push_back(m_out.typeOf(*from)->dtype);
    facts.addOutputs(dtypes);
    // A file is read on the host, whatever its lane.
    const Device host = facts.device.host();
    const Backend* reader = m_devices.find(host);
    if (op.role == OpRole::source && op.attribute("path") && reader) backend = reader;
    if (backend->supports(op.name.c_str(), op.kernel, dtypes)) return true;
    std::vector<std::string_view> names;
    for (DType d : dtypes) names.push_back(name(d));
    const bool isOnHost =
        facts.device != host && reader && reader->supports(op.name.c_str(), op.kernel, dtypes);
    std::string why;
    for (const Plugin& plugin : loadedPlugins())
        if (isOnHost && std::ranges::find(plugin.ops, op.name) != plugin.ops.end())
            why = fmt::format(
                ": the plug-in {} has kernels of {} for the cpu only; move the node to a cpu lane",
                plugin.name, op.name);
    Diagnostic d =
        makeError("unsupported", node.id, -1,
                  fmt::format("{} has no kernel for {} on {} ({}){}", quoted(node), fmt::join(names, ", "),
                              facts.device.toString(), backend->info().name, why));
    if (isOnHost) d.fixes.push_back(moveFix(m_graph, node.id, host));
    add(std::move(d));
    return false;
}

} // namespace twb
