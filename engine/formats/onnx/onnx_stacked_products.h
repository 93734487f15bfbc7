#pragma once

#include "placement/analysis.h"

namespace twb::onnx_export {

/// The graph with each Gemm of a stack of matrices, which ONNX does not have, as MatMul, Mul and Add.
/// `analysis` is of the graph, or of a graph with more nodes.
Graph withStackedProducts(Graph graph, const Analysis& analysis);

} // namespace twb::onnx_export
