#pragma once

#include "formats/imported_model.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The placeholder of ONNX's training op Gradient, which has the gradients of tensors by their names.
inline constexpr std::string_view kOnnxGradient = "ai.onnx.preview.training.Gradient";

/// Replaces the placeholders by backward passes. `find` gives the tensor of a name in the model. A
/// placeholder remains, with a remark, if the gradient cannot be made, or if it is not taken at the tensors
/// that it names.
void expandGradients(ImportedModel& model,
                     const std::function<std::optional<PortRef>(const std::string&)>& find);

} // namespace twb
