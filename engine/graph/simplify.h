#pragma once

#include "core/cancel.h"
#include "core/tensor_files.h"
#include "graph/delta.h"
#include "graph/known_tensors.h"

#include <functional>
#include <string>
#include <vector>

namespace twb {

struct SimplifyOptions {
    const TensorFiles* files = nullptr; ///< null: the tensors of File nodes are not known
    FreeAxes free;                      ///< sizes on which the result must not depend
    /// Makes a node a source with the elements of a dense host tensor that does not fit a Constant. Null: the
    /// ops that compute such a tensor stay.
    std::function<void(Node&, const Tensor&)> hold;
    IsCancelled isCancelled{}; ///< asked before each node
};

struct Simplified {
    Delta delta;                      ///< empty: the graph is as simple already
    std::vector<std::string> remarks; ///< sentences: the number of nodes, then each kind of change
};

/// A smaller graph that computes the same results:
/// - Ops whose result is the same in every run become a Constant, or a source from `hold`. A result with more
///   than 64 KiB must be no larger than the tensors that it is computed from, but the results together may
///   add 5 % to the tensors of all Files.
/// - An If with the same condition in every run is replaced by the nodes of the branch that it takes.
/// - Sizes and axes that the host reads become attributes.
/// - A LayerNormalization's Scale of ones and its B of zeros are disconnected.
/// - Ops that return their input unchanged (Identity, a Reshape to the same shape) are removed. Neighbouring
///   Reshapes, and neighbouring Transposes, become one.
/// - Nodes whose results do not reach a sink (Probe, Save) or another node with an effect are removed. In
///   a graph without sinks, the outputs of all nodes without a consumer count as results.
/// - LayerNormalization, RMSNormalization, Gelu, Swish, scaled dot-product attention (Attention) and linear
///   layers (Gemm) that consist of several ops become one op, if no other node reads the tensors in between.
///   Results agree within the tolerance of the op.
/// - Slices that cut a tensor into parts become one Split.
/// - Each consumer of a shared Constant of at most 64 elements gets its own copy.
///
/// Left alone are Inputs, disabled nodes, nodes with breakpoints, placeholders, and the bodies of other
/// control ops. A graph with a training module or a cycle is left alone as a whole. New nodes take the lane,
/// module and position of the last node that they replace; nothing else moves. Throws Error(cancelled).
Simplified simplify(const Graph& graph, const SimplifyOptions& options);

} // namespace twb
