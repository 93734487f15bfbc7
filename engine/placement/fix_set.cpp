#include "placement/fix_set.h"

#include "placement/device_rule.h"
#include "placement/fixes.h"
#include "placement/placement_delta.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

namespace twb {
namespace {

/// The nodes at the ends of mismatched edges, with their alternative devices.
std::map<NodeId, std::set<Device>> endsOf(const Analysis& analysis, const DeviceRule& rule) {
    std::map<NodeId, std::set<Device>> ends;
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.code != "device-mismatch" || !d.edge) continue;
        const NodeFacts* source = analysis.find(analysis.sourceOf(d.edge->to)->node);
        const NodeFacts& reader = *analysis.find(d.node);
        ends[source->id].insert(rule.wanted(reader, d.port));
        if (!reader.op->inputAt(d.port).hostValue) ends[reader.id].insert(source->device);
    }
    return ends;
}

/// The sum of all steps and copies of an iteration, with a copy for each To.
double sumNs(const Graph& graph, const Analysis& analysis, const DeviceMap& devices) {
    const AssignmentProblem problem = PlacementModel(graph, analysis, devices, {}).problem();
    return problem.nsOf(problem.now());
}

/// The changes of a delta as fixes: moved nodes, other sources, added and removed To nodes.
std::vector<Fix> fixesOf(const Graph& before, const Graph& after, const Delta& delta,
                         const Analysis& analysis, const DeviceMap& devices) {
    std::vector<Fix> moves;
    std::vector<Fix> copies;
    std::vector<Fix> removals;
    for (const Change<Node>& change : delta.nodes) {
        if (!change.after) {
            Fix fix;
            fix.kind = Fix::Kind::removeNode;
            fix.node = change.before->id;
            fix.title = fmt::format("remove {}, which then has no consumers", labelOf(before, fix.node));
            removals.push_back(std::move(fix));
        } else if (!change.before) {
            const std::vector<Edge>& readers = after.outgoing(change.after->id);
            const PortRef source = *after.sourceOf({change.after->id, 0});
            Fix fix;
            fix.edge = {source, readers.front().to};
            fix.node = readers.front().to.node;
            fix.device = devices.resolve(after.deviceOf(*change.after));
            fix.title = fmt::format("insert To({}) on {} -> {}", fix.device.toString(),
                                    labelOf(after, source.node), labelOf(after, fix.node));
            if (readers.size() > 1) fix.title += fmt::format(" and {} more", readers.size() - 1);
            if (const auto& type = analysis.typeOf(source))
                fix.price =
                    priceOfTransfer(*type, analysis.find(source.node)->device, fix.device, false, devices);
            copies.push_back(std::move(fix));
        } else if (before.deviceOf(*change.before) != after.deviceOf(*change.after)) {
            moves.push_back(
                moveFix(before, change.after->id, devices.resolve(after.deviceOf(*change.after))));
        }
    }
    // An input that reads an existing copy of its tensor.
    std::vector<Fix> readings;
    for (const Edge& edge : delta.edgesAdded) {
        const auto source = before.find(edge.to.node) ? before.sourceOf(edge.to) : std::nullopt;
        if (!source || !before.find(edge.from.node) || !after.find(source->node)) continue;
        Fix fix;
        fix.edge = {*source, edge.to};
        fix.node = edge.to.node;
        fix.device = analysis.find(edge.from.node)->device;
        fix.title = fmt::format("read {} instead of {} in {}", labelOf(after, edge.from.node),
                                labelOf(after, source->node), labelOf(after, fix.node));
        fix.price.isKnown = true;
        readings.push_back(std::move(fix));
    }
    for (Fix& fix : moves) fix.price.isKnown = true;
    for (Fix& fix : removals) fix.price.isKnown = true;
    for (auto* more : {&readings, &copies, &removals})
        moves.insert(moves.end(), std::make_move_iterator(more->begin()),
                     std::make_move_iterator(more->end()));
    return moves;
}

} // namespace

FixSet minimalFixSet(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const IsCancelled& isCancelled) {
    FixSet set;
    const auto ends = endsOf(analysis, DeviceRule(graph, devices, analysis));
    if (ends.empty()) {
        set.ns = set.insertingNs = set.atLeastNs = sumNs(graph, analysis, devices);
        set.isExact = true;
        return set;
    }
    PlacementModel::Options options;
    options.mayMove = [&](const NodeFacts& facts) {
        return ends.contains(facts.id) && !graph.find(facts.id)->pinned;
    };
    options.throughTransfers = true;
    PlacementModel model(graph, analysis, devices, options);
    for (const auto& [node, others] : ends) {
        auto& item = model.problem().items[model.itemOf(node)];
        std::uint32_t offered = 1U << item.now;
        for (const Device device : others) offered |= 1U << model.placeOf(device);
        item.allowed &= offered;
    }
    const Assignment best = solve(model.problem(), isCancelled);
    set.insertingNs = model.problem().nsOf(model.problem().now());
    set.delta = placementDelta(graph, analysis, devices, files, model, best.at, "fix all mismatches");
    Graph mended = graph;
    mended.apply(set.delta);
    const Analysis after = analyze(mended, devices, analysis.policy, files);
    set.fixes = fixesOf(graph, mended, set.delta, after, devices);
    set.ns = sumNs(mended, after, devices);
    // The model counts each 0-dimensional operand separately; the graph may need fewer copies.
    constexpr double kRounding = 0.5;
    set.isExact = best.isExact && std::abs(set.ns - best.ns) <= kRounding;
    set.atLeastNs = set.isExact ? set.ns : std::min(set.ns, best.atLeastNs);
    return set;
}

} // namespace twb
