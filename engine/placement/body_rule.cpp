#include "placement/body_rule.h"

#include "core/format.h"
#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {

BodyRule::BodyRule(const Graph& graph, const Bodies& bodies, Analysis& analysis)
    : m_graph(graph), m_bodies(bodies), m_out(analysis) {
    if (bodies.empty()) return;
    for (const Node& node : graph.nodes()) {
        const bool isCarried = node.op == "Carried";
        if (!isCarried && node.op != "ScanSlice") continue;
        if (const Body* body = bodies.around(node.id))
            (isCarried ? m_carried : m_slices)[body->frame].push_back(node.id);
    }
}

Diagnostic& BodyRule::add(NodeId node, int port, std::string message) {
    return m_out.diagnostics.emplace_back(makeError("body", node, port, std::move(message)));
}

bool BodyRule::check(NodeFacts& facts, const Node& node) {
    const OpRole role = facts.op->role;
    if (m_bodies.empty() && role != OpRole::state && role != OpRole::control) return true;
    bool fine = checkReads(facts, node);
    if (role == OpRole::state) fine = checkState(node) && fine;
    if (role == OpRole::control) fine = checkOwner(facts, node) && fine;
    const Body* body = m_bodies.around(node.id);
    if (body && role == OpRole::sink && facts.op->attribute("path")) {
        add(node.id, -1,
            fmt::format("{} is in a body of {}, but a file is written once, at the end of a run: move it out "
                        "of the body",
                        quoted(node), quoted(*m_graph.find(body->owner))));
        fine = false;
    }
    return fine;
}

bool BodyRule::checkReads(const NodeFacts& facts, const Node& node) {
    bool fine = true;
    const Body* here = m_bodies.around(node.id);
    // The initial value comes from outside the body.
    if (facts.op->role == OpRole::state && here) here = m_bodies.around(*here);
    for (std::size_t p = 0; p < facts.inputs.size(); ++p) {
        const auto& from = facts.inputs[p];
        const Body* made = from ? m_bodies.around(from->node) : nullptr;
        if (!made) continue;
        const int port = static_cast<int>(p);
        const Body* reads = here;
        if (facts.op->role == OpRole::control) {
            const int index = Bodies::bodyOfInput(*facts.op, port, static_cast<int>(facts.inputs.size()));
            const Body* own = index < 0 ? nullptr : m_bodies.of(node.id, index);
            if (own) reads = own;
        }
        if (m_bodies.sees(reads, made)) continue;
        fine = false;
        const Node& owner = *m_graph.find(made->owner);
        Diagnostic& d = add(node.id, port,
                            fmt::format("{} is computed in {} of {}, so {} cannot read it from outside: "
                                        "connect it to a result of {} and read that result",
                                        labelOf(m_graph, from->node), m_graph.find(made->frame)->body,
                                        quoted(owner), quoted(node), labelOf(m_graph, owner.id)));
        d.edge = Edge{*from, {node.id, port}};
        d.fixes.push_back(disconnectFix(m_graph, *d.edge));
    }
    return fine;
}

bool BodyRule::checkState(const Node& node) {
    const Body* body = m_bodies.around(node.id);
    const Node* owner = body ? m_graph.find(body->owner) : nullptr;
    const bool inScan = owner && owner->op == "Scan";
    const bool inLoop = owner && owner->op == "Loop";
    const bool fits = node.op == "Carried" ? inLoop || inScan : node.op == "ScanSlice" ? inScan : inLoop;
    if (!fits) {
        const char* wanted = node.op == "Carried"     ? "a Loop or a Scan"
                             : node.op == "ScanSlice" ? "a Scan"
                                                      : "a Loop";
        add(node.id, -1,
            fmt::format("{} is {}, but it is valid only in the body of {}", quoted(node),
                        owner ? "in a body of " + quoted(*owner) : "outside all bodies", wanted));
        return false;
    }
    return true;
}

bool BodyRule::checkOwner(NodeFacts& facts, const Node& node) {
    for (int index = 0; index < static_cast<int>(facts.op->bodies.size()); ++index) {
        const auto isIt = [&](const Body& body) { return body.owner == node.id && body.index == index; };
        if (std::count_if(m_bodies.all().begin(), m_bodies.all().end(), isIt) < 2) continue;
        add(node.id, -1,
            fmt::format("{} has two frames for its {}, but can have only one", quoted(node),
                        facts.op->bodies[static_cast<std::size_t>(index)]));
        return false;
    }
    if (node.op == "If") return true;
    const Body* body = m_bodies.of(node.id, 0);
    if (!body) {
        add(node.id, -1,
            fmt::format("{} has no body: make a frame around the nodes that it repeats", quoted(node)));
        return false;
    }
    if (!checkCarried(facts, node, *body)) return false;
    if (node.op == "Scan") sizeStacks(facts, *body);
    return true;
}

/// The results of a Scan are stacked as often as its body runs: once per slice.
void BodyRule::sizeStacks(NodeFacts& facts, const Body& body) const {
    const auto slices = m_slices.find(body.frame);
    if (slices == m_slices.end()) return;
    std::int64_t count = kUnknownDim;
    for (const NodeId id : slices->second)
        if (const NodeFacts* slice = m_out.find(id); slice && count == kUnknownDim)
            count = sliceCountOf(m_out, *slice);
    const bool hasAxes = facts.attributes.has("scan_output_axes");
    const std::vector<std::int64_t> axes =
        hasAxes ? facts.attributes.integers("scan_output_axes") : std::vector<std::int64_t>();
    const auto carried = static_cast<std::size_t>(facts.attributes.integer("carried"));
    for (std::size_t i = carried; i < facts.outputs.size(); ++i) {
        std::optional<TensorType>& type = facts.outputs[i];
        if (!type) continue; // its errors are reported already
        const std::int64_t axis = hasAxes ? axes[i - carried] : 0;
        type->shape[*normalizeAxis(axis, type->shape.rank())] = count;
    }
}

std::int64_t sliceCountOf(const Analysis& analysis, const NodeFacts& slice) {
    if (slice.inputs.empty() || !slice.inputs[0] || !slice.attributes.has("axis")) return kUnknownDim;
    const std::optional<TensorType>& all = analysis.typeOf(*slice.inputs[0]);
    if (!all) return kUnknownDim;
    const auto axis = normalizeAxis(slice.attributes.integer("axis"), all->shape.rank());
    return axis && *axis < all->shape.rank() ? all->shape[*axis] : kUnknownDim;
}

/// A carried value keeps its type, and each carried result has a Carried node of its own.
bool BodyRule::checkCarried(NodeFacts& facts, const Node& node, const Body& body) {
    if (facts.attributes.empty()) return false; // reported already
    const std::int64_t carried = facts.attributes.integer("carried");
    const std::string values = counted(static_cast<std::uint64_t>(carried), "value");
    std::vector<const NodeFacts*> states(static_cast<std::size_t>(carried), nullptr);
    bool fine = true;
    for (const NodeId id : m_carried[body.frame]) {
        const NodeFacts* state = m_out.find(id);
        if (!state || !state->attributes.has("index")) return false;
        const std::int64_t index = state->attributes.integer("index");
        const bool isOurs = index < carried;
        if (isOurs && !states[static_cast<std::size_t>(index)]) {
            states[static_cast<std::size_t>(index)] = state;
            continue;
        }
        fine = false;
        add(id, -1,
            isOurs ? fmt::format(
                         "{} has the same index {} as {}; each carried value needs a Carried node of its own",
                         quoted(*m_graph.find(id)), index,
                         labelOf(m_graph, states[static_cast<std::size_t>(index)]->id))
                   : fmt::format("{} has index {}, but {} carries only {}, with indices from 0; set "
                                 "\"carried\" of {} to at least {}, or delete {}",
                                 quoted(*m_graph.find(id)), index, quoted(node), values, quoted(node),
                                 index + 1, quoted(*m_graph.find(id))));
    }
    for (std::int64_t k = 0; k < carried; ++k) {
        const auto i = static_cast<std::size_t>(k);
        const int port = Bodies::firstResult(*facts.op) + static_cast<int>(k);
        const auto p = static_cast<std::size_t>(port);
        if (!states[i]) {
            fine = false;
            add(node.id, port,
                fmt::format("{} carries {}, but its body has no Carried node with index {}; add one, or "
                            "lower \"carried\" of {}",
                            quoted(node), values, k, quoted(node)));
            continue;
        }
        if (states[i]->device != facts.device) {
            fine = false;
            const Node& state = *m_graph.find(states[i]->id);
            add(state.id, -1,
                fmt::format("{} is on {}, but {} returns its value on {}; both must be on one device",
                            quoted(state), states[i]->device.toString(), quoted(node),
                            facts.device.toString()))
                .fixes.push_back(moveFix(m_graph, state.id, facts.device));
        }
        if (p >= facts.inputs.size() || !facts.inputs[p]) return false; // reported already
        const auto& before = states[i]->outputs[0];
        const auto& after = m_out.typeOf(*facts.inputs[p]);
        if (!before || !after) return false;
        const bool sameKind = before->dtype == after->dtype && before->shape.rank() == after->shape.rank();
        const bool changes = !states[i]->attributes.flag("varies") && before->shape != after->shape &&
                             before->shape.isKnown() && after->shape.isKnown();
        if (!sameKind || changes) {
            fine = false;
            Diagnostic& d = add(
                node.id, port,
                fmt::format("the body of {} accepts {} as {} {}, but returns it as {} {}{}", quoted(node),
                            labelOf(m_graph, states[i]->id), name(before->dtype),
                            before->shape.toTorchString(), name(after->dtype), after->shape.toTorchString(),
                            sameKind ? "; if the size changes, set \"varies\" of the Carried node"
                                     : "; dtype and rank must stay the same"));
            d.edge = Edge{*facts.inputs[p], {node.id, port}};
            if (!sameKind) continue;
            Fix fix;
            fix.kind = Fix::Kind::setAttribute;
            fix.title = fmt::format("let the sizes of {} vary", labelOf(m_graph, states[i]->id));
            fix.node = states[i]->id;
            fix.attribute = "varies";
            fix.value = AttributeValue(true);
            d.fixes.push_back(std::move(fix));
            continue;
        }
        // Zero iterations return the initial value.
        auto& output = facts.outputs[i];
        if (output) *output = *before;
    }
    return fine;
}

} // namespace twb
