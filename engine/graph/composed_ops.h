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

/// Finds groups of ops that compute LayerNormalization, RMSNormalization, Gelu or Swish, and replaces each by
/// that op: the last node of the group becomes the op, the others are removed.
ReplacedByOp replaceComposedOps(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);
/// Replaces Slices that cut a tensor into parts by one Split.
ReplacedByOp replaceSlices(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);
/// The same as replaceComposedOps() for scaled dot-product attention.
ReplacedByOp replaceAttention(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);
/// The same for linear layers, MatMul with a matrix and Add of a row, which become Gemm.
ReplacedByOp replaceLinearLayers(const Graph& graph, const KnownTensors& known, Rewrite& rewrite);

} // namespace twb
