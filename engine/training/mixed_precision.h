#pragma once

#include "core/dtype.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "training/quantization.h"

namespace twb {

/// Computes a loss in mixed precision, as torch.autocast does: casts the operands of matrix products and
/// convolutions to `low` (f16 or bf16), those of ops that need the range or precision of f32 to f32, and
/// operands of different types to the wider one. Ops without a kernel for `low` on their device stay in f32,
/// and so do the parameters. f64 is not cast. Cast nodes are named after the tensor: "fc1.weight as bf16".
///
/// If the graph has a training module, its backward pass is rebuilt. With f16, the module also gets a loss
/// scale, as torch.amp.GradScaler with its defaults: the gradients are divided by the scale before they are
/// clipped and used; a step with gradients that are not finite is skipped.
///
/// Returns an empty Delta if nothing changes. Throws Error(invalidArgument) for another dtype, and
/// Error(badGraph) like remakeBackward().
Delta makeMixedPrecision(const Graph& graph, const DeviceMap& devices, const TensorFiles* files, NodeId loss,
                         DType low);

/// For inference: casts the operands of products and convolutions with fixed weights to bf16, and their
/// results back to f32. All other ops stay in f32. The weights become sources in bf16, by `hold` if they do
/// not fit a Constant. Otherwise as quantize().
LowerPrecision castToBFloat16(const Graph& graph, const RunSetup& setup, const HoldTensor& hold);

} // namespace twb
