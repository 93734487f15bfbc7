#include "graph/rank_lanes.h"

#include "core/error.h"
#include "graph/delta.h"

#include <algorithm>

namespace twb {

int lastRankOf(const Graph& graph) noexcept {
    int last = 0;
    for (const Lane& lane : graph.lanes()) last = std::max(last, lane.device.rank);
    return last;
}

Device asSeenBy(int rank, Device device) noexcept {
    if (device.rank == rank)
        device.rank = 0;
    else if (device.rank == 0)
        device.rank = rank;
    return device;
}

Graph asSeenBy(int rank, const Graph& graph) {
    DeltaBuilder builder(graph, "see as a rank");
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.isAuto())
            throw Error(ErrorCode::badGraph,
                        "a lane is on auto, and other lanes are on other ranks, which do not know the device "
                        "that auto becomes; set the lane to cpu or cuda:0");
        Lane seen = lane;
        seen.device = asSeenBy(rank, lane.device);
        if (seen.device != lane.device) builder.change(seen);
    }
    Graph out = graph;
    out.apply(builder.take());
    return out;
}

} // namespace twb
