#pragma once

#include "graph/bodies.h"
#include "graph/diagnostic.h"
#include "placement/analysis.h"

namespace twb {

// Updates in place (Op::updates). The tensor of a source that an op updates changes from iteration to
// iteration: it is the state of a training, and nothing may copy it once before the iterations.

/// Whether an op updates this output of a source.
bool isUpdated(const Graph& graph, PortRef output);
/// Whether input `port` of an op is a tensor that the op writes.
bool updatesInput(const Op& op, int port) noexcept;
/// Whether the output of a source is the same in all iterations.
bool isConstantSource(const Graph& graph, const NodeFacts& facts);

/// The errors of a node that updates its inputs, and of a source that two ops update. False if there are any.
bool checkUpdates(const Graph& graph, const Bodies& bodies, const NodeFacts& facts, const Node& node,
                  Analysis& analysis);

} // namespace twb
