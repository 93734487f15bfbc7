#pragma once

#include "backends/backend.h"

#include <memory>
#include <string>
#include <vector>

namespace twb::cuda {

/// All GPUs that can be used, in the driver's order. They share nothing but peer access. When there are none,
/// `problem` is why.
std::vector<std::shared_ptr<Backend>> findGpus(std::string& problem);

} // namespace twb::cuda
