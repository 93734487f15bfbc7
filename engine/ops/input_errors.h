#pragma once

#include "ops/op.h"

#include <span>
#include <vector>

namespace twb {

/// Errors in the number and the dtypes of a node's inputs, by port: "missing-input" if a required input is
/// null, "dtype-mismatch" if the port does not accept the dtype or if it differs from the first input with
/// the same type variable. infer() checks the shapes.
std::vector<InferError> inputErrors(const Op& op, std::span<const TensorType* const> inputs);

} // namespace twb
