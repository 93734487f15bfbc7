#include "placement/device_rule.h"

#include "core/error.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

bool isScalar(const std::optional<TensorType>& type) { return type && type->shape.rank() == 0; }

/// The operand's name in messages: the framework's, numbered for a variadic input.
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

Device DeviceRule::wanted(const NodeFacts& facts, int port) const {
    if (facts.op && facts.op->inputAt(port).hostValue) return Device::cpu();
    return facts.device;
}

std::vector<int> DeviceRule::mismatches(const NodeFacts& facts) const {
    std::vector<int> out;
    if (!facts.op || facts.op->role == OpRole::transfer) return out;
    bool anyAtHome = false;
    bool onlyScalars = true;
    const int ports = std::min(static_cast<int>(facts.inputs.size()),
                               facts.op->isVariadic() ? 1 << 20 : static_cast<int>(facts.op->inputs.size()));
    for (int port = 0; port < ports; ++port) {
        const auto& from = facts.inputs[static_cast<std::size_t>(port)];
        if (!from) continue;
        const NodeFacts* source = m_analysis.find(from->node);
        if (!source || source->disabled) continue;
        if (source->device == wanted(facts, port)) {
            anyAtHome = anyAtHome || !facts.op->inputAt(port).hostValue;
            continue;
        }
        out.push_back(port);
        onlyScalars = onlyScalars && source->device.isCpu() && isScalar(m_analysis.typeOf(*from)) &&
                      !facts.op->inputAt(port).hostValue;
    }
    // Scalars alone do not bring an op to another device: somebody must be at home.
    if (!facts.op->elementwise || !anyAtHome) return out;
    if (onlyScalars) return {};
    std::erase_if(out, [&](int port) {
        const PortRef from = *facts.inputs[static_cast<std::size_t>(port)];
        return m_analysis.find(from.node)->device.isCpu() && isScalar(m_analysis.typeOf(from));
    });
    return out;
}

std::string DeviceRule::origin(const NodeFacts& source) const {
    // Follow the tensor back to the node that decided where it lives: a source, a To, or a node without
    // inputs.
    const NodeFacts* at = &source;
    for (std::size_t steps = 0; steps < kFarthestOrigin; ++steps) {
        const Node* node = m_graph.find(at->id);
        if (!node) return {};
        const bool decides =
            !at->op || at->op->role != OpRole::compute || at->inputs.empty() || !at->inputs[0];
        if (decides) {
            const Device device = at->device;
            if (at->op && at->op->role == OpRole::transfer)
                return fmt::format("from To \"{}\", moved to {}", node->name, device.toString());
            std::string what = node->op;
            if (const AttributeValue* path = at->attributes.find("path"))
                if (const auto* text = std::get_if<std::string>(path)) what += fmt::format(" \"{}\"", *text);
            return fmt::format("from {}, created on {}", what, device.toString());
        }
        const NodeFacts* before = m_analysis.find(at->inputs[0]->node);
        if (!before || before->device != at->device)
            return fmt::format("from {}, computed on {}", quoted(*node), at->device.toString());
        at = before;
    }
    return fmt::format("computed on {}", source.device.toString());
}

Diagnostic DeviceRule::describe(const NodeFacts& facts, int port) const {
    const Node& node = *m_graph.find(facts.id);
    const PortRef from = *facts.inputs[static_cast<std::size_t>(port)];
    const NodeFacts& source = *m_analysis.find(from.node);
    const std::string argument = argumentName(*facts.op, port);

    Diagnostic d = makeError("device-mismatch", facts.id, port, {});
    d.edge = Edge{from, {facts.id, port}};
    // The words are PyTorch's (ATen/core/adaption.cpp) and JAX's (jax.transfer_guard), so that they can be
    // searched for.
    if (m_analysis.policy.kind() == Policy::Kind::guard) {
        const Device target = wanted(facts, port);
        const auto direction = Policy::directionOf(source.device, target);
        d.message =
            fmt::format("Disallowed {} transfer: {} is on {}, but {} reads it on {} (the guard policy "
                        "says {}=disallow; a To node is always allowed)",
                        longName(direction), argument, source.device.toString(), quoted(node),
                        target.toString(), name(direction));
    } else if (facts.op->inputAt(port).hostValue)
        d.message =
            fmt::format("Expected {} to be on cpu, where the host reads it, but got {} is on {} (when "
                        "checking arguments of {})",
                        argument, argument, source.device.toString(), quoted(node));
    else if (facts.op->role == OpRole::sink && facts.device.isCpu() && node.op == "Save")
        d.message = fmt::format(
            "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first. (when checking arguments of {})",
            source.device.toString(), quoted(node));
    else
        d.message =
            fmt::format("Expected all tensors to be on the same device, but got {} is on {}, different from "
                        "other tensors on {} (when checking arguments of {})",
                        argument, source.device.toString(), facts.device.toString(), quoted(node));

    for (std::size_t p = 0; p < facts.inputs.size(); ++p) {
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

Price DeviceRule::priceOfStanding(NodeId id, Device device) const {
    Price sum;
    sum.isKnown = true;
    const auto add = [&](PortRef tensor, Device from, Device to) {
        if (from == to) return;
        const auto& type = m_analysis.typeOf(tensor);
        const Price price = type ? priceOfTransfer(*type, from, to, false, m_devices) : Price{};
        sum.isKnown = sum.isKnown && price.isKnown;
        sum.bytes += price.bytes;
        sum.ns += price.ns;
    };
    const NodeFacts* facts = m_analysis.find(id);
    if (!facts) return {};
    // A file is read on the host and staged to wherever it stands.
    if (facts->op && facts->op->role == OpRole::source && facts->op->attribute("path"))
        add({id, 0}, Device::cpu(), device);
    for (std::size_t p = 0; p < facts->inputs.size(); ++p) {
        const auto& from = facts->inputs[p];
        if (!from) continue;
        const NodeFacts* source = m_analysis.find(from->node);
        const bool host = facts->op && facts->op->inputAt(static_cast<int>(p)).hostValue;
        if (source) add(*from, source->device, host ? Device::cpu() : device);
    }
    for (const Edge& edge : readersOf(m_graph, m_analysis, id)) {
        const NodeFacts* consumer = m_analysis.find(edge.to.node);
        if (consumer) add(edge.from, device, consumer->device);
    }
    return sum;
}

void DeviceRule::addFixes(Diagnostic& d) const {
    const NodeFacts& facts = *m_analysis.find(d.node);
    const PortRef from = d.edge->from;
    const NodeFacts& source = *m_analysis.find(from.node);
    const Device target = wanted(facts, d.port);
    const std::string node = labelOf(m_graph, d.node);
    const std::string tensor = labelOf(m_graph, from.node);

    Fix insert;
    insert.kind = Fix::Kind::insertTo;
    insert.title = fmt::format("insert To({}) on {} -> {}", target.toString(), tensor, node);
    insert.node = d.node;
    insert.edge = *d.edge;
    insert.device = target;
    const auto& type = m_analysis.typeOf(from);
    if (type) insert.price = priceOfTransfer(*type, source.device, target, false, m_devices);
    d.fixes.push_back(std::move(insert));

    if (source.op && source.op->role == OpRole::source) {
        Fix create;
        create.kind = Fix::Kind::moveNode;
        create.title = fmt::format("{} {} on {}", source.op->attribute("path") ? "load" : "create", tensor,
                                   target.toString());
        create.node = from.node;
        create.device = target;
        create.price = priceOfStanding(from.node, target);
        d.fixes.push_back(std::move(create));
    }
    if (facts.op->inputAt(d.port).hostValue) return;
    Fix move = moveFix(m_graph, d.node, source.device);
    move.price = priceOfStanding(d.node, source.device);
    d.fixes.push_back(std::move(move));
}

Price priceOfTransfer(const TensorType& type, Device from, Device to, bool pinned, const DeviceMap& devices) {
    from = devices.resolve(from);
    to = devices.resolve(to);
    Price price;
    if (from == to) {
        price.isKnown = true;
        return price;
    }
    const auto [by, direction] = devices.route(from, to);
    const Backend* accelerator = devices.find(by);
    if (!accelerator || !type.isKnown()) return price;
    try {
        price.bytes = static_cast<std::uint64_t>(type.byteCount());
    } catch (const Error&) {
        return price; // the size does not fit: another diagnostic says so
    }
    price.ns = accelerator->profile().copyNs(static_cast<double>(price.bytes), direction,
                                             pinned ? MemoryKind::pinned : MemoryKind::pageable);
    price.isKnown = true;
    return price;
}

} // namespace twb
