#pragma once

#include "graph/graph.h"
#include "ops/op.h"
#include "placement/analysis.h"
#include "runtime/executor.h"

#include <QString>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace twb {

/// The state of one node in a run.
struct NodeRun {
    StepState state = StepState::pending;
    double ns = 0; ///< median over the iterations; 0 before the first
    bool modelled = false;
    bool once = false;     ///< not part of the iteration
    QString value;         ///< a scalar at a Probe; empty if it has none or a tensor with several elements
    QString error;         ///< the error message
    double modelledNs = 0; ///< beside the measured time of an overlay; else 0
    /// The last op of a fused step, which has the time of the whole step; none for an op with its own step.
    NodeId timedAt = NodeId::none;
    std::size_t fused = 0; ///< the number of ops in that step
};

/// The figures of an edge that crosses lanes: predicted before a run, measured (or modelled) after it.
struct EdgeRun {
    double bytes = 0;
    double ns = 0;
    double gbPerSecond = 0;
    bool modelled = true;  ///< all of it, or a part
    bool predicted = true; ///< no run has used the edge yet
    double modelledNs = 0; ///< beside the measured time of an overlay; else 0
    std::string link{};    ///< the modelled link to another rank; empty for messages of a real run
};

/// Whether a node reads a file on the host and copies it to its lane's device, as in compile().
inline bool isStaged(const NodeFacts& facts) {
    return facts.op && !facts.disabled && facts.op->role == OpRole::source && facts.op->attribute("path") &&
           !facts.device.isCpu();
}

/// This copy has no edge in the graph. As in the ledger, it is identified by the node's output at both ends.
inline Edge stagingOf(NodeId node) { return {{node, 0}, {node, 0}}; }

/// The run state that the canvas shows. The run controller updates it once per frame.
struct RunState {
    std::unordered_map<NodeId, NodeRun> nodes;
    std::map<Edge, EdgeRun> edges; ///< edges that cross lanes, and staging copies
    /// The place where the run is stopped.
    struct Stop {
        NodeId node = NodeId::none; ///< none: an implicit copy
        bool after = false;         ///< it has run; else it is next
    };
    std::optional<Stop> stop;
    bool running = false; ///< also while it is stopped
    bool stale = false;   ///< the graph was edited since the run started
    QString host;         ///< the other machine of the run; empty: this one
};

} // namespace twb
