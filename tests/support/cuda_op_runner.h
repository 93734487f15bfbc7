#pragma once

#include "support/op_runner.h"

#include <string_view>
#include <vector>

namespace twb::test {

/// runOp() by the GPU's kernel, as the host's compiler made it. There must be one.
std::vector<Tensor> runOpByCuda(std::string_view op, const Attributes& attributes,
                                const std::vector<Tensor>& inputs);

} // namespace twb::test
