#pragma once

#include "graph/graph.h"
#include "ops/op.h"
#include "placement/analysis.h"
#include "runtime/executor.h"

#include <QString>

#include <map>
#include <optional>
#include <unordered_map>

namespace twb {

/// What a run has shown of one node.
struct NodeRun {
    StepState state = StepState::pending;
    double ns = 0; ///< median over the iterations; 0 before the first
    bool modelled = false;
    bool once = false; ///< it is no part of the iteration
    QString value;     ///< the number that a Probe saw; empty where it saw none, or a tensor of several
    QString error;     ///< why it failed
};

/// What is known of one edge that crosses lanes: predicted before a run, measured (or modelled) after it.
struct EdgeRun {
    double bytes = 0;
    double ns = 0;
    double gbPerSecond = 0;
    bool modelled = true;
    bool predicted = true; ///< no run has been over it yet
};

/// Whether a node reads a file on the host and copies it to its lane's device, as compile() has it.
inline bool isStaged(const NodeFacts& facts) {
    return facts.op && !facts.disabled && facts.op->role == OpRole::source && facts.op->attribute("path") &&
           !facts.device.isCpu();
}

/// That copy has no edge of the graph: it is known by the node's output at both ends, as in the ledger.
inline Edge stagingOf(NodeId node) { return {{node, 0}, {node, 0}}; }

/// What the canvas shows beside the graph. Written by the run controller, once a frame.
struct RunState {
    std::unordered_map<NodeId, NodeRun> nodes;
    std::map<Edge, EdgeRun> edges; ///< those that cross lanes, and the staging copies
    /// Where the run stands still.
    struct Stop {
        NodeId node = NodeId::none; ///< none: an implicit copy
        bool after = false;         ///< it has run; else it comes next
    };
    std::optional<Stop> stop;
    bool running = false; ///< also while it stands still
    bool stale = false;   ///< the graph was edited since
};

} // namespace twb
