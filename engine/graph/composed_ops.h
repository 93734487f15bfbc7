#pragma once

#include "graph/known_tensors.h"
#include "graph/rewrite.h"

#include <map>
#include <string>

namespace twb {

/// How many times an op replaced others, and how many nodes those were.
struct ReplacedNodes {
    int times = 0;
    int nodes = 0;
};
using ReplacedByOp = std::map<std::string, ReplacedNodes>;

/// Replaces LayerNormalization, RMSNormalization, Gelu and Swish that are written as several ops. The last of
/// those becomes the op, and the others go.
ReplacedByOp replaceComposedOps(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);
/// Replaces Slices that cut a tensor into parts by one Split.
ReplacedByOp replaceSlices(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);
/// The same as replaceComposedOps() for scaled dot-product attention.
ReplacedByOp replaceAttention(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);

} // namespace twb
