#include "profile/report_parts.h"

#include "core/format.h"
#include "profile/trace_memory.h"

#include <algorithm>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;

/// The start of the last iteration.
std::int64_t originOf(const RunTimeline& timeline) {
    return timeline.last().empty() ? 0 : timeline.last().front().startNs;
}

} // namespace

Json graphToJson(const Graph& graph, const Plan& plan) {
    Json lanes = Json::array();
    for (const Lane& lane : graph.lanesInOrder())
        lanes.push_back({{"id", value(lane.id)},
                         {"device", lane.device.toString()},
                         {"resolved", plan.devices.resolve(lane.device).toString()},
                         {"title", lane.title}});
    Json nodes = Json::array();
    for (const Node& node : graph.nodes()) {
        Json row{{"id", value(node.id)},     {"name", node.name},    {"op", node.op},
                 {"lane", value(node.lane)}, {"x", node.position.x}, {"y", node.position.y}};
        if (const std::uint32_t at = plan.valueOf({node.id, 0}); at != kNone)
            row["type"] = plan.values[at].type.toString();
        nodes.push_back(std::move(row));
    }
    Json edges = Json::array();
    for (const Edge& edge : graph.edges())
        edges.push_back({{"from", {{"node", value(edge.from.node)}, {"port", edge.from.port}}},
                         {"to", {{"node", value(edge.to.node)}, {"port", edge.to.port}}}});
    return {{"lanes", std::move(lanes)}, {"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

Json timelineToJson(const RunTimeline& timeline, const Plan& plan) {
    Json streams = Json::array();
    for (const PlanStream& stream : plan.streams)
        streams.push_back(
            {{"device", stream.device.toString()}, {"label", stream.label}, {"modelled", stream.modelled}});
    const std::int64_t origin = originOf(timeline);
    Json slices = Json::array();
    for (const StepRecord& record : timeline.last())
        slices.push_back({{"step", record.step},
                          {"stream", plan.steps[record.step].stream},
                          {"start_ms", toMs(record.startNs - origin)},
                          {"ms", toMs(record.endNs - record.startNs)},
                          {"wait_ms", record.waitNs ? Json(toMs(*record.waitNs)) : Json(nullptr)}});
    const std::uint32_t iteration = timeline.last().empty() ? 0 : timeline.last().front().iteration;
    return {{"iteration", iteration},
            {"left_out", timeline.leftOut()},
            {"streams", std::move(streams)},
            {"slices", std::move(slices)}};
}

Json memoryToJson(const RunTimeline& timeline, const Plan& plan) {
    std::vector<StepRecord> records = timeline.setup();
    records.insert(records.end(), timeline.last().begin(), timeline.last().end());
    const std::int64_t origin = originOf(timeline);
    // The memory at the start of the iteration, then its changes.
    std::map<Device, std::pair<std::uint64_t, Json>> rows;
    for (const MemorySample& sample : liveMemory(plan, records)) {
        auto& [before, samples] = rows[sample.device];
        if (sample.ns < origin)
            before = sample.bytes;
        else
            samples.push_back({toMs(sample.ns - origin), sample.bytes});
    }
    Json out = Json::array();
    for (auto& [device, row] : rows) {
        Json samples = Json::array({Json::array({0.0, row.first})});
        for (Json& sample : row.second) samples.push_back(std::move(sample));
        out.push_back({{"device", device.toString()},
                       {"modelled", plan.devices.isSimulated(device)},
                       {"samples", std::move(samples)}});
    }
    return out;
}

} // namespace twb
