#include "runtime/rank_part.h"

#include "core/error.h"
#include "graph/bodies.h"
#include "graph/rank_lanes.h"
#include "placement/device_rule.h"

#include <fmt/format.h>

namespace twb {

void requireRanks(const Graph& graph, const World& world) {
    const int last = lastRankOf(graph);
    if (world.size() == 1 || last < world.size()) return;
    throw Error(ErrorCode::missingDevice,
                fmt::format("the graph has a lane of rank {}, but this run has ranks 0 to {}; start it with "
                            "{} ranks, or set the lane to a device of another rank",
                            last, world.size() - 1, last + 1));
}

void requireParts(const Graph& graph, const Analysis& analysis, int seenBy) {
    const auto nameOf = [&](Device device) { return asSeenBy(seenBy, device).toString(); };
    for (const ImplicitCopy& copy : analysis.implicitCopies) {
        const NodeFacts& source = *analysis.find(copy.from.node);
        if (!source.device.sharesRankWith(copy.target))
            throw Error(ErrorCode::badGraph,
                        fmt::format("{} is on {} and read on {}: between ranks, the policy makes no copies; "
                                    "insert a To",
                                    labelOf(graph, source.id), nameOf(source.device), nameOf(copy.target)));
    }
    const Bodies bodies(graph);
    for (const NodeFacts& facts : analysis.nodes) {
        const Body* body = bodies.around(facts.id);
        const NodeFacts* owner = body ? analysis.find(body->owner) : nullptr;
        if (owner && !owner->device.sharesRankWith(facts.device))
            throw Error(ErrorCode::badGraph,
                        fmt::format("{} is on {}, but the body that contains it belongs to {} on {}: ranks "
                                    "cannot share a body; move it to a lane of the same rank",
                                    labelOf(graph, facts.id), nameOf(facts.device), labelOf(graph, owner->id),
                                    nameOf(owner->device)));
        if (!facts.op || facts.op->role != OpRole::transfer || facts.inputs.empty()) continue;
        const NodeFacts* source = facts.inputs[0] ? analysis.find(facts.inputs[0]->node) : nullptr;
        if (!source || source->device.sharesRankWith(facts.device)) continue;
        if (owner)
            throw Error(ErrorCode::badGraph,
                        fmt::format("{} copies from {} to {} in the body of {}: the other rank does not know "
                                    "how often the body runs; move the To out of the body",
                                    labelOf(graph, facts.id), nameOf(source->device), nameOf(facts.device),
                                    labelOf(graph, owner->id)));
    }
}

} // namespace twb
