#pragma once

#include "placement/analysis.h"

namespace twb::onnx_export {

/// The graph in the forms that ONNX has: a Gemm of a stack of matrices as MatMul, Mul and Add, and a
/// LayerNormalization without Scale with a Scale of ones. `analysis` is of the graph, or of a graph with more
/// nodes.
Graph withOnnxForms(Graph graph, const Analysis& analysis);

} // namespace twb::onnx_export
