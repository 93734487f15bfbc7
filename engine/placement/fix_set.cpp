#include "placement/fix_set.h"

#include "graph/delta.h"
#include "placement/device_rule.h"
#include "placement/fixes.h"
#include "placement/placement_model.h"

#include <map>
#include <set>

namespace twb {

FixSet minimalFixSet(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files) {
    std::map<NodeId, std::set<Device>> ends; // and where else each may go
    const DeviceRule rule(graph, devices, analysis);
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.code != "device-mismatch" || !d.edge) continue;
        const NodeFacts& source = *analysis.find(analysis.sourceOf(d.edge->to)->node);
        const NodeFacts& reader = *analysis.find(d.node);
        ends[source.id].insert(rule.wanted(reader, d.port));
        if (!reader.op->inputAt(d.port).hostValue) ends[reader.id].insert(source.device);
    }
    FixSet set;
    set.isExact = true;
    if (ends.empty()) return set;

    PlacementModel::Options options;
    options.mayMove = [&](const NodeFacts& facts) {
        return ends.contains(facts.id) && !graph.find(facts.id)->pinned;
    };
    PlacementModel model(graph, analysis, devices, options);
    for (const auto& [node, others] : ends) {
        auto& item = model.problem().items[model.itemOf(node)];
        std::uint32_t offered = 1U << item.now;
        for (const Device device : others) offered |= 1U << model.placeOf(device);
        item.allowed &= offered;
    }
    const Assignment best = solve(model.problem());
    set.ns = best.ns;
    set.insertingNs = model.problem().nsOf(model.problem().now());
    set.atLeastNs = best.atLeastNs;
    set.isExact = best.isExact;
    for (std::size_t i = 0; i < best.at.size(); ++i) {
        if (best.at[i] == model.problem().items[i].now) continue;
        set.fixes.push_back(
            moveFix(graph, model.nodes()[i], model.devices()[static_cast<std::size_t>(best.at[i])]));
        set.fixes.back().price.isKnown = true;
    }
    // What crosses now gets its copy, in the words of the diagnostics.
    Graph moved = graph;
    moved.apply(toDelta(graph, set.fixes, ""));
    const Analysis left = analyze(moved, devices, analysis.policy, files);
    std::set<std::pair<PortRef, Device>> copied;
    for (const Diagnostic& d : left.diagnostics) {
        if (d.code != "device-mismatch" || d.fixes.empty()) continue;
        Fix fix = d.fixes.front();
        // Readers on one device share a copy: only the first one has a price.
        if (!copied.insert({fix.edge.from, fix.device}).second) fix.price = {.isKnown = true};
        set.fixes.push_back(std::move(fix));
    }
    return set;
}

} // namespace twb
