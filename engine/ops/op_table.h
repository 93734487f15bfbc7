#pragma once

#include "ops/op.h"

#include <span>
#include <string_view>

namespace twb {

/// The ONNX opset of the default domain's ops. Op::opset is the op's version in this opset.
inline constexpr int kOnnxOpset = 28;

/// All ops in palette order (by category, then by registration). Entries never move or change; the plug-ins
/// of a project come last.
std::span<const Op> opTable();

/// Null if there is no such op.
const Op* findOp(std::string_view name) noexcept;

} // namespace twb
