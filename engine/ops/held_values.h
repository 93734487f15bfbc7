#pragma once

#include "ops/op.h"

#include <cstdint>

namespace twb {

/// Fails when the attribute's number, or one of its list, is beyond the range of an integer `dtype`, or NaN:
/// as in PyTorch. A fraction is cut off; floats round, and bool asks whether the number is 0.
void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute);
/// The same for one number that the attribute stands for.
void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute, std::int64_t value);

} // namespace twb
