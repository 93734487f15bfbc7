#pragma once

#include "support/op_runner.h"

#include <string_view>
#include <vector>

namespace twb::test {

/// runOp() with the op's GPU kernel, compiled for the host. The kernel must exist.
std::vector<Tensor> runOpByCuda(std::string_view op, const Attributes& attributes,
                                const std::vector<Tensor>& inputs);

} // namespace twb::test
