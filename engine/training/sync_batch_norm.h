#pragma once

#include "backends/device_map.h"
#include "graph/delta.h"
#include "placement/analysis.h"

#include <vector>

namespace twb {

/// What synchronizeBatchNorms() has added.
struct SyncBatchNorms {
    Delta delta;
    /// The nodes whose attribute `value` is this rank's weight in the statistics: its share of the rows of a
    /// batch. The weights of all ranks add up to 1. At first 1.
    std::vector<NodeId> weights;
};

/// Gives the BatchNormalization nodes in training the mean and variance over the rows of all ranks, as
/// torch.nn.SyncBatchNorm does: each gathers the mean, the variance and the weight of each rank in one call,
/// and combines them without loss of precision (Chan, Golub and LeVeque 1983). The nodes then normalize by
/// these, and the gradient goes through them with one call more. `analysis`: of the graph. On a device
/// without a kernel for AllGather, the statistics are copied to the cpu and back. Throws Error(badGraph) if a
/// node is in a body of If, Loop or Scan.
SyncBatchNorms synchronizeBatchNorms(const Graph& graph, const Analysis& analysis, const DeviceMap& devices);

} // namespace twb
