#pragma once

#include "ops/op.h"

#include <span>
#include <string_view>

namespace twb {

/// The ONNX opset whose semantics the ops of the default domain have: Op::opset is the version of the op that
/// is current in it.
inline constexpr int kOnnxOpset = 23;

/// All ops, in palette order (by category, then as registered). Built once; never changes.
std::span<const Op> opTable();

/// Nothing when there is no such op.
const Op* findOp(std::string_view name) noexcept;

} // namespace twb
