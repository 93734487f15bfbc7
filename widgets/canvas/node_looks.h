#pragma once

#include "widgets/canvas/scene_shapes.h"

namespace twb {

/// Reads a node's marks from its graph: whether it is pinned or disabled, and its breakpoints. `module`: the
/// collapsed module whose card the shape is, or null.
void readMarks(const Graph& graph, const Node& node, const ModuleShape* module, NodeShape& shape);
/// A hash of everything that determines how a node's card looks. Its device and its marks must be known.
std::uint64_t signatureOf(const SceneSource& source, const NodeShape& shape);
/// Determines the kind, the ports and the size of a shape. `isHidden`: nothing is drawn at its place.
void readFacts(const SceneSource& source, const Node& node, const ModuleShape* module, NodeShape& shape);
/// Whether an op needs this input; false for an unknown op (null).
bool isInputRequired(const Op* op, int port);

} // namespace twb
