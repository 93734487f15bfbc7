#pragma once

#include "ops/gradient.h"
#include "ops/op.h"

namespace twb {

// The gradients of Conv and ConvTranspose, and the op for the gradient of their weights.

void convGradient(GradientContext& g);
void convTransposeGradient(GradientContext& g);

/// The entry of ConvWeightGrad.
Op convWeightGrad();

} // namespace twb
