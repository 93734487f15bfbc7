#pragma once

#include "backends/device_map.h"
#include "graph/graph.h"

#include <string>
#include <vector>

namespace twb {

/// Compares the devices behind the graph's lanes on all ranks of the map's world, which must all call it.
/// Throws DifferentPlans on all ranks if one rank simulates a GPU and another rank has a real one: the
/// measured times of the one would contain waits for a simulation. If all ranks compute the whole graph, a
/// lane on `auto` must also become a GPU on all of them or on none. The graph names devices as the rank
/// `seenBy` sees them (graph/rank_lanes.h). Returns, of a graph whose lanes divide it among the ranks, what
/// this rank does not know of the others: "rank1/cuda:0 is simulated on rank 1: NVIDIA driver not found
/// (libcuda.so.1)".
std::vector<std::string> requireSameDevices(const Graph& graph, const DeviceMap& devices, int seenBy = 0);

} // namespace twb
