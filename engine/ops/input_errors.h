#pragma once

#include "ops/op.h"

#include <span>
#include <vector>

namespace twb {

/// All that is wrong with the dtypes of a node's inputs and with their number, by port: "missing-input" for a
/// null one that the op needs, "dtype-mismatch" for a dtype that a port does not take or that differs from
/// that of the first input of its type variable. Shapes are infer()'s.
std::vector<InferError> inputErrors(const Op& op, std::span<const TensorType* const> inputs);

} // namespace twb
