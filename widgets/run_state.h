#pragma once

#include "graph/graph.h"
#include "runtime/executor.h"

#include <QString>

#include <map>
#include <unordered_map>

namespace twb {

/// What a run has shown of one node.
struct NodeRun {
    StepState state = StepState::pending;
    double ns = 0; ///< median over the iterations; 0 before the first
    bool modelled = false;
    QString error; ///< why it failed
};

/// What is known of one edge that crosses lanes: predicted before a run, measured (or modelled) after it.
struct EdgeRun {
    double bytes = 0;
    double ns = 0;
    double gbPerSecond = 0;
    bool modelled = true;
    bool predicted = true; ///< no run has been over it yet
};

/// What the canvas shows beside the graph. Written by the run controller, once a frame.
struct RunState {
    std::unordered_map<NodeId, NodeRun> nodes;
    std::map<Edge, EdgeRun> edges;
    bool running = false;
    bool stale = false; ///< the graph was edited since
};

} // namespace twb
