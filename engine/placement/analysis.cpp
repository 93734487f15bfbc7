#include "placement/analysis.h"

#include "backends/world.h"
#include "core/error.h"
#include "graph/rank_lanes.h"
#include "placement/cycle_rule.h"
#include "placement/diagnostic_order.h"
#include "placement/implicit_copies.h"
#include "placement/lints.h"
#include "placement/mismatch_roots.h"
#include "placement/node_rules.h"
#include "placement/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace twb {

void NodeFacts::addOutputs(std::vector<DType>& dtypes) const {
    for (const auto& output : outputs)
        if (output && (dtypes.empty() || isNarrow(output->dtype))) dtypes.push_back(output->dtype);
}
namespace {

/// The devices of the lanes.
void addLanes(const Graph& graph, const DeviceMap& devices, std::vector<Diagnostic>& out) {
    std::map<Device, const Lane*> missing;
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.isAuto()) {
            const Device took = devices.resolve(lane.device);
            Diagnostic d;
            d.severity = Severity::note;
            d.code = "auto-device";
            d.message = took.isCpu() ? "auto resolved to cpu, because this run has no cuda:0; to simulate "
                                       "one, choose its hardware in the toolbar, or pass --device-map "
                                       "cuda:0=simulated:h200"
                                     : fmt::format("auto resolved to {}: {}", took.toString(),
                                                   devices.at(took).info().name);
            out.push_back(std::move(d));
        }
        if (!devices.find(lane.device)) missing.emplace(lane.device, &lane);
    }
    if (const World& world = devices.world(); dividesNodes(graph) && (world.size() == 1 || world.link())) {
        Diagnostic d;
        d.severity = Severity::note;
        d.code = "rank-link";
        d.message = fmt::format("copies between ranks take the times of {} (modelled){}", devices.link().name,
                                world.link() ? ""
                                             : "; other links: Predict on several ranks in the window, or "
                                               "twb run --world simulated:RANKS:LINK");
        out.push_back(std::move(d));
    }
    for (const auto& [device, lane] : missing)
        out.push_back(
            makeError("missing-device", NodeId::none, -1,
                      fmt::format("{0} has no hardware in this run; choose its hardware in the toolbar, or "
                                  "pass --device-map {0}=simulated:h200",
                                  device.toString())));
}

/// The copies of all nodes, in the order of their first consumers.
void addAllImplicitCopies(const Graph& graph, const DeviceMap& devices, Analysis& analysis) {
    std::unordered_set<NodeId> done;
    for (const NodeFacts& facts : analysis.nodes)
        for (const int port : facts.copied) {
            const NodeId source = facts.inputs[static_cast<std::size_t>(port)]->node;
            if (done.insert(source).second) addImplicitCopies(graph, devices, source, analysis);
        }
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

std::vector<bool> Analysis::soundNodes() const {
    std::vector<bool> sound(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
        sound[i] = nodes[i].fine && std::all_of(nodes[i].inputs.begin(), nodes[i].inputs.end(),
                                                [&](const std::optional<PortRef>& from) {
                                                    const auto at =
                                                        from ? index.find(from->node) : index.end();
                                                    return !from || (at != index.end() && sound[at->second]);
                                                });
    return sound;
}

Analysis analyze(const Graph& graph, const DeviceMap& devices, Policy policy, const TensorFiles* files) {
    // Gaps for nodes that an edit inserts later.
    constexpr std::uint64_t kRankStep = std::uint64_t(1) << 20;

    Analysis out;
    out.policy = policy;
    out.ranks = devices.world().size();
    const Bodies bodies(graph);
    const Topology topology(graph, bodies);
    NodeRules rules(graph, bodies, devices, files, out);
    out.nodes.reserve(topology.nodes.size());
    out.index.reserve(topology.nodes.size());
    addLanes(graph, devices, out.diagnostics);
    const auto add = [&](std::uint32_t index) {
        const Node& node = *topology.nodes[index];
        out.index.emplace(node.id, static_cast<std::uint32_t>(out.nodes.size()));
        NodeFacts& facts = out.nodes.emplace_back();
        facts.id = node.id;
        facts.rank = out.nodes.size() * kRankStep;
        rules.check(facts, node, *topology.links[index]);
    };
    for (const std::uint32_t index : topology.order) add(index);
    const bool hasCycles = topology.order.size() < topology.nodes.size();
    if (hasCycles) {
        for (std::uint32_t index = 0; index < topology.nodes.size(); ++index)
            if (!out.index.contains(topology.nodes[index]->id)) add(index);
        addCycles(graph, topology, out.diagnostics);
    }
    out.isPlain =
        bodies.empty() && !hasCycles &&
        std::none_of(out.nodes.begin(), out.nodes.end(), [](const NodeFacts& f) { return f.disabled; });

    const DeviceRule rule(graph, devices, out);
    for (Diagnostic& d : out.diagnostics)
        if (d.code == "device-mismatch") rule.addFixes(d);
    findMismatchRoots(graph, out);
    addAllImplicitCopies(graph, devices, out);
    Lints lints(graph, devices, out);
    for (const NodeFacts& facts : out.nodes) lints.lookAt(facts);
    lints.sumUp();
    rules.nameEdges();
    putInOrder(out);
    return out;
}

} // namespace twb
