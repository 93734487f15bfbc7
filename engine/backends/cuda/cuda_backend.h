#pragma once

#include "backends/backend.h"

#include <memory>
#include <string>
#include <vector>

namespace twb::cuda {

/// All usable GPUs, in the driver's order. They share only peer access. Without any, `problem` is the reason.
std::vector<std::shared_ptr<Backend>> findGpus(std::string& problem);

} // namespace twb::cuda
