#pragma once

#include "formats/imported_model.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The op of the placeholder for ONNX's training op Gradient, whose attributes name the tensors.
inline constexpr std::string_view kOnnxGradient = "ai.onnx.preview.training.Gradient";

/// Replaces the placeholders by backward passes. `find` returns the output of a tensor's name. A placeholder
/// stays, with a remark, if its inputs are not the tensors that it names, or if the gradient cannot be
/// made.
void expandGradients(ImportedModel& model,
                     const std::function<std::optional<PortRef>(const std::string&)>& find);

} // namespace twb
