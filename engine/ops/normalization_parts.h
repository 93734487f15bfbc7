#pragma once

#include "ops/gradient.h"
#include "ops/op.h"

#include <cstdint>
#include <string>
#include <vector>

namespace twb {

// What the normalizations share: BatchNormalization in batch_normalization.cpp, the others in
// normalization.cpp.

/// BatchNormalization and BatchNormalizationGrad.
void addBatchNormalizations(std::vector<Op>& table);

Op makeNormalization(std::string name, int opset, std::string doc, std::string formula, double flops);
AttributeSpec epsilonAttribute();
/// Throws InferError unless the input at `port` has one element per channel.
void requireChannels(const InferContext& ctx, int port, std::int64_t channels);

/// A vector of any float dtype as doubles.
std::vector<double> numbersOf(const TensorView& given);

/// A tensor with one element a channel, so that it broadcasts to batches of `rank` axes. A batch of one axis
/// has one channel.
GraphTensor perChannel(GraphTensor channels, DType dtype, int rank);
/// Gives the sum over all axes but the channels'.
void givePerChannel(GradientContext& g, int port, GraphTensor gradient);
/// The axes from `first` on, without that of the channels.
std::vector<std::int64_t> axesBeside(int channels, int rank, int first);

} // namespace twb
