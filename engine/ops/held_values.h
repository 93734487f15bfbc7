#pragma once

#include "ops/op.h"

#include <cstdint>

namespace twb {

/// Fails if the attribute's number, or one of its list, is NaN or out of range for an integer `dtype`, as in
/// PyTorch. Conversion truncates fractions for integers, rounds for floats, and compares with 0 for bool.
void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute);
/// The same for the single number of a scalar attribute.
void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute, std::int64_t value);

} // namespace twb
