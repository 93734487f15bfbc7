#pragma once

#include "core/cancel.h"
#include "core/tensor.h"
#include "graph/delta.h"
#include "training/sample_runs.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace twb {

/// The least and the largest element of a tensor in all samples.
struct ValueRange {
    float least = 0;
    float most = 0;
};
using ValueRanges = std::map<PortRef, ValueRange>;

/// How quantize() and observeRanges() choose scales and layers.
struct QuantizationOptions {
    bool perChannel = true; ///< one scale per output channel of weights, else one per tensor
    /// The share of a tensor's elements, in percent, that its range holds; the others are clipped, half of
    /// them on each side. 100: the least and the largest element.
    double percentile = 100;
    bool keepsFirstAndLast = false; ///< the first and the last product or convolution stay in f32
};

/// Makes a node a source with the elements of a dense host tensor. The name is unused among the nodes.
using HoldTensor = std::function<void(Node&, const Tensor&)>;

/// A graph in a lower precision.
struct LowerPrecision {
    Delta delta; ///< empty: nothing can be computed in that precision
    int products = 0;
    int convolutions = 0;
    int skipped = 0;        ///< products and convolutions that stay as they are
    double bytesBefore = 0; ///< of the weights and biases that were replaced
    double bytesAfter = 0;
};

/// Why a graph with a training is refused.
inline constexpr const char* kNeedsNoTraining =
    "the graph has a training, which needs f32: remove the training first, or write the trained graph with "
    "`twb train -o`";

/// The change from one graph to another whose cards are arranged anew.
Delta arrangedDifference(const Graph& before, Graph after, std::string title);

/// The tensors whose ranges quantize() needs: inputs of products and convolutions, results of convolutions.
std::set<PortRef> tensorsToObserve(const Graph& graph, const RunSetup& setup);
/// Runs the graph once for each sample, and twice if the percentile is below 100: percentiles are taken from
/// a histogram of 2048 bins between the least and the largest element, as ONNX Runtime's calibration takes
/// them. A range also has a NaN or an infinity if its tensor has one. Asks `isCancelled` before each sample,
/// and throws Error(cancelled).
ValueRanges observeRanges(const Graph& graph, const RunSetup& setup, const Samples& samples,
                          const IsCancelled& isCancelled, double percentile = 100);

/// Static quantization to 8 bits, as by the tools of ONNX Runtime (QOperator format):
/// - A Conv with fixed weights becomes a QLinearConv; a Relu, or a Clip from 0, after it becomes the bound of
/// the
///   result's range. A MaxPool between two of them works on bytes.
/// - A MatMul or Gemm with a fixed matrix becomes a MatMulInteger, whose sums are dequantized and get the
/// bias in
///   f32.
/// - Weights are i8 with a zero point of 0 and one scale per output channel (or per tensor, unless
/// `perChannel`):
///   the largest absolute value is 127. Activations are u8; their range is the observed one, extended to 0.
/// - QuantizeLinear and DequantizeLinear stand between these and all other ops, which stay in f32.
///
/// Left alone are bodies of control ops, disabled nodes, tensors with elements that are not finite, and nodes
/// on devices without a kernel for the integers. Weights and lists of scales become sources by `hold` if they
/// do not fit a Constant. Arranges the cards. Throws Error(badGraph) for a graph with a training.
LowerPrecision quantize(const Graph& graph, const RunSetup& setup, const ValueRanges& ranges,
                        const HoldTensor& hold, const QuantizationOptions& options = {});

} // namespace twb
