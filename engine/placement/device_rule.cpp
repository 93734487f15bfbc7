#include "placement/device_rule.h"

#include "core/error.h"
#include "graph/folding.h"
#include "ops/opaque.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"
#include "placement/update_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twb {
namespace {

constexpr std::size_t kMostOperands = 32; ///< listed under a message

bool isScalar(const std::optional<TensorType>& type) { return type && type->shape.rank() == 0; }

/// The operand's name in messages: PyTorch's, numbered for a variadic input.
std::string argumentName(const Op& op, int port) {
    const PortSpec& spec = op.inputAt(port);
    const std::string& name = spec.argument.empty() ? spec.name : spec.argument;
    if (!spec.variadic) return name;
    return fmt::format("{}[{}]", name, port - (static_cast<int>(op.inputs.size()) - 1));
}

} // namespace

std::string labelOf(const Graph& graph, NodeId id) {
    const Node* node = graph.find(id);
    if (!node) return fmt::format("node {}", value(id));
    return node->name.empty() ? node->op : node->name;
}

std::string quoted(const Node& node) { return fmt::format("{} \"{}\"", node.op, node.name); }

Device DeviceRule::deviceOf(NodeId node, const Moves& moves) const {
    const auto moved = moves.find(node);
    return moved == moves.end() ? m_analysis.find(node)->device : moved->second;
}

Device DeviceRule::wanted(const NodeFacts& facts, int port, const Moves& moves) const {
    const auto moved = moves.find(facts.id);
    const Device own = moved == moves.end() ? facts.device : moved->second;
    return facts.op && facts.op->inputAt(port).hostValue ? own.host() : own;
}

std::vector<int> DeviceRule::mismatches(const NodeFacts& facts, const Moves& moves) const {
    std::vector<int> out;
    if (!facts.op || facts.op->role == OpRole::transfer) return out;
    bool anyAtHome = false;
    bool onlyScalars = true;
    const auto moved = moves.find(facts.id);
    const Device host = (moved == moves.end() ? facts.device : moved->second).host();
    const auto isHostScalar = [&](PortRef from) {
        return deviceOf(from.node, moves) == host && isScalar(m_analysis.typeOf(from));
    };
    const int ports = std::min(static_cast<int>(facts.inputs.size()),
                               facts.op->isVariadic() ? 1 << 20 : static_cast<int>(facts.op->inputs.size()));
    for (int port = 0; port < ports; ++port) {
        const auto& from = facts.inputs[static_cast<std::size_t>(port)];
        if (!from) continue;
        const NodeFacts* source = m_analysis.find(from->node);
        if (!source || source->disabled) continue;
        if (deviceOf(source->id, moves) == wanted(facts, port, moves)) {
            anyAtHome = anyAtHome || !facts.op->inputAt(port).hostValue;
            continue;
        }
        out.push_back(port);
        onlyScalars = onlyScalars && isHostScalar(*from) && !facts.op->inputAt(port).hostValue;
    }
    // Scalars alone do not bring an op to another device: at least one operand must be on the op's device.
    if (!takesHostScalars(*facts.op, facts.attributes) || !anyAtHome) return out;
    if (onlyScalars) return {};
    std::erase_if(out, [&](int port) { return isHostScalar(*facts.inputs[static_cast<std::size_t>(port)]); });
    return out;
}

std::string DeviceRule::origin(const NodeFacts& source) const {
    // Follows the tensor back to the node that determined its device: a source, a To, or a node without
    // inputs.
    const NodeFacts* at = &source;
    for (std::size_t steps = 0; steps < kFarthestOrigin; ++steps) {
        const Node* node = m_graph.find(at->id);
        if (!node) return {};
        const bool decides =
            !at->op || at->op->role != OpRole::compute || at->inputs.empty() || !at->inputs[0];
        if (decides) {
            const Device device = at->device;
            const std::string where =
                node->source ? fmt::format(" at {}", toShortString(*node->source)) : std::string();
            if (at->op && at->op->role == OpRole::transfer)
                return fmt::format("from To \"{}\", moved to {}{}", node->name, device.toString(), where);
            std::string what = node->op;
            if (const AttributeValue* path = at->attributes.find("path"))
                if (const auto* text = std::get_if<std::string>(path)) what += fmt::format(" \"{}\"", *text);
            return fmt::format("from {}, created on {}{}", what, device.toString(), where);
        }
        const NodeFacts* before = m_analysis.find(at->inputs[0]->node);
        if (!before || before->device != at->device)
            return fmt::format("from {}, computed on {}", quoted(*node), at->device.toString());
        at = before;
    }
    return fmt::format("computed on {}", source.device.toString());
}

bool DeviceRule::hasOperandAtHome(const NodeFacts& facts) const {
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        const auto& from = facts.inputs[port];
        const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
        if (source && source->device == facts.device && !facts.op->inputAt(static_cast<int>(port)).hostValue)
            return true;
    }
    return false;
}

Diagnostic DeviceRule::describe(const NodeFacts& facts, int port) const {
    const Node& node = *m_graph.find(facts.id);
    const PortRef from = *facts.inputs[static_cast<std::size_t>(port)];
    const NodeFacts& source = *m_analysis.find(from.node);
    const std::string argument = argumentName(*facts.op, port);

    Diagnostic d = makeError("device-mismatch", facts.id, port, {});
    d.edge = Edge{from, {facts.id, port}};
    // The wording is that of PyTorch (ATen/core/adaption.cpp) and JAX (jax.transfer_guard), so that users can
    // search for it.
    if (m_analysis.policy.kind() == Policy::Kind::guard) {
        const Device target = wanted(facts, port);
        const auto direction = Policy::directionOf(source.device, target);
        d.message =
            fmt::format("Disallowed {} transfer: {} is on {}, but {} reads it on {} (the guard policy "
                        "says {}=disallow; a To node is always allowed)",
                        longName(direction), argument, source.device.toString(), quoted(node),
                        target.toString(), name(direction));
    } else if (facts.op->inputAt(port).hostValue)
        d.message = fmt::format("Expected {} to be on {}, where the host reads it, but got {} is on {} (when "
                                "checking arguments of {})",
                                argument, facts.device.host().toString(), argument, source.device.toString(),
                                quoted(node));
    else if (facts.op->role == OpRole::sink && facts.device.isCpu() &&
             source.device.sharesRankWith(facts.device) && (node.op == "Save" || node.source))
        d.message = fmt::format(
            "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first. (when checking arguments of {})",
            source.device.toString(), quoted(node));
    else if (hasOperandAtHome(facts))
        d.message =
            fmt::format("Expected all tensors to be on the same device, but got {} is on {}, different from "
                        "other tensors on {} (when checking arguments of {})",
                        argument, source.device.toString(), facts.device.toString(), quoted(node));
    else
        d.message = fmt::format("Expected all tensors to be on the same device, but got {} is on {} and the "
                                "op is on {} (when checking arguments of {})",
                                argument, source.device.toString(), facts.device.toString(), quoted(node));

    for (std::size_t p = 0; p < facts.inputs.size(); ++p) {
        // For an op with very many operands, lists the first ones and the mismatched one.
        if (p >= kMostOperands && p != static_cast<std::size_t>(port)) continue;
        const auto& operandFrom = facts.inputs[p];
        if (!operandFrom) continue;
        if (!facts.op->isVariadic() && p >= facts.op->inputs.size()) continue;
        const NodeFacts* operand = m_analysis.find(operandFrom->node);
        if (!operand) continue;
        const int operandPort = static_cast<int>(p);
        d.operands.push_back(
            {argumentName(*facts.op, operandPort), labelOf(m_graph, operandFrom->node), operand->device,
             operand->device == wanted(facts, operandPort) ? std::string() : origin(*operand)});
    }
    return d;
}

Moves DeviceRule::movesOf(NodeId node, Device device) const {
    Moves moves;
    for (const NodeId id : movedWith(m_graph, node, device))
        if (m_analysis.find(id)->device != device) moves.emplace(id, device);
    return moves;
}

bool DeviceRule::mayStandOn(NodeId id, Device device) const {
    const NodeFacts& facts = *m_analysis.find(id);
    const Backend* backend = m_devices.find(device);
    if (!facts.op || !backend || m_graph.find(id)->pinned) return false;
    const bool hasFile = facts.op->attribute("path");
    if (facts.op->role != OpRole::source && hasFile) return device.isCpu();
    if (facts.op->role == OpRole::sink) return true;
    if (!facts.op->kernel || isOpaque(*facts.op) || (facts.op->role == OpRole::source && hasFile))
        return true;
    std::vector<DType> dtypes;
    for (const auto& from : facts.inputs)
        if (const auto type = from ? m_analysis.typeOf(*from) : std::nullopt) dtypes.push_back(type->dtype);
    facts.addOutputs(dtypes);
    return backend->supports(facts.op->name.c_str(), facts.op->kernel, dtypes);
}

std::vector<Fix> DeviceRule::copiesFor(const Moves& moves) const {
    std::set<NodeId> nodes; // their operands may be on another device after the moves
    for (const auto& [node, device] : moves) {
        nodes.insert(node);
        for (const Edge& edge : readersOf(m_graph, m_analysis, node)) nodes.insert(edge.to.node);
    }
    TensorCopies copies(m_graph, [&](NodeId node) { return deviceOf(node, moves); });
    std::set<std::pair<PortRef, Device>> made;
    std::vector<Fix> out;
    for (const NodeId id : nodes) {
        const NodeFacts& facts = *m_analysis.find(id);
        const std::vector<int> before = mismatches(facts);
        for (const int port : mismatches(facts, moves)) {
            if (std::find(before.begin(), before.end(), port) != before.end()) continue;
            const PortRef tensor = *facts.inputs[static_cast<std::size_t>(port)];
            const Device from = deviceOf(tensor.node, moves);
            Fix fix;
            fix.kind = Fix::Kind::insertTo;
            fix.node = id;
            fix.device = wanted(facts, port, moves);
            if (m_analysis.policy.actionFor(from, fix.device) == Policy::Action::allow) continue;
            if (updatesInput(*facts.op, port)) continue;
            fix.edge = {m_graph.sourceOf({id, port}).value_or(tensor), {id, port}};
            fix.title = fmt::format("insert To({}) on {} -> {}", fix.device.toString(),
                                    labelOf(m_graph, tensor.node), labelOf(m_graph, id));
            fix.price.isKnown = true;
            if (!copies.on(tensor, fix.device, id) && made.insert({tensor, fix.device}).second) {
                const auto& type = m_analysis.typeOf(tensor);
                const Device nearest = deviceOf(copies.nearest(tensor, fix.device, id).node, moves);
                fix.price = type ? priceOfTransfer(*type, nearest, fix.device, false, m_devices) : Price{};
            }
            out.push_back(std::move(fix));
        }
    }
    return out;
}

std::vector<Fix> DeviceRule::detoursOf(const Moves& moves) const {
    std::vector<Fix> out;
    const auto bypass = [](NodeId copy, PortRef tensor) {
        Fix fix;
        fix.kind = Fix::Kind::bypass;
        fix.node = copy;
        fix.edge = {tensor, {copy, 0}};
        return fix;
    };
    const TensorCopies copies(m_graph, [&](NodeId node) { return deviceOf(node, moves); });
    for (const auto& [moved, home] : moves) {
        std::vector<std::pair<PortRef, PortRef>>
            open; // a copy, and the tensor on the home device of which it is a copy
        const auto follow = [&](PortRef from, PortRef tensor) {
            for (const Edge& edge : m_graph.outgoing(from.node))
                if (edge.from == from && copies.isCopy(edge.to.node))
                    open.push_back({{edge.to.node, 0}, tensor});
        };
        for (const Edge& edge : m_graph.outgoing(moved))
            if (copies.isCopy(edge.to.node) && deviceOf(edge.to.node, moves) != home)
                follow({edge.to.node, 0}, edge.from);
        for (std::size_t i = 0; i < open.size() && open.size() < kFarthestOrigin; ++i) {
            const auto [copy, tensor] = open[i];
            if (deviceOf(copy.node, moves) != home) {
                follow(copy, tensor);
                continue;
            }
            out.push_back(bypass(copy.node, tensor));
        }
        if (!copies.isCopy(moved)) continue;
        // The moved node may itself be the way back.
        const PortRef source = *m_graph.sourceOf({moved, 0});
        PortRef original = source;
        for (std::size_t i = 0;
             i < kFarthestOrigin && copies.isCopy(original.node) && deviceOf(original.node, moves) != home;
             ++i)
            original = *m_graph.sourceOf({original.node, 0});
        if (original != source && deviceOf(original.node, moves) == home &&
            !m_analysis.find(original.node)->disabled)
            out.push_back(bypass(moved, original));
    }
    return out;
}

Price DeviceRule::priceOf(const Moves& moves) const {
    Price sum;
    sum.isKnown = true;
    for (const Fix& copy : copiesFor(moves)) {
        sum.bytes += copy.price.bytes;
        sum.ns += copy.price.ns;
        sum.isKnown = sum.isKnown && copy.price.isKnown;
    }
    return sum;
}

/// Every consumer of a tensor offers to move its source, so the price is computed once for all.
const Price& DeviceRule::priceOfMoving(NodeId node, Device device) const {
    const auto known = m_prices.find({node, device});
    if (known != m_prices.end()) return known->second;
    return m_prices[{node, device}] = priceOf(movesOf(node, device));
}

/// A To on the edge or, if the tensor or a copy of it is on that device already, an edge from it. The To
/// reads a copy on its rank, if there is one.
Fix DeviceRule::insertFix(const Diagnostic& d, Device target) const {
    const PortRef from = d.edge->from;
    const std::string node = labelOf(m_graph, d.node);
    const std::string tensor = labelOf(m_graph, from.node);
    if (!m_copies) m_copies.emplace(m_graph, [this](NodeId id) { return m_analysis.find(id)->device; });
    Fix fix;
    fix.kind = Fix::Kind::insertTo;
    fix.node = d.node;
    fix.edge = *d.edge;
    fix.device = target;
    if (const auto present = m_copies->on(from, target, d.node)) {
        fix.title = fmt::format("read {} instead of {} in {}", labelOf(m_graph, present->node), tensor, node);
        fix.price.isKnown = true;
        return fix;
    }
    const PortRef nearest = m_copies->nearest(from, target, d.node);
    fix.title =
        fmt::format("insert To({}) on {} -> {}", target.toString(), labelOf(m_graph, nearest.node), node);
    if (const auto& type = m_analysis.typeOf(from))
        fix.price = priceOfTransfer(*type, m_analysis.find(nearest.node)->device, target, false, m_devices);
    return fix;
}

void DeviceRule::addFixes(Diagnostic& d) const {
    const NodeFacts& facts = *m_analysis.find(d.node);
    const NodeFacts& source = *m_analysis.find(d.edge->from.node);
    const Device target = wanted(facts, d.port);
    const bool isWritten = updatesInput(*facts.op, d.port); // a copy would receive the update
    if (!isWritten) d.fixes.push_back(insertFix(d, target));
    if (source.op && source.op->role == OpRole::source && mayStandOn(source.id, target)) {
        Fix create = moveFix(m_graph, source.id, target);
        create.title = fmt::format("{} {} on {}", source.op->attribute("path") ? "load" : "create",
                                   labelOf(m_graph, source.id), target.toString());
        create.price = priceOfMoving(source.id, target);
        d.fixes.push_back(std::move(create));
    }
    const bool mayMove = !facts.op->inputAt(d.port).hostValue && facts.op->updates.empty();
    if (mayMove && mayStandOn(d.node, source.device)) {
        Fix move = moveFix(m_graph, d.node, source.device);
        move.price = priceOfMoving(d.node, source.device);
        d.fixes.push_back(std::move(move));
    }
    std::stable_sort(d.fixes.begin(), d.fixes.end(), [](const Fix& a, const Fix& b) {
        return std::pair(!a.price.isKnown, a.price.ns) < std::pair(!b.price.isKnown, b.price.ns);
    });
}

Price priceOfTransfer(const TensorType& type, Device from, Device to, bool pinned, const DeviceMap& devices) {
    from = devices.resolve(from);
    to = devices.resolve(to);
    Price price;
    if (from == to) {
        price.isKnown = true;
        return price;
    }
    if (!devices.find(from) || !devices.find(to) || !type.isKnown()) return price;
    try {
        price.bytes = static_cast<std::uint64_t>(type.byteCount());
    } catch (const Error&) {
        return price; // invalid size: another diagnostic reports it
    }
    price.ns = devices.copyNs(from, to, static_cast<double>(price.bytes),
                              pinned ? MemoryKind::pinned : MemoryKind::pageable);
    price.isKnown = true;
    return price;
}

} // namespace twb
