#pragma once

#include "ops/recurrent_cells.h"

#include <span>
#include <vector>

namespace twb {

// What the entries of RNN, GRU and LSTM share with those of their gradients.

/// The inputs of the op: X, W, R, B, sequence_lens, initial_h, and for LSTM initial_c and P.
std::vector<PortSpec> recurrentInputs(RecurrentCell cell);
std::vector<AttributeSpec> recurrentAttributes(RecurrentCell cell);

/// The sizes of a recurrent op.
struct RecurrentSizes {
    Shape y, state;
    std::vector<Shape> inputs; ///< by port, connected or not
};
/// Throws InferError for inputs or attributes that do not fit.
RecurrentSizes recurrentSizes(const InferContext& ctx, RecurrentCell cell);
void requireShape(const InferContext& ctx, int port, const Shape& wanted);

/// The work of the products of one run over all steps.
Cost recurrentCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes& attributes);

/// RNNGrad, GRUGrad or LSTMGrad.
Op makeRecurrentGrad(RecurrentCell cell);

} // namespace twb
